#include "kernel/lowrank.h"

#include <float.h>
#include <string.h>

#include "base/num.h"
#include "kernel/round.h"
#include "kernel/widen.h"

static double
element(const struct lowrank *p, size_t row, size_t col)
{
    double t = 0;
    for (size_t k = 0; k < p->rank; k++)
        t += p->l[row * p->rank + k] * (double)p->r[lowrank_at(p->rank, k, col)];
    return t;
}

void
lowrank_product(double *v, size_t stride, const struct lowrank *p)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->cols; j++)
            v[i * stride + j] = element(p, i, p->first + j);
}

void
lowrank_add(double *v, size_t stride, const struct lowrank *p)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->cols; j++) {
            double product = p->s * element(p, i, p->first + j);
            v[i * stride + j] += product;
        }
}

/* Adds one element to the sums; `both` gets only what differs from `change`. */
static void
add_shift(struct shift_lanes *sum, size_t lane, float before, float now, float after)
{
    float left = after - now;
    double w = before, d = (double)now - (double)before, rest = left;
    sum->base[lane] += w * w;
    sum->change[lane] += d * d;
    sum->both[lane] += rest * d;
    sum->rest[lane] += rest * rest;
    sum->moved += after != before;
}

/* Changes columns [col, end) of a row, which are in one panel. */
static void
merge_row(uint8_t *codes, const struct lowrank *p, size_t row, size_t col, size_t end, struct lowrank_sums *sums)
{
    for (size_t j = col; j < end; j++, codes += 2) {
        double product = p->s * element(p, row, j), v;
        float before, now, after;
        uint16_t code;
        widen_bf16(&before, codes, 1);
        v = before + product;
        now = (float)v;
        round_bf16(&code, &now, 1);
        memcpy(codes, &code, sizeof code);
        widen_bf16(&after, codes, 1);
        sums->beyond += !(v <= FLT_MAX && v >= -FLT_MAX);
        if (sums->shifts)
            add_shift(&sums->shift, j % LOWRANK_LANES, before, now, after);
    }
}

void
lowrank_merge_tile(uint8_t *codes, size_t stride, const struct lowrank *p, const struct lowrank_tile *t,
    struct lowrank_sums *sums)
{
    for (size_t i = t->row; i < t->row_end; i++)
        merge_row(codes + 2 * (i * stride + t->col - p->first), p, i, t->col, t->col_end, sums);
}

bool
lowrank_tile_next(struct lowrank_tile *t, const struct lowrank *p)
{
    const size_t end = p->first + p->cols;
    size_t line = t->col / LOWRANK_LINE * LOWRANK_LINE;
    if (t->row_end == 0)
        t->col = p->first;
    else if (t->col_end < num_min(line + LOWRANK_LINE, end))
        t->col = t->col_end;
    else if (t->row_end < p->rows) {
        t->row = t->row_end;
        t->col = (size_t)num_max(line, p->first);
    } else {
        t->row = 0;
        t->col = t->col_end;
    }
    t->row_end = (size_t)num_min(t->row + LOWRANK_ROWS, p->rows);
    t->col_end = (size_t)num_min(t->col / LOWRANK_PANEL * LOWRANK_PANEL + LOWRANK_PANEL, end);
    return t->col < end && p->rows != 0;
}

void
lowrank_merge(uint8_t *codes, size_t stride, const struct lowrank *p, struct lowrank_sums *sums)
{
    struct lowrank_tile t = { .row_end = 0 };
    while (lowrank_tile_next(&t, p))
        lowrank_merge_tile(codes, stride, p, &t, sums);
}

void
lowrank_sums_end(struct lowrank_sums *sums)
{
    for (unsigned i = 0; i < SHIFT_LANES; i++)
        sums->shift.both[i] += sums->shift.change[i];
}
