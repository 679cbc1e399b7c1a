/* smooth: pre_quant_scale, a factor for each column of a weight [out, in]. The activations were divided by it. It is folded
 * into the weight in F32, after the scale and before rounding. */
#ifndef SCHEME_SMOOTH_H
#define SCHEME_SMOOTH_H

#include "scheme/roles.h"
#include "scheme/table.h"

/* Checks that it has one value for each column of a matrix. NULL is accepted. */
bool smooth_check(const struct tensor *smooth, const struct tensor *codes, uint64_t cols, struct err *err);

/* Finds the bytes for the columns of elements [first, first + count); all columns, unless the elements are in one row. */
void smooth_run(struct span *s, const struct tensor *smooth, uint64_t cols, uint64_t first, uint64_t count);

/* Multiplies n values, starting at column `col`. Does nothing if the part is absent. */
void smooth_apply(const struct decoding *d, unsigned part, float *v, uint64_t col, uint64_t n);

/* Reports how many weights it was folded into. */
void smooth_finish(const struct roles *roles, struct claims *c);

#endif
