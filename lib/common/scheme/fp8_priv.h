/* Private to FP8: the parts and numbers of a weight, set by fp8.c and fp8_grid.c, used by fp8_decode.c.
 *
 * A weight is seen as E matrices of ROWS x COLS; element (e, r, c) uses
 *
 *     scale[BASE + e * PER_EXPERT + ((ROW0 + r) / B0) * PER_ROW + c / B1]
 *
 * BASE and ROW0 are not 0 where the weight is one of several under a fused scale. Where TILES is not 0, the scales of
 * 1 x 32 elements lie in tiles (scheme/swizzle.h), so many of them side by side, instead. */
#ifndef SCHEME_FP8_PRIV_H
#define SCHEME_FP8_PRIV_H

#include "scheme/claims.h"

enum { CODES, SCALE, SMOOTH };                          /* parts; SMOOTH: pre_quant_scale, [COLS] */
enum { ROWS, COLS, B0, B1, PER_ROW, PER_EXPERT, BASE, ROW0, TILES, ADVICE };        /* facts */

/* ADVICE: what config.json had to do with the blocks. */
enum {
    ADVICE_NONE,
    ADVICE_REFUSED,             /* the shapes said otherwise */
    ADVICE_TAKEN,               /* the shapes alone would have said otherwise */
    ADVICE_MISSED,              /* there was none; the usual blocks, where an even division would fit as well */
    ADVICE_WANTED               /* nothing tells; only in a report */
};

/* The matrix that a scale tensor covers, of which the weight may be some rows. */
struct fp8_cover {
    uint64_t experts, rows, cols;       /* experts: 1 for a plain matrix */
    bool stacked;                       /* the scale may have the experts as a dimension of its own */
    uint64_t expert, row0;              /* where the weight lies in it, when it is split */
    bool split;
};

/* Lay w->part[SCALE] over the weight (schemes.md 3.2): the facts from B0 on. A shape that fits no reading:
 * ERR_MALFORMED; more than one: ERR_UNSUPPORTED, in a report ADVICE_WANTED. */
bool fp8_map_scale(struct claims *c, struct weight *w, const struct fp8_cover *cover, struct err *err);

/* One scale, or none, for each matrix: which may as well be one row, unless its columns count. */
void fp8_set_single(struct weight *w, uint64_t per_expert);

/* struct scheme: run and decode. */
void fp8_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
void fp8_decode(const struct weight *w, const struct kernels *k, const struct part_bytes in[SCHEME_PARTS], uint64_t first,
    uint64_t count, enum dtype to, void *y);

#endif
