/* smooth: pre_quant_scale (schemes.md 1.4), a factor for each column of a weight [out, in], by which the activations were
 * divided. It is folded: F32, behind the scale and before the rounding. */
#ifndef SCHEME_SMOOTH_H
#define SCHEME_SMOOTH_H

#include "scheme/roles.h"
#include "scheme/table.h"

/* Whether it is one for each of the columns of a matrix; NULL is none, and right. */
bool smooth_check(const struct tensor *smooth, const struct tensor *codes, uint64_t cols, struct err *err);

/* The bytes of the columns that elements [first, first + count) lie in: all, unless these lie in one row. */
void smooth_run(struct span *s, const struct tensor *smooth, uint64_t cols, uint64_t first, uint64_t count);

/* Multiplies n values from column `col` on; nothing where the part is not there. */
void smooth_apply(const struct decoding *d, unsigned part, float *v, uint64_t col, uint64_t n);

/* Say of how many weights it was folded. */
void smooth_finish(const struct roles *roles, struct claims *c);

#endif
