/* blocks: finds the scale of each element of a weight whose codes are stored row by row. The last two dimensions of the
 * weight are a matrix; any before them stack matrices. The scales of a matrix are one of:
 *
 *     per tensor   [] or [1]; for a stack one per matrix: [E], [E, 1], [E, 1, 1]
 *     per row      [R] or [R, 1]
 *     groups       [R, G]: R x 1 x C/G
 *     blocks       [ceil(R / b0), ceil(C / b1)]; blocks at the edges may be short
 */
#ifndef SCHEME_BLOCKS_H
#define SCHEME_BLOCKS_H

#include "scheme/table.h"

struct blocks {
    uint64_t rows, cols;                /* of a matrix */
    uint64_t b0, b1;                    /* rows and columns that share a scale, not 0 */
    uint64_t per_row, per_matrix;       /* scales from one row of blocks, or matrix, to the next; 0: shared */
};

/* How well the shape of the scales determines the blocks. If it leaves them open, config.json may decide. */
enum blocks_result {
    BLOCKS_WRONG,               /* it fits no layout */
    BLOCKS_OPEN,                /* it fits two */
    BLOCKS_FOUND
};

/* Maps scales to stacked matrices of rows x cols, as many as the codes have. If config.json declares other blocks, the
 * result is BLOCKS_OPEN and f->doubt says why. Returns false with err set if config.json is wrong. */
bool blocks_find(struct blocks *b, enum blocks_result *result, struct table_match *f, const struct tensor *scale,
    uint64_t rows, uint64_t cols, struct err *err);

/* Returns why weights with such scales are not decoded, or NULL: `unknown`, a static text, if the layout is open, or their type. */
const char *blocks_open(enum blocks_result result, const struct tensor *scale, const char *unknown);

/* Returns the index of the scale of a row, counted over all matrices, and a column. */
static inline uint64_t
blocks_at(const struct blocks *b, uint64_t row, uint64_t col)
{
    return row / b->rows * b->per_matrix + row % b->rows / b->b0 * b->per_row + col / b->b1;
}

/* Finds the scales [from, to) that elements [first, first + count) need. */
void blocks_run(const struct blocks *b, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to);

/* Like blocks_run, as bytes of the scale tensor. */
void blocks_span(struct span *s, const struct blocks *b, const struct tensor *scale, uint64_t first, uint64_t count);

/* Writes "per-tensor scale" or "groups of 128" into buf after its first n bytes; or `open`, the reason why the blocks are
 * unknown, if it is not NULL. */
void blocks_describe(const struct blocks *b, const char *open, char buf[SCHEME_DETAIL], int n);

#endif
