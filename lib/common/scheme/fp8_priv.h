/* Private to FP8: the parts and numbers of a weight, set by fp8.c and fp8_grid.c, used by fp8_decode.c. */
#ifndef SCHEME_FP8_PRIV_H
#define SCHEME_FP8_PRIV_H

#include "scheme/table.h"

enum { CODES, SCALE, SMOOTH, JOINT };                   /* parts; SMOOTH: pre_quant_scale, [cols] */

/* How config.json influenced the choice of blocks. */
enum advice {
    ADVICE_NONE,
    ADVICE_TAKEN,               /* it was followed; the shapes alone would give other blocks */
    ADVICE_MISSED,              /* it has none; the usual block size was chosen, but an even division fits too */
    ADVICE_NEEDED               /* undecidable, or contradicted by the shapes: not decoded */
};

/* A weight is seen as matrices of rows x cols, one per expert. Element (e, r, c) uses
 *
 *     scale[base + e * per_expert + ((row0 + r) / b0) * per_row + c / b1]
 *
 * base and row0 are not 0 if the weight is one of several under a fused scale. If `tiles` is not 0, the scales (of 1 x 32
 * elements) are instead stored in tiles, `tiles` of them side by side (scheme/swizzle.h).
 *
 * If `joint` is not 0, each matrix was quantized as the end of a larger one: row0 is its first row in the last of `joint` rows of
 * blocks, whose scales are in JOINT; the blocks after it have their scales in SCALE.
 */
struct fp8_weight {
    uint64_t rows, cols, b0, b1, per_row, per_expert, base, row0, tiles;
    enum advice advice;
    uint16_t joint;             /* beside the other small members: a model has as many of these structs as weights */
    bool comfy;                 /* a ComfyUI file declares it */
    bool divides;               /* codes are divided by their scale */
};

static inline const struct fp8_weight *
fp8_own(const struct weight *w)
{
    return w->own;
}

/* The matrix that a scale tensor covers. The weight may be some of its rows. */
struct fp8_cover {
    uint64_t experts, rows, cols;       /* experts: 1 for a plain matrix */
    bool stacked;                       /* the scale may have a dimension for the experts */
    uint64_t expert, row0;              /* position of the weight in it, if split */
    bool split;
};

/* Maps w->part[SCALE] to the elements of the weight: sets the members of f from b0 on, and the weight's scheme. Fails with
 * ERR_MALFORMED if the shape fits no layout. If it fits more than one, fails with ERR_UNSUPPORTED, or sets ADVICE_NEEDED in
 * a report. */
bool fp8_map_scale(struct claims *c, struct weight *w, struct fp8_weight *f, const struct fp8_cover *cover, struct err *err);

/* Maps one scale (or none) to each matrix. The matrix is seen as a single row, unless columns have factors (SMOOTH). */
void fp8_set_single(const struct weight *w, struct fp8_weight *f, uint64_t per_expert);

/* The scheme that goes with a layout of scales. */
enum fp8_kind { FP8_PLAIN, FP8_FBGEMM, FP8_MX, FP8_MX_TILES, FP8_JOINT };      /* index into fp8_schemes */

/* Returns true if --input-scheme names it. */
static inline bool
fp8_is_forced(const struct claims *c, enum fp8_kind kind)
{
    return claims_is_forced(c, fp8_schemes[kind].code);
}

/* The scratch memory (`room`) of fp8_decode(). */
enum { FP8_STEP = 1024 };       /* scales at a time; columns at a time if they are converted through floats */
struct fp8_room {
    float scales[FP8_STEP], v[FP8_STEP];
};

/* Members of struct scheme: run and decode. */
void fp8_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
uint64_t fp8_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);

#endif
