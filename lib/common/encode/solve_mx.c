#include "encode/solve_mx.h"

#include <math.h>

#include "kernel/encode_mx.h"

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
        if (twice <= 12)
            q[i] = codes[(int)twice];
        else
            q[i] = 7;
        if (q[i] == 0)
            q[i] = (moves && b->code[i] == 8) || signbit(b->x[i]) ? 8 : 0;
        else if (v < 0)
            q[i] |= 8;
    }
}

/* Returns true if the run has values of a dense weight, at a level at which equal values are the same. */
static bool
is_dense(const struct encoding *e)
{
    const enum exact_level level = e->exact->level;
    return e->exact->source.codes == EXACT_DENSE && (level == EXACT_F32 || level == EXACT_BF16 || level == EXACT_REAL);
}

size_t
solve_mx_dense(const struct encoding *e, const struct encode_run *run, const float *x, size_t nblocks, uint8_t *scale, uint8_t *code,
    bool halves)
{
    const struct same_e2m1 how = { .block = 32, .halves = halves, .least = -127, .most = 127 };
    if (is_dense(e))
        return solve_found(run, run->kernels->same_e2m1(scale, code, x, nblocks, &how));
    return 0;
}

size_t
solve_mx_dense_e4m3(const struct encoding *e, const struct encode_run *run, const float *x, size_t nblocks, uint8_t *scale, uint8_t *code)
{
    if (is_dense(e))
        return solve_found(run, run->kernels->same_e4m3(scale, code, x, nblocks));
    return 0;
}

bool
solve_mx_move(uint8_t y[16], int *t, const struct solve_block *b)
{
    float back[32];
    const bool real = b->level == EXACT_REAL && !b->unit;
    const struct encode_e2m1 how = { .scale = solve_hint(b), .quotient = DTYPE_F32, .rule = E2M1_SIGNED };
    if (b->source.codes != EXACT_E2M1 || b->source.two || (b->level != EXACT_F32 && !real))
        return false;
    if (!solve_is_power(how.scale, t) || *t < -127 || *t > 127)
        return false;
    b->kernels->encode_e2m1(y, back, b->x, 32, &how);
    if (!b->kernels->same_rounded(DTYPE_F32, back, b->x, 32))
        return false;
    for (int i = 0; b->code && i < 32; i++)
        y[i / 2] |= b->code[i] == 8 ? (uint8_t)(8 << i % 2 * 4) : 0;
    return true;
}

void
solve_mx_pack(uint8_t *y, const uint8_t *q, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        y[i] = (uint8_t)(q[2 * i] | q[2 * i + 1] << 4);
}
