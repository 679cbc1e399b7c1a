/* fp4: 4-bit floats (E2M1) with a scale for each block of 16 or 32 of them. Used only inside this layer. */
#ifndef SCHEME_FP4_H
#define SCHEME_FP4_H

#include "scheme/table.h"

/* Parts. SCALE_2: one for all blocks, or one per expert. SMOOTH: pre_quant_scale, a factor for each input. DUAL: a factor of the
 * scales for FP4_DUAL_BLOCK columns. */
enum { FP4_CODES, FP4_SCALE, FP4_SCALE_2, FP4_SMOOTH, FP4_DUAL };
enum { FP4_DUAL_BLOCK = 512 };

/* A weight is seen as matrices of rows x cols, one per expert. A byte holds two codes. `group` codes share a scale:
 * neighbours in a row, or in a column if `lanes` is set. */
struct fp4 {
    uint64_t rows, cols;
    uint64_t tiles;             /* tiles side by side in the scales of an expert (swizzle.h); 0: scales are in the order of
                                 * their elements */
    uint32_t group;
    enum dtype scale;           /* type of the scale bytes: F8_E4M3 or F8_E8M0 */
    bool e5m3;                  /* no: they are unsigned E5M3 */
    bool integers;              /* codes are a sign and three bits of magnitude, in quarters */
    bool lanes;
    bool high_first;            /* the high nibble of a byte comes first */
    bool plus_zero;             /* code 8 is +0, as in the table of the tool that wrote it */
    bool divides;               /* values are divided by SCALE_2, not multiplied */
};

/* Sets w->own and the shape of a ComfyUI nvfp4 weight, whose parts comfy.c has found and checked. */
bool fp4_fit_comfy(struct table_match *f, struct weight *w, struct err *err);

/* Values of the codes, unless the writing tool has another table. */
extern const float fp4_values[16];

/* The scratch memory (`room`) of fp4_decode(). */
enum { FP4_STEP = 1024, FP4_SCALES = 256 };             /* elements at a time; number of scale codes */
struct fp4_room {
    float v[FP4_STEP], scales[FP4_STEP];
    float of_code[FP4_SCALES];                          /* [code]: scale of the current expert */
    uint64_t expert;
};

/* Members of struct scheme. */
void fp4_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
uint64_t fp4_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);
void fp4_describe(const struct weight *w, char buf[SCHEME_DETAIL]);
void fp4_grid(const struct weight *w, struct weight_grid *g);

/* Initializers of a scheme whose weights are stored by rows. */
#define FP4_BY_ROWS .need = { NEED_RUN, NEED_RUN, NEED_RUN, NEED_RUN, NEED_RUN }, .run = fp4_run, \
    .room = sizeof(struct fp4_room), .decode = fp4_decode, .describe = fp4_describe, \
    .grid = fp4_grid

#endif
