/* Private to FP8: the parts and numbers of a weight, set by fp8.c and fp8_grid.c, used by fp8_decode.c. */
#ifndef SCHEME_FP8_PRIV_H
#define SCHEME_FP8_PRIV_H

#include "scheme/table.h"

enum { CODES, SCALE, SMOOTH };                          /* parts; SMOOTH: pre_quant_scale, [cols] */

/* What config.json had to do with the blocks. */
enum advice {
    ADVICE_NONE,
    ADVICE_REFUSED,             /* the shapes said otherwise */
    ADVICE_TAKEN,               /* the shapes alone would have said otherwise */
    ADVICE_MISSED,              /* there was none; the usual blocks, where an even division would fit as well */
    ADVICE_WANTED               /* nothing tells; only in a report */
};

/* A weight is seen as matrices of rows x cols, one an expert; element (e, r, c) uses
 *
 *     scale[base + e * per_expert + ((row0 + r) / b0) * per_row + c / b1]
 *
 * base and row0 are not 0 where the weight is one of several under a fused scale. Where `tiles` is not 0, the scales of
 * 1 x 32 elements lie in tiles (scheme/swizzle.h), so many of them side by side, instead. */
struct fp8_weight {
    uint64_t rows, cols, b0, b1, per_row, per_expert, base, row0, tiles;
    enum advice advice;
};

static inline const struct fp8_weight *
fp8_own(const struct weight *w)
{
    return w->own;
}

/* The matrix that a scale tensor covers, of which the weight may be some rows. */
struct fp8_cover {
    uint64_t experts, rows, cols;       /* experts: 1 for a plain matrix */
    bool stacked;                       /* the scale may have the experts as a dimension of its own */
    uint64_t expert, row0;              /* where the weight lies in it, when it is split */
    bool split;
};

/* Lay w->part[SCALE] over the weight (schemes.md 3.2): the numbers of f from b0 on, and the weight's scheme. A shape
 * that fits no reading: ERR_MALFORMED; more than one: ERR_UNSUPPORTED, in a report ADVICE_WANTED. */
bool fp8_map_scale(struct claims *c, struct weight *w, struct fp8_weight *f, const struct fp8_cover *cover, struct err *err);

/* One scale, or none, for each matrix: which may as well be one row, unless its columns count. */
void fp8_set_single(const struct weight *w, struct fp8_weight *f, uint64_t per_expert);

/* The scheme of a weight whose scales are laid so. */
enum fp8_kind { FP8_PLAIN, FP8_FBGEMM, FP8_MX, FP8_MX_TILES };          /* in fp8_schemes */

/* Whether --scheme names it. */
static inline bool
fp8_told(const struct claims *c, enum fp8_kind kind)
{
    return claims_told(c, fp8_schemes[kind].code);
}

/* The room of fp8_decode(). */
enum { FP8_STEP = 1024 };       /* scales at a time, and columns at a time when they go through floats */
struct fp8_room {
    float scales[FP8_STEP], v[FP8_STEP];
};

/* struct scheme: run and decode. */
void fp8_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
uint64_t fp8_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);

#endif
