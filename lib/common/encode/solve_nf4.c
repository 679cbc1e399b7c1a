#include "encode/solve_nf4.h"

#include <math.h>

#include "base/bytes.h"
#include "kernel/bnb_maps.h"

enum { CODES = 16, ZERO = 7 };

static float
solve_nf4_value_of(unsigned code)
{
    return float_of_bits(bnb_nf4_map[code]);
}

static uint8_t
nearest(double y)
{
    unsigned code = 0;
    while (code + 1 < CODES && ((double)solve_nf4_value_of(code) + (double)solve_nf4_value_of(code + 1)) / 2 < y)
        code++;
    return (uint8_t)code;
}

static bool
try_absmax(const struct solve_block *b, double absmax, uint8_t *q)
{
    if (!isfinite(absmax) || absmax <= 0)
        return false;
    for (size_t i = 0; i < b->n; i++) {
        double v = solve_value(b, i);
        q[i] = nearest(v / absmax);
        if (!solve_same(b->level, v, (double)solve_nf4_value_of(q[i]) * absmax))
            return false;
    }
    return true;
}

/* Searches the scales whose products round to the values. */
static bool
solve_nf4_search(const struct solve_block *b, double *absmax)
{
    double up[CODES], down[CODES];
    struct solve_set set, signs = { .n = 0 };
    if (!solve_collect(&set, b, CODES))
        return false;
    for (unsigned i = 0; i < ZERO; i++)
        down[i] = -(double)solve_nf4_value_of(ZERO - 1 - i);
    for (unsigned i = ZERO + 1; i < CODES; i++)
        up[i - ZERO - 1] = (double)solve_nf4_value_of(i);
    const struct solve_codes codes = { up, down, CODES - ZERO - 1, ZERO };
    for (size_t i = 0; i < set.n; i++)
        for (uint8_t sign = 1; sign <= 2; sign++)       /* but for 1 and -1, other codes: rounded values can be each other's negatives */
            if (set.sign[i] & sign) {
                signs.v[signs.n] = set.v[i];
                signs.sign[signs.n++] = sign;
            }
    return solve_run(absmax, &codes, signs.v, signs.sign, signs.n, DTYPE_F32, b->level) || solve_fail(b, EXACT_SPAN, solve_most(b), NAN);
}

bool
solve_nf4(const struct solve_block *b, float *absmax, uint8_t *q)
{
    float hint = solve_hint(b);
    double most = 0, found;
    if (b->source.codes == EXACT_NF4 && try_absmax(b, (double)hint, q)) {
        *absmax = hint;
        solve_way(b, EXACT_MOVED);
        return true;
    }
    if (!solve_finite(b))
        return false;
    for (size_t i = 0; i < b->n; i++)
        most = fmax(most, fabs(solve_value(b, i)));
    solve_way(b, EXACT_SEARCH);
    for (size_t i = 0; most == 0 && i < b->n; i++)
        q[i] = ZERO;
    *absmax = most == 0 ? b->source.codes == EXACT_NF4 && isfinite(hint) ? hint : 0.0f : (float)most;
    if (most == 0 || try_absmax(b, most, q))
        return true;
    if (!solve_nf4_search(b, &found))
        return false;
    *absmax = (float)found;
    return try_absmax(b, found, q) || solve_fail(b, EXACT_SPAN, solve_most(b), NAN);
}
