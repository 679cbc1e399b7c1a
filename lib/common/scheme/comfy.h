/* comfy: ComfyUI's integer formats, after comfy.c has found their format and shapes. Used only inside this layer. */
#ifndef SCHEME_COMFY_H
#define SCHEME_COMFY_H

#include "kernel/convrot.h"
#include "scheme/codes.h"
#include "scheme/step.h"

/* Parts. SCALE: one for the tensor, for each expert or for each row; for awq_w4a16 [C/group, R], and so are its ZEROS.
 * GROUPS: weight_s_rel. HIGH: the same tensor as CODES, needed a second time if a 6-bit row stores its upper bits
 * separately. */
enum { COMFY_CODES, COMFY_SCALE, COMFY_GROUPS, COMFY_CODEBOOK, COMFY_HIGH, COMFY_ZEROS = COMFY_GROUPS };

/* A weight is seen as matrices of rows x cols, one per expert. */
struct comfy {
    struct blocks scale;        /* also holds rows and cols */
    uint64_t rotated;           /* columns of a rotated group; 0: not rotated */
    uint64_t group;             /* columns that share a scale (of GROUPS, or of awq_w4a16) */
    unsigned bits;
    bool unread;                /* `rotated` is a default, because the tensor that declares it was not read */
};

/* The scratch memory (`room`) of comfy_decode(). */
enum { COMFY_GROUP_MIN = 4, COMFY_MAP = 16, COMFY_SCALES = 256 };
struct comfy_room {
    struct convrot_room sums;
    float v[STEP];
    uint8_t codes[STEP], high[STEP];
    uint8_t rotated[CONVROT_MOST];      /* codes of groups that are first requantized to INT8 */
    float scales[STEP / COMFY_GROUP_MIN + 1], zeros[STEP / COMFY_GROUP_MIN + 1];
    float map[COMFY_MAP], e4m3[COMFY_SCALES];           /* values of 4-bit codes, and of scale codes */
};

/* Members of struct scheme. */
void comfy_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
uint64_t comfy_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);
void comfy_awq_strip(struct strip *s, const struct weight *w, unsigned part);
uint64_t comfy_awq_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);
void comfy_describe(const struct weight *w, char buf[SCHEME_DETAIL]);

/* Initializers of a scheme: of awq_w4a16, and of the formats stored by rows. */
#define COMFY_AWQ .need = { NEED_RUN, NEED_STRIP, NEED_STRIP }, .run = comfy_run, .strip = comfy_awq_strip, \
    .room = sizeof(struct codes_piece), .decode = comfy_awq_decode, .describe = comfy_describe
#define COMFY_BY_ROWS .need = { NEED_RUN, NEED_RUN, NEED_RUN, NEED_RUN, NEED_AGAIN }, .run = comfy_run, \
    .room = sizeof(struct comfy_room), .decode = comfy_decode, .describe = comfy_describe

#endif
