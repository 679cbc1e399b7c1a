/* comfy: ComfyUI's integers, once their format and shapes are known (comfy.c). For the files of this layer. */
#ifndef SCHEME_COMFY_H
#define SCHEME_COMFY_H

#include "kernel/convrot.h"
#include "scheme/codes.h"
#include "scheme/step.h"

/* Parts. SCALE: one for the tensor, an expert or a row; of awq_w4a16 [C/group, R], as are its ZEROS. GROUPS: its
 * weight_s_rel. HIGH: the codes once more, where a row of 6 bits has its upper ones apart. */
enum { COMFY_CODES, COMFY_SCALE, COMFY_GROUPS, COMFY_CODEBOOK, COMFY_HIGH, COMFY_ZEROS = COMFY_GROUPS };

/* A weight is seen as matrices of rows x cols, one an expert. */
struct comfy {
    struct blocks scale;        /* and rows and cols */
    uint64_t rotated;           /* columns of a group that is rotated; 0: none is */
    uint64_t group;             /* columns that share a scale of GROUPS, or of awq_w4a16 */
    unsigned bits;
    bool unread;                /* rotated is a default: only a tensor that was not read says it */
};

/* The room of comfy_decode(). */
enum { COMFY_GROUP_MIN = 4, COMFY_MAP = 16, COMFY_SCALES = 256 };
struct comfy_room {
    struct convrot_room sums;
    float v[STEP];
    uint8_t codes[STEP], high[STEP];
    uint8_t rotated[CONVROT_MOST];      /* codes of groups that are made as INT8 first */
    float scales[STEP / COMFY_GROUP_MIN + 1], zeros[STEP / COMFY_GROUP_MIN + 1];
    float map[COMFY_MAP], e4m3[COMFY_SCALES];           /* what 4-bit codes stand for, and those of scales */
};

/* struct scheme. */
void comfy_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
uint64_t comfy_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);
void comfy_awq_strip(struct strip *s, const struct weight *w, unsigned part);
uint64_t comfy_awq_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);
void comfy_describe(const struct weight *w, char buf[SCHEME_DETAIL]);

/* The members of a scheme, of awq_w4a16 and of the others. */
#define COMFY_AWQ .need = { NEED_RUN, NEED_STRIP, NEED_STRIP }, .run = comfy_run, .strip = comfy_awq_strip, \
    .room = sizeof(struct codes_piece), .decode = comfy_awq_decode, .describe = comfy_describe
#define COMFY_BY_ROWS .need = { NEED_RUN, NEED_RUN, NEED_RUN, NEED_RUN, NEED_AGAIN }, .run = comfy_run, \
    .room = sizeof(struct comfy_room), .decode = comfy_decode, .describe = comfy_describe

#endif
