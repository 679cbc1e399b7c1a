/* lowrank: products of two thin matrices, L of rows x rank and R of rank x columns, in F64.
 *
 *     t = +0, then t + l[i,k] * r[k,j] for k = 0, 1 ...; each sum rounded to F64
 *
 * The factors are floats, so each product is exact in F64, and a fused multiply-add yields the same bits. */
#ifndef KERNEL_LOWRANK_H
#define KERNEL_LOWRANK_H

#include <stddef.h>

enum { LOWRANK_PANEL = 8 };     /* columns of R that are stored together */

struct lowrank {
    const double *l;            /* rows x rank values of floats, row-major */
    const float *r;             /* R in panels: column j of row k at ((j / 8) * rank + k) * 8 + j % 8; the last panel is
                                 * filled up with zeros */
    size_t rank, rows;
    size_t first, cols;         /* columns [first, first + cols) of R */
    double s;
};

/* Return the floats of R in panels, and the position of R[k,j] among them. */
static inline size_t
lowrank_floats(size_t rank, size_t cols)
{
    return (cols + LOWRANK_PANEL - 1) / LOWRANK_PANEL * LOWRANK_PANEL * rank;
}

static inline size_t
lowrank_at(size_t rank, size_t k, size_t j)
{
    return (j / LOWRANK_PANEL * rank + k) * LOWRANK_PANEL + j % LOWRANK_PANEL;
}

/* Sets v[i * stride + j] to the product, or adds s times the product to it, with two roundings. */
void lowrank_product(double *v, size_t stride, const struct lowrank *p);
void lowrank_add(double *v, size_t stride, const struct lowrank *p);

#endif
