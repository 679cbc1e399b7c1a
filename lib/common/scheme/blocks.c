#include "scheme/blocks.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "scheme/declared.h"
#include "scheme/dim.h"

static void
set(struct blocks *b, uint64_t b0, uint64_t b1, uint64_t per_row, uint64_t per_matrix)
{
    b->b0 = num_max(b0, 1);
    b->b1 = num_max(b1, 1);
    b->per_row = per_row;
    b->per_matrix = per_matrix;
}

/* Finds the blocks that config.json declares for a matrix of scales k0 x k1. *known is false if there are none, or if the scales
 * contradict them, which f->doubt then explains. */
static bool
find_declared(uint64_t block[2], bool *known, const struct blocks *b, struct table_match *f, const struct tensor *scale,
    const uint64_t k[2], struct err *err)
{
    const uint64_t n[2] = { b->rows, b->cols };
    uint64_t size;
    if (!config_block_size(f->claims->config, f->base.base, f->base.base_len, block, known, err))
        return false;
    if (*known) {
        bool ok = declared_blocks(&f->doubt, f->claims, scale, n, block, k, err);
        *known = !f->doubt;
        return ok;
    }
    if (k[0] != b->rows)
        return true;
    block[0] = 1;
    if (!declared_groups(&size, &f->doubt, f->claims, &f->base, scale, b->cols, k[1], err))
        return false;
    *known = size != 0;
    block[1] = size;
    return true;
}

/* Maps a matrix of scales k0 x k1. */
static bool
find_blocks(struct blocks *b, enum blocks_result *result, struct table_match *f,
    const struct tensor *scale, const uint64_t k[2], struct err *err)
{
    uint64_t block[2] = { 1, 1 };
    bool known;
    if (!find_declared(block, &known, b, f, scale, k, err))
        return false;
    *result = BLOCKS_FOUND;
    if (f->doubt) {
        *result = BLOCKS_OPEN;
        block[0] = block[1] = 1;
    } else if (!known && k[0] == b->rows && (k[1] != 0 ? b->cols % k[1] == 0 : b->cols == 0)) {
        block[1] = b->cols / num_max(k[1], 1);          /* without other information, groups divide the columns */
    } else if (!known && k[0] != b->rows && k[1] == b->cols && k[1] > 1) {
        *result = BLOCKS_OPEN;          /* or groups of a transposed matrix */
    } else if (!known) {
        enum dim_axis rows = dim_axis(b->rows, k[0], &block[0]), cols = dim_axis(b->cols, k[1], &block[1]);
        /* could also be one per row, transposed */
        bool transposed = k[0] == 1 && k[1] == b->rows && k[1] > 1 && block[1] != DIM_USUAL;
        if (rows == DIM_AXIS_NONE || cols == DIM_AXIS_NONE)
            *result = BLOCKS_WRONG;
        else if (rows == DIM_AXIS_TWO || cols == DIM_AXIS_TWO || transposed)
            *result = BLOCKS_OPEN;
        else
            *result = BLOCKS_FOUND;
    }
    set(b, block[0], block[1], k[1], k[0] * k[1]);
    return true;
}

bool
blocks_find(struct blocks *b, enum blocks_result *result, struct table_match *f, const struct tensor *scale,
    uint64_t rows, uint64_t cols, struct err *err)
{
    const struct tensor *codes = f->codes;
    const uint64_t k[2] = { dim_rows(scale), dim_cols(scale) };
    uint64_t n = 0, experts = codes->shape.rank == 3 ? shape_dim(&codes->shape, 0) : 0;
    *b = (struct blocks){ .rows = rows, .cols = cols };
    *result = BLOCKS_FOUND;
    if (!shape_numel(&scale->shape, &n))
        n = 0;
    if (n == 1)
        set(b, rows, cols, 0, 0);
    else if (experts != 0 && n == experts && dim_back(scale, scale->shape.rank - 1) == experts)
        set(b, rows, cols, 0, 1);
    else if (codes->shape.rank == 2 && scale->shape.rank == 1 && n == rows)
        set(b, 1, cols, 1, 0);
    else if (dim_same_experts(scale, codes))
        return find_blocks(b, result, f, scale, k, err);
    else
        *result = BLOCKS_WRONG;
    return true;
}

const char *
blocks_open(enum blocks_result result, const struct tensor *scale, const char *unknown)
{
    if (result == BLOCKS_OPEN)
        return unknown;
    return scale->dtype == DTYPE_F64 ? "with scales of F64" : NULL;
}

void
blocks_run(const struct blocks *b, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to)
{
    uint64_t last = first + count - 1, row = first / b->cols, end = last / b->cols;
    uint64_t col = first % b->cols, stop = last % b->cols;
    if (row != end) {           /* whole rows in between */
        col = 0;
        stop = b->cols - 1;
    }
    if (row / b->rows != end / b->rows) {       /* and whole matrices */
        row = row / b->rows * b->rows;
        end = end / b->rows * b->rows + b->rows - 1;
    }
    *from = blocks_at(b, row, col);
    *to = blocks_at(b, end, stop) + 1;
}

void
blocks_span(struct span *s, const struct blocks *b, const struct tensor *scale, uint64_t first, uint64_t count)
{
    uint64_t from, to, size = dtype_facts(scale->dtype)->bytes;
    blocks_run(b, first, count, &from, &to);
    *s = (struct span){ .at = from * size, .len = (to - from) * size };
}

void
blocks_describe(const struct blocks *b, const char *open, char buf[SCHEME_DETAIL], int n)
{
    size_t room = SCHEME_DETAIL - (size_t)n;
    bool all_rows = b->b0 >= b->rows, all_cols = b->b1 >= b->cols;
    if (open)
        snprintf(buf + n, room, "%s", open);
    else if (all_rows && all_cols && b->per_row == 0)
        snprintf(buf + n, room, "per-%s scale", b->per_matrix ? "expert" : "tensor");
    else if (b->b0 == 1 && all_cols)
        snprintf(buf + n, room, "per-channel scale");
    else if (b->b0 == 1)
        snprintf(buf + n, room, "groups of %" PRIu64, b->b1);
    else
        snprintf(buf + n, room, "blocks of %" PRIu64 "x%" PRIu64, b->b0, b->b1);
}
