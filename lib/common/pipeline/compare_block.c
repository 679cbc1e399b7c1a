#include "pipeline/compare_block.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

/* Notes that element i of the block differs. */
static void
note(struct compare_block *c, size_t i)
{
    c->count++;
    if (c->differs == DIFFERENCE_NOWHERE)
        c->differs = c->first + i;
}

/* --- floats */

static const float *
widened(const struct compare_block *c, enum dtype dtype, const uint8_t *p, size_t n, float *buf)
{
    if (dtype == DTYPE_F32)
        return (const float *)(const void *)p;
    c->k->widen[dtype](buf, p, n);
    return buf;
}

/* Returns true if all elements that were added up are finite. */
static bool
is_finite(const struct loss_lanes *sum)
{
    double all = 0;
    for (unsigned i = 0; i < LOSS_LANES; i++)
        all += sum->signal[i] + sum->back[i];
    return isfinite(all);
}

/* Copies the elements with 0 for those that are not finite in A or B. */
static void
leave_out(struct compare_block *c, const float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool finite = isfinite(x[i]) && isfinite(y[i]);
        c->nonfinite += !finite;
        c->fx[i] = finite ? x[i] : 0;
        c->fy[i] = finite ? y[i] : 0;
    }
}

static void
add_lanes(struct loss_lanes *to, const struct loss_lanes *from)
{
    for (unsigned i = 0; i < LOSS_LANES; i++) {
        to->distance[i] += from->distance[i];
        to->noise[i] += from->noise[i];
        to->signal[i] += from->signal[i];
        to->back[i] += from->back[i];
        to->both[i] += from->both[i];
        if (from->most[i] > to->most[i])
            to->most[i] = from->most[i];
    }
}

/* Returns true if x rounded to the type is y; a NaN is any NaN. */
static bool
is_rounded(struct compare_block *c, const float *x, const float *y, size_t n)
{
    const enum dtype type = c->of->rounded;
    kernel_round16 *round = c->k->round_bf16;
    if (type == DTYPE_F16)
        round = c->k->round_f16;
    round(c->codes, x, n);
    c->k->widen[type](c->fx, (const uint8_t *)c->codes, n);
    for (size_t i = 0; i < n; i++)
        if (c->fx[i] != y[i] && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

/* Notes whether rounding the quantized side explains all differences. Elements are F32 on both sides, and not in scratch memory. */
static void
explain(struct compare_block *c, const float *x, const float *y, size_t n)
{
    if (c->of->rounded == DTYPE_UNKNOWN || c->unexplained)
        return;
    if (c->of->rounds_a)
        c->unexplained = !is_rounded(c, x, y, n);
    else
        c->unexplained = !is_rounded(c, y, x, n);
}

static void
compare_floats(struct compare_block *c)
{
    size_t a_size = dtype_facts(c->a_type)->bytes, b_size = dtype_facts(c->b_type)->bytes;
    for (size_t at = 0, n; at < c->n; at += n) {
        n = (size_t)num_min(c->n - at, COMPARE_CHUNK);
        const uint8_t *a = c->a + at * a_size, *b = c->b + at * b_size;
        const float *x = widened(c, c->a_type, a, n, c->fx), *y = widened(c, c->b_type, b, n, c->fy);
        bool same = c->a_type == c->b_type && memcmp(a, b, n * a_size) == 0;
        struct loss_lanes sum = { 0 };
        c->bits = c->bits || !same;
        for (size_t i = 0; !same && i < n; i++)
            if (x[i] != y[i] && !(isnan(x[i]) && isnan(y[i])))
                note(c, at + i);
        if (!same)
            explain(c, x, y, n);
        c->k->loss(&sum, x, y, n);
        if (!is_finite(&sum)) {
            leave_out(c, x, y, n);
            sum = (struct loss_lanes){ 0 };
            c->k->loss(&sum, c->fx, c->fy, n);
        }
        add_lanes(&c->sum, &sum);
    }
    for (unsigned i = 0; i < LOSS_LANES; i++)
        c->most = c->sum.most[i] > c->most ? c->sum.most[i] : c->most;
}

/* --- doubles and integers */

/* Adds element i, with the difference of A and B. */
static void
add_one(struct compare_block *c, size_t i, double x, double y, double d)
{
    struct loss_lanes *s = &c->sum;
    unsigned lane = i % LOSS_LANES;
    if (!isfinite(x) || !isfinite(y)) {
        c->nonfinite++;
        return;
    }
    d = fabs(d);
    s->distance[lane] += d;
    s->noise[lane] += d * d;
    s->signal[lane] += x * x;
    s->back[lane] += y * y;
    s->both[lane] += x * y;
    if (d > c->most)
        c->most = d;
}

/* Converts elements [at, at + n) of one side to doubles. */
static void
load_doubles(struct compare_block *c, enum dtype dtype, const uint8_t *p, size_t at, size_t n, double *y)
{
    p += at * dtype_facts(dtype)->bytes;
    if (dtype == DTYPE_F64) {
        memcpy(y, p, n * sizeof *y);
        return;
    }
    const float *x = widened(c, dtype, p, n, c->fx);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i];
}

static void
compare_doubles(struct compare_block *c)
{
    for (size_t at = 0, n; at < c->n; at += n) {
        n = (size_t)num_min(c->n - at, COMPARE_CHUNK);
        load_doubles(c, c->a_type, c->a, at, n, c->x);
        load_doubles(c, c->b_type, c->b, at, n, c->y);
        c->bits = c->bits || c->a_type != c->b_type || memcmp(c->x, c->y, n * sizeof *c->x) != 0;
        for (size_t i = 0; i < n; i++) {
            double x = c->x[i], y = c->y[i];
            if (x != y && !(isnan(x) && isnan(y)))
                note(c, at + i);
            add_one(c, at + i, x, y, x - y);
        }
    }
}

/* Loads an integer, little-endian. */
static __int128
load_int(const uint8_t *p, enum dtype dtype)
{
    uint64_t v = 0;
    size_t size = dtype_facts(dtype)->bytes;
    for (size_t i = size; i-- > 0;)
        v = v << 8 | p[i];
    bool is_signed = dtype == DTYPE_I8 || dtype == DTYPE_I16 || dtype == DTYPE_I32 || dtype == DTYPE_I64;
    if (is_signed && v >> (8 * size - 1) != 0)
        return (__int128)v - ((__int128)1 << 8 * size);
    return v;
}

static void
compare_ints(struct compare_block *c)
{
    size_t a_size = dtype_facts(c->a_type)->bytes, b_size = dtype_facts(c->b_type)->bytes;
    for (size_t i = 0; i < c->n; i++) {
        __int128 x = load_int(c->a + i * a_size, c->a_type), y = load_int(c->b + i * b_size, c->b_type);
        if (x != y)
            note(c, i);
        add_one(c, i, (double)x, (double)y, (double)(x - y));
    }
    c->bits = c->a_type != c->b_type || c->count != 0;
}

static void
compare_bytes(struct compare_block *c)
{
    size_t size = dtype_facts(c->a_type)->bytes;
    for (size_t i = 0; i < c->n; i++)
        if (memcmp(c->a + i * size, c->b + i * size, size) != 0)
            note(c, i);
    c->bits = c->count != 0;
}

void
compare_block(struct compare_block *c)
{
    c->sum = (struct loss_lanes){ 0 };
    c->most = 0;
    c->differs = DIFFERENCE_NOWHERE;
    c->count = c->nonfinite = 0;
    c->bits = false;
    switch (c->of->kind) {
    case DIFFERENCE_FLOATS:     compare_floats(c);  break;
    case DIFFERENCE_DOUBLES:    compare_doubles(c); break;
    case DIFFERENCE_INTS:       compare_ints(c);    break;
    default:                    compare_bytes(c);   break;
    }
}
