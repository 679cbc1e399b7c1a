#include "adapter/place.h"

#include "base/num.h"

void
place_whole(struct weight_place *p, const struct choice *choice, size_t index)
{
    const struct tensor t = chosen_source(&choice->list[index]);
    uint64_t numel, rows = t.shape.rank != 0 ? shape_dim(&t.shape, 0) : 1;
    *p = (struct weight_place){ .index = index, .shape = t.shape };
    if (!shape_numel(&t.shape, &numel) || numel == 0)
        rows = numel = 1;
    uint64_t cols = numel / rows;
    p->rows = (struct change_rows){ 0, cols, 1, { { rows, cols } } };
}

bool
place_rows(struct weight_place *p, uint64_t first, uint64_t n, uint64_t cols)
{
    struct change_rows *r = &p->rows;
    uint64_t numel, end, count = change_rows_count(r);
    if (cols == 0 || r->dims != 1 || (r->dim[0].stride != r->cols && cols != r->cols) || !num_mul(&numel, count, r->cols)
            || numel % cols != 0 || !num_add(&end, first, n) || end > numel / cols)
        return false;
    uint64_t stride = cols;
    if (cols == r->cols)
        stride = r->dim[0].stride;
    *r = (struct change_rows){ r->first + first * stride, cols, 1, { { n, stride } } };
    return true;
}

bool
place_cols(struct weight_place *p, uint64_t first, uint64_t n)
{
    if (first > p->rows.cols || n > p->rows.cols - first)
        return false;
    p->rows.first += first;
    p->rows.cols = n;
    return true;
}
