/* smooth: pre_quant_scale (schemes.md 1.4), a factor for each column of a weight [out, in], by which the activations were
 * divided. It is folded: F32, behind the scale and before the rounding. */
#ifndef SCHEME_SMOOTH_H
#define SCHEME_SMOOTH_H

#include "scheme/roles.h"
#include "scheme/table.h"

/* Whether it is one for each of the columns of a matrix; NULL is none, and right. */
bool smooth_check(const struct tensor *smooth, const struct tensor *codes, uint64_t cols, struct err *err);

/* The columns [from, to) that elements [first, first + count) lie in: all, unless these lie in one row. */
void smooth_columns(uint64_t cols, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to);

/* The bytes of these. */
void smooth_run(struct span *s, const struct tensor *smooth, uint64_t cols, uint64_t first, uint64_t count);

/* Multiply n values from column `col` on; p holds the factors from column `from` on. NULL: nothing. */
void smooth_apply(const struct tensor *smooth, const uint8_t *p, uint64_t from, float *v, uint64_t col, uint64_t n);

/* Say of how many weights it was folded. */
void smooth_finish(const struct roles *roles, struct claims *c);

#endif
