/* lowrank: products of two thin matrices, L of rows x rank and R of rank x columns, in F64.
 *
 *     t = +0, then t + l[i,k] * r[k,j] for k = 0, 1 ...; each sum rounded to F64
 *
 * The factors are floats, so each product is exact in F64, and a fused multiply-add yields the same bits. */
#ifndef KERNEL_LOWRANK_H
#define KERNEL_LOWRANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/shift.h"

enum {
    LOWRANK_PANEL = 8,          /* columns of R that are stored together */
    LOWRANK_LANES = 4,          /* of the sums: eight do not stay in the registers of AVX2 */
    LOWRANK_ROWS = 6,           /* rows of a tile */
    LOWRANK_LINE = 32           /* columns of the tiles of a group: a cache line of BF16 */
};

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

/* What is added up while codes are changed; zero it before the first call. Column j of R goes to lane j % 4. */
struct lowrank_sums {
    size_t beyond;              /* results in F64 that are NaN or beyond FLT_MAX */
    bool shifts;                /* the next member counts, too */
    struct shift_lanes shift;   /* as in shift.h, but r - d is after - v, which is exact in F32, and `both` has the sum of
                                 * (r - d) * d until lowrank_sums_end() adds the sum of d * d */
};
void lowrank_sums_end(struct lowrank_sums *sums);

/* Adds s times the product to rows * cols BF16 codes: like lowrank_add() on F64, then rounded to F32 and to BF16. */
void lowrank_merge(uint8_t *codes, size_t stride, const struct lowrank *p, struct lowrank_sums *sums);

/* The tiles of lowrank_merge() in the order of its sums: groups of LOWRANK_LINE columns of R, of LOWRANK_ROWS rows, panels. Within
 * a tile, rows are in order. */
struct lowrank_tile {
    size_t row, row_end;
    size_t col, col_end;        /* columns of R, all in one panel */
};

/* Moves to the next tile, or to the first one from a zeroed struct. Returns false after the last. */
bool lowrank_tile_next(struct lowrank_tile *t, const struct lowrank *p);
void lowrank_merge_tile(uint8_t *codes, size_t stride, const struct lowrank *p, const struct lowrank_tile *t,
    struct lowrank_sums *sums);

#endif
