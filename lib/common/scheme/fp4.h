/* fp4: 4-bit floats (E2M1) with a scale for each block of 16 or 32 of them. For the files of this layer. */
#ifndef SCHEME_FP4_H
#define SCHEME_FP4_H

#include "scheme/table.h"

/* Parts. SCALE_2: one for all blocks, or one an expert; SMOOTH: pre_quant_scale, a factor for each input. */
enum { FP4_CODES, FP4_SCALE, FP4_SCALE_2, FP4_SMOOTH };

/* A weight is seen as matrices of rows x cols, one an expert. Two codes are a byte, and `group` of them share a scale:
 * neighbours of a row; or of a column, where `lanes` is set. */
struct fp4 {
    uint64_t rows, cols;
    uint64_t tiles;             /* of an expert's scales, side by side (swizzle.h); 0: they lie as their elements do */
    uint32_t group;
    enum dtype scale;           /* what the bytes of the scales are: F8_E4M3 or F8_E8M0 */
    bool lanes;
    bool high_first;            /* the high nibble of a byte comes first */
    bool plus_zero;             /* code 8 is +0, as in the table of its producer */
    bool divides;               /* SCALE_2 divides */
};

/* ComfyUI's nvfp4, whose parts are there and have the shapes of comfy.c: sets w->own and the shape. */
bool fp4_fit_comfy(struct table_match *f, struct weight *w, struct err *err);

/* What codes stand for, but for the table of a producer. */
extern const float fp4_values[16];

/* The room of fp4_decode(). */
enum { FP4_STEP = 1024, FP4_SCALES = 256 };             /* elements at a time; codes of scales */
struct fp4_room {
    float v[FP4_STEP], scales[FP4_STEP];
    float of_code[FP4_SCALES];                          /* scales of the current expert, by their codes */
    uint64_t expert;
};

/* struct scheme. */
void fp4_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
uint64_t fp4_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);
void fp4_describe(const struct weight *w, char buf[SCHEME_DETAIL]);

/* The members of a scheme whose weights lie by rows. */
#define FP4_BY_ROWS .need = { NEED_RUN, NEED_RUN, NEED_RUN, NEED_RUN }, .run = fp4_run, \
    .room = sizeof(struct fp4_room), .decode = fp4_decode, .describe = fp4_describe

#endif
