#include "scheme/dim.h"

#include "base/num.h"

uint64_t
dim_back(const struct tensor *t, uint32_t i)
{
    if (t->shape.rank > i)
        return shape_dim(&t->shape, t->shape.rank - 1 - i);
    return 1;
}

bool
dim_same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->shape.rank == b->shape.rank && shape_same(&a->shape, &b->shape, a->shape.rank);
}

bool
dim_same_count(const struct tensor *a, const struct tensor *b)
{
    uint64_t n, m;
    return shape_numel(&a->shape, &n) && shape_numel(&b->shape, &m) && n == m;
}

bool
dim_same_experts(const struct tensor *a, const struct tensor *b)
{
    uint32_t rank = a->shape.rank;
    return rank >= 2 && rank == b->shape.rank && shape_same(&a->shape, &b->shape, rank - 2);
}

bool
dim_same_rows(const struct tensor *a, const struct tensor *b)
{
    return dim_same_experts(a, b) && dim_rows(a) == dim_rows(b);
}

bool
dim_is_one(const struct tensor *t)
{
    uint64_t n;
    return shape_numel(&t->shape, &n) && n == 1;
}

bool
dim_is_one_each(const struct tensor *t, const struct tensor *codes)
{
    uint64_t n;
    return dim_is_one(t) || (codes->shape.rank == 3 && t->shape.rank != 0 && shape_numel(&t->shape, &n)
        && n == shape_dim(&codes->shape, 0) && shape_dim(&t->shape, 0) == n);
}

enum dim_axis
dim_axis(uint64_t n, uint64_t k, uint64_t *block)
{
    if (k > n || (k == 0 && n != 0))
        return DIM_AXIS_NONE;
    bool power_of_two = (n & (n - 1)) == 0;
    if (k == n)
        *block = 1;
    else if (k == 1)
        *block = n;
    else
        *block = DIM_USUAL;
    if (k == n || num_ceil_div(n, DIM_USUAL) == k || (k == 1 && power_of_two))
        return DIM_AXIS_ONE;
    if (k == 1)             /* a single scale where blocks of the usual size have several: half of a grid */
        return DIM_AXIS_NONE;
    uint64_t power = 1, even = n % k == 0 ? n / k : 0;
    while (num_ceil_div(n, power) > k)
        power *= 2;
    if (num_ceil_div(n, power) != k)
        power = 0;
    if (power)
        *block = power;
    else
        *block = even;
    if (power && even && power != even)
        return DIM_AXIS_TWO;
    if (*block)
        return DIM_AXIS_ONE;
    return DIM_AXIS_NONE;
}

bool
dim_scale_each(const struct tensor *codes, const struct tensor *scale, uint64_t bytes)
{
    uint64_t row = dim_cols(codes) / (codes->dtype == DTYPE_F4 ? 2 : 1), groups = dim_cols(scale);
    return dim_same_rows(codes, scale) && groups <= UINT64_MAX / bytes && row == groups * bytes;
}
