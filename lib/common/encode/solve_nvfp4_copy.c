#include "encode/solve_nvfp4_copy.h"

#include <math.h>

#include "base/bytes.h"
#include "dtype/float8.h"
#include "kernel/encode_fp8.h"

enum { BLOCK = 16, LAST = 0x7F7FFFFF };         /* the largest finite pattern */

static const float values[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };

/* Returns the scale with a number. A divisor falls as its number grows. */
static float
scale_of(enum solve_nvfp4_reader reader, uint32_t number)
{
    return float_of_bits(reader == SOLVE_NVFP4_DIVIDES ? LAST - number : number);
}

static double
value_at(enum solve_nvfp4_reader reader, enum exact_level level, float code, float scale, uint32_t number)
{
    float v = solve_nvfp4_value(reader, code, scale, scale_of(reader, number));
    if (level == EXACT_BF16)
        return (double)rounded(DTYPE_BF16, v);
    if (level == EXACT_F16)
        return (double)rounded(DTYPE_F16, v);
    return (double)v;
}

/* Returns the first number in [lo, hi + 1] whose value is at least v, or above it. */
static uint32_t
first_at(enum solve_nvfp4_reader reader, enum exact_level level, float code, float scale, double v, bool above,
    struct solve_nvfp4_run within)
{
    uint32_t lo = within.lo, hi = within.hi + 1;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        double p = value_at(reader, level, code, scale, middle);
        if (above ? p > v : p >= v)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

/* Narrows a run to the scales for which a code with a block scale is v. */
static bool
narrow(struct solve_nvfp4_run *run, enum solve_nvfp4_reader reader, enum exact_level level, float code, float scale, double v)
{
    run->lo = first_at(reader, level, code, scale, v, false, *run);
    if (run->lo > run->hi || value_at(reader, level, code, scale, run->lo) != v)
        return false;
    run->hi = first_at(reader, level, code, scale, v, true, *run) - 1;
    return true;
}

/* Returns the number of a scale. */
static uint32_t
solve_nvfp4_copy_number_of(enum solve_nvfp4_reader reader, float second)
{
    uint32_t bits = bits_of_float(second);
    if (reader == SOLVE_NVFP4_DIVIDES)
        return LAST - bits;
    return bits;
}

struct solve_nvfp4_run
solve_nvfp4_only(enum solve_nvfp4_reader reader, float second)
{
    return (struct solve_nvfp4_run){ solve_nvfp4_copy_number_of(reader, second), solve_nvfp4_copy_number_of(reader, second) };
}

/* All known quantizers choose the scale for all blocks so that the largest scale of a block is 448, with three exceptions: ggml
 * has no such scale, which counts as 1; the largest is 256 where blocks may have 4 as their largest code in place of 6; and
 * 448/6, rounded to 72, where the largest product is 448. */
bool
solve_nvfp4_try(struct solve_nvfp4_run *run, int i, enum solve_nvfp4_reader reader, enum exact_level level, float most)
{
    static const float largest[] = { 448, 0, 256, 72 };
    if (i >= 4)
        return false;
    if (i == 1) {
        *run = solve_nvfp4_only(reader, reader == SOLVE_NVFP4_OVER ? SOLVE_NVFP4_UNIT : 1);
        return true;
    }
    *run = (struct solve_nvfp4_run){ 1, LAST - 1 };
    if (!narrow(run, reader, level, 6, largest[i], (double)most))
        *run = (struct solve_nvfp4_run){ 1, 0 };
    return true;
}

bool
solve_nvfp4_kernel(struct same_nvfp4 *how, enum solve_nvfp4_reader reader, enum exact_level level, float second)
{
    *how = (struct same_nvfp4){ .type = level == EXACT_BF16 ? DTYPE_BF16 : DTYPE_F32, .divides = reader == SOLVE_NVFP4_DIVIDES,
        .codes_first = reader == SOLVE_NVFP4_BLOCKS, .second = reader == SOLVE_NVFP4_OVER ? second / SOLVE_NVFP4_UNIT : second };
    how->powers = (bits_of_float(how->second) & 0x7FFFFF) == 0;
    return (level == EXACT_BF16 || level == EXACT_F32) && how->second >= 0x1p-80f && how->second <= 0x1p80f;
}

void
solve_nvfp4_add_pairs(struct solve_nvfp4_run *run, struct solve_nvfp4_pairs *pairs, enum solve_nvfp4_reader reader,
    enum exact_level level, float second)
{
    for (unsigned s = 1; s < 0x7F; s++)
        for (unsigned c = 1; pairs->seen[s] != 0 && c < 8; c++) {
            const float scale = float8_to_float(DTYPE_F8_E4M3, (uint8_t)s);
            if (!(pairs->seen[s] >> c & 1))
                continue;
            double v = value_at(reader, level, values[c], scale, solve_nvfp4_copy_number_of(reader, second));
            if (value_at(reader, level, values[c], scale, run->lo) != v || value_at(reader, level, values[c], scale, run->hi) != v)
                narrow(run, reader, level, values[c], scale, v);
        }
    *pairs = (struct solve_nvfp4_pairs){ { 0 } };
}

float
solve_nvfp4_pick(enum solve_nvfp4_reader reader, struct solve_nvfp4_run run)
{
    bool divides = reader == SOLVE_NVFP4_DIVIDES;
    uint32_t lo = divides ? LAST - run.hi : run.lo, hi = divides ? LAST - run.lo : run.hi;
    return float_of_bits(solve_simplest(lo, hi, DTYPE_F32));
}

/* Returns the magnitude code nearest to y. */
static uint8_t
solve_nvfp4_copy_code_of(double y)
{
    uint8_t code = 0;
    while (code < 7 && ((double)values[code] + (double)values[code + 1]) / 2 < y)
        code++;
    return code;
}

/* Tries a block scale: sets the codes, and narrows the run. */
static bool
try_scale(const struct solve_block *b, enum solve_nvfp4_reader reader, float scale, struct solve_nvfp4_run *run, uint8_t q[16])
{
    struct solve_nvfp4_run own = *run;
    for (size_t i = 0; i < BLOCK; i++) {
        double v = solve_value(b, i), unit = (double)solve_nvfp4_value(reader, 1, scale, scale_of(reader, own.lo));
        q[i] = solve_nvfp4_copy_code_of(fabs(v) / unit);
        if (v != 0 && (q[i] == 0 || !narrow(&own, reader, b->level, values[q[i]], scale, fabs(v))))
            return false;
        if (signbit(b->x[i]))
            q[i] |= 8;
    }
    *run = own;
    return true;
}

bool
solve_nvfp4_copy(const struct solve_block *b, enum solve_nvfp4_reader reader, struct solve_nvfp4_run *run, uint8_t *scale,
    uint8_t q[16])
{
    const size_t at = solve_most(b);
    double most = fabs(solve_value(b, at));
    *scale = 1;
    for (size_t i = 0; most == 0 && i < BLOCK; i++)
        q[i] = signbit(b->x[i]) ? 8 : 0;
    for (unsigned code = 7; most != 0 && run->lo <= run->hi && code > 0; code--) {
        double unit = (double)values[code] * (double)solve_nvfp4_value(reader, 1, 1, scale_of(reader, run->lo));
        *scale = e4m3_of_float((float)(most / unit));
        if (*scale == 0 || *scale > 0x7E)
            continue;
        if (try_scale(b, reader, float8_to_float(DTYPE_F8_E4M3, *scale), run, q))
            return true;
    }
    return most == 0 || solve_fail(b, EXACT_SPAN, at, NAN);
}
