/* blocks: which of its scales an element of a weight has, where the codes of a row lie side by side. The last two dimensions
 * of the weight are a matrix, those before it stack such. The scales of a matrix:
 *
 *     per tensor   [] or [1], and for a stack one each: [E], [E, 1], [E, 1, 1]
 *     per row      [R] or [R, 1]
 *     groups       [R, G]: R x 1 x C/G
 *     blocks       [ceil(R / b0), ceil(C / b1)], ragged edges are short
 */
#ifndef SCHEME_BLOCKS_H
#define SCHEME_BLOCKS_H

#include "scheme/table.h"

struct blocks {
    uint64_t rows, cols;                /* of a matrix */
    uint64_t b0, b1;                    /* rows and columns that share a scale, not 0 */
    uint64_t per_row, per_matrix;       /* scales from one row of blocks, or matrix, to the next; 0: they share */
};

/* What a shape of scales tells. Where it leaves blocks open, config.json may tell. */
enum blocks_told {
    BLOCKS_WRONG,               /* it fits no reading */
    BLOCKS_OPEN,                /* it fits two */
    BLOCKS_TOLD
};

/* Lay scales over stacked matrices of rows x cols, as many as the codes have. False: err is set, about config.json. */
bool blocks_find(struct blocks *b, enum blocks_told *told, const struct table_match *f, const struct tensor *scale,
    uint64_t rows, uint64_t cols, struct err *err);

/* The scale of a row, counted over all matrices, and a column. */
static inline uint64_t
blocks_at(const struct blocks *b, uint64_t row, uint64_t col)
{
    return row / b->rows * b->per_matrix + row % b->rows / b->b0 * b->per_row + col / b->b1;
}

/* The run [from, to) of the scales of elements [first, first + count). */
void blocks_run(const struct blocks *b, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to);

/* The same in bytes of a tensor. */
void blocks_span(struct span *s, const struct blocks *b, const struct tensor *scale, uint64_t first, uint64_t count);

/* Writes "per-tensor scale", "groups of 128", or `open`, why they are not decoded, after the n bytes of buf. */
void blocks_describe(const struct blocks *b, const char *open, char buf[SCHEME_DETAIL], int n);

#endif
