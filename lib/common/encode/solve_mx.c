#include "encode/solve_mx.h"

#include <math.h>

#include "dtype/float8.h"
#include "kernel/encode_fp8.h"
#include "kernel/encode_mx.h"
#include "kernel/fp8.h"

bool
solve_mx_power(int *t, const struct solve_block *b, const struct solve_float *f, int least, int most)
{
    struct solve_range r = SOLVE_RANGE;
    int hint = 0;
    float scale = solve_hint(b);
    bool codes = b->source.codes == EXACT_E2M1 || b->source.codes == EXACT_FP8;
    bool hinted = codes && !b->source.two && solve_is_power(scale, &hint);
    for (size_t i = 1; hinted && b->source.codes == EXACT_FP8 && i < b->n; i++)
        hinted = b->scale[i] == scale;
    if (!solve_finite(b) || !solve_narrow(&r, b, f) || !solve_power(t, &r, b, least, most, hinted, hint))
        return false;
    solve_way(b, !hinted ? EXACT_SEARCH : b->source.codes == EXACT_E2M1 && f == &solve_e2m1 && *t == hint ? EXACT_MOVED : EXACT_HINT);
    return true;
}

void
solve_mx_e2m1(uint8_t *q, const struct solve_block *b, double scale)
{
    static const uint8_t codes[13] = { 0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7 };     /* by twice the value */
    bool moves = b->code && b->source.codes == EXACT_E2M1;
    for (size_t i = 0; i < b->n; i++) {
        double v = solve_value(b, i), twice = scale != 0 ? fabs(v) / scale * 2 : 0;
        q[i] = twice <= 12 ? codes[(int)twice] : 7;
        if (q[i] == 0)
            q[i] = (moves && b->code[i] == 8) || signbit(b->x[i]) ? 8 : 0;
        else if (v < 0)
            q[i] |= 8;
    }
}

bool
solve_mx_foresee(const struct encoding *e, const float *scale, size_t n)
{
    const struct exact_source *s = &e->exact->source;
    int t;
    if (s->codes != EXACT_E2M1 || s->two || s->scale != DTYPE_F8_E8M0 || s->group == 0 || s->group % 32 != 0)
        return false;
    for (size_t i = 0; i < n; i += 32)
        if (!solve_is_power(scale[i], &t) || t > SOLVE_MX_FINITE)
            return false;
    return true;
}

/* Returns the smallest power of two that times most * 2^top, the largest code, reaches the largest magnitude of a dense block. Returns 0 for
 * other sources and levels, and if that is not a normal number. 1 <= most < 2. */
static float
least_power(const struct solve_block *b, float most, int top)
{
    const float high = b->kernels->encode_most(b->x, b->n);
    const uint32_t u = bits_of_float(high), exponent = u >> 23, limit = bits_of_float(most) & 0x7FFFFF;
    const int t = (int)exponent - 127 - top + ((u & 0x7FFFFF) > limit);
    bool plain = b->source.codes == EXACT_DENSE && (b->level == EXACT_F32 || b->level == EXACT_REAL || b->level == EXACT_BF16);
    return plain && exponent != 0 && exponent != 255 && t >= -126 && t <= 120 ? float_of_bits((uint32_t)(t + 127) << 23) : 0;
}

bool
solve_mx_e4m3(uint8_t y[32], int *t, const struct solve_block *b)
{
    float back[32];
    const struct encode_fp8 how = { .scale = least_power(b, 1.75f, 8), .quotient = DTYPE_F32 };
    if (b->n != 32 || !solve_is_power(how.scale, t))
        return false;
    b->kernels->encode_e4m3(y, b->x, 32, &how);
    b->kernels->fp8_f32(back, 32, &(struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1, .cols = 32, .x = y, .scales = &how.scale,
        .scale_cols = 32 });
    if (!b->kernels->same_floats(back, b->x, 32))
        return false;
    solve_way(b, EXACT_SEARCH);
    return true;
}

bool
solve_mx_move(uint8_t y[16], int *t, const struct solve_block *b)
{
    float back[32];
    const bool dense = b->source.codes == EXACT_DENSE, real = b->level == EXACT_REAL && !b->unit;
    const struct encode_e2m1 how = { .scale = dense ? least_power(b, 1.5f, 2) : solve_hint(b), .quotient = DTYPE_F32, .rule = E2M1_SIGNED };
    if (!dense && (b->source.codes != EXACT_E2M1 || b->source.two || (b->level != EXACT_F32 && !real)))
        return false;
    if (!solve_is_power(how.scale, t) || *t < -127 || *t > 127)
        return false;
    b->kernels->encode_e2m1(y, back, b->x, 32, &how);
    if (!b->kernels->same_floats(back, b->x, 32))
        return false;
    for (int i = 0; b->code && i < 32; i++)
        y[i / 2] |= b->code[i] == 8 ? (uint8_t)(8 << i % 2 * 4) : 0;
    if (dense)
        solve_way(b, EXACT_SEARCH);
    return true;
}

void
solve_mx_pack(uint8_t *y, const uint8_t *q, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        y[i] = (uint8_t)(q[2 * i] | q[2 * i + 1] << 4);
}
