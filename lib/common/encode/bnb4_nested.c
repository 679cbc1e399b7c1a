/* Sources: PyTorch, aten/src/ATen/native/cpu/SumKernel.cpp; bitsandbytes functional.py, quantize_4bit and
 * quantize_blockwise, csrc/cpu_ops.cpp, which looks up the code in a table of 65536 places between -1 and 1. */
#include "encode/bnb4_nested.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "kernel/bnb_maps.h"

/* --- the mean */

struct bnb4_sum
bnb4_sum_of(uint64_t n)
{
    uint64_t lines = n / BNB4_LANES;
    unsigned bits = 1;
    while (bits < 63 && (uint64_t)1 << bits < lines)
        bits++;
    struct bnb4_sum s = { .n = n, .step = 1u << num_max(4, bits / 4) };
    s.regions = lines / ((uint64_t)s.step * s.step) + 1;
    s.floats = (s.regions + 2) * BNB4_LANES;
    return s;
}

static uint64_t
region_floats(const struct bnb4_sum *s)
{
    return (uint64_t)s->step * s->step * BNB4_LANES;
}

void
bnb4_sum_region(const struct bnb4_sum *s, uint64_t region, uint64_t *first, uint64_t *end)
{
    *first = region * region_floats(s);
    *end = num_min(s->n, *first + region_floats(s));
}

static void
flow(float to[BNB4_LANES], float from[BNB4_LANES])
{
    for (unsigned i = 0; i < BNB4_LANES; i++) {
        to[i] += from[i];
        from[i] = 0.0f;
    }
}

void
bnb4_sum_add(const struct bnb4_sum *s, struct bnb4_lanes *lanes, const float *x, size_t n)
{
    for (; n >= BNB4_LANES; n -= BNB4_LANES, x += BNB4_LANES) {
        for (unsigned i = 0; i < BNB4_LANES; i++)
            lanes->since[i] += x[i];
        if (++lanes->nsince != s->step)
            continue;
        flow(lanes->steps, lanes->since);
        lanes->nsince = 0;
    }
    memcpy(lanes->rest, x, n * sizeof *x);
}

void
bnb4_sum_keep(const struct bnb4_sum *s, const struct bnb4_lanes *lanes, uint64_t region, float *kept)
{
    memcpy(kept + region * BNB4_LANES, lanes->steps, sizeof lanes->steps);
    if (region + 1 != s->regions)
        return;
    memcpy(kept + s->regions * BNB4_LANES, lanes->since, sizeof lanes->since);
    memcpy(kept + (s->regions + 1) * BNB4_LANES, lanes->rest, sizeof lanes->rest);
}

/* Sums n < 8 floats. */
static float
sum_of_few(const float *x, uint64_t n)
{
    float first = 0;
    if (n < 4) {
        for (uint64_t i = 0; i < n; i++)
            first += x[i];
        return first;
    }
    first = x[0];
    for (uint64_t i = 4; i < n; i++)
        first += x[i];
    return first + x[1] + x[2] + x[3];
}

/* Sums four columns of eight lanes. Floats that do not fill a line are added to the first column, eight at a time; the final
 * fewer than eight of them start the sum. */
static float
sum_of_lanes(float total[BNB4_LANES], const float *rest, uint64_t nrest)
{
    float sum = 0.0f;
    uint64_t i = 0;
    for (; i + 8 <= nrest; i += 8)
        for (unsigned lane = 0; lane < 8; lane++)
            total[lane] += rest[i + lane];
    for (; i < nrest; i++)
        sum += rest[i];
    for (unsigned lane = 0; lane < 8; lane++)
        sum += total[lane] + total[8 + lane] + total[16 + lane] + total[24 + lane];
    return sum;
}

float
bnb4_sum_mean(const struct bnb4_sum *s, const float *kept)
{
    float third[BNB4_LANES] = { 0 }, fourth[BNB4_LANES] = { 0 }, steps[BNB4_LANES], total[BNB4_LANES];
    uint64_t last = s->regions - 1;
    const float *since = kept + s->regions * BNB4_LANES, *rest = since + BNB4_LANES;
    for (uint64_t r = 0; r < last; r++) {
        memcpy(steps, kept + r * BNB4_LANES, sizeof steps);
        flow(third, steps);
        if ((r + 1) % s->step == 0)
            flow(fourth, third);
    }
    for (unsigned i = 0; i < BNB4_LANES; i++)
        total[i] = since[i] + kept[last * BNB4_LANES + i] + third[i] + fourth[i];
    return (s->n < 8 ? sum_of_few(rest, s->n) : sum_of_lanes(total, rest, s->n % BNB4_LANES)) / (float)s->n;
}

/* --- codes */

float
bnb4_nested_absmax(const float *absmax, size_t n, float mean)
{
    float most = 0.0f;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(absmax[i] - mean));
    return most;
}

static float
map_value(unsigned code)
{
    return float_of_bits(bnb_dynamic_map[code]);
}

/* Returns the number of midpoints of the map that are below y, with y in [-1, 1] first rounded to one of the library's 65536
 * places. */
static uint8_t
bnb4_nested_code_of(float y)
{
    int place = (int)((y + 1.0f) * 0.5f * 65535.0f + 0.5f);
    float at = -1.0f + (float)(2 * place) / 65535.0f;
    unsigned low = 0, high = 255;           /* bounds of that number */
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (0.5f * (map_value(middle) + map_value(middle + 1)) < at)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint8_t)low;
}

void
bnb4_nested_codes(uint8_t *codes, const float *absmax, size_t n, float mean, float most)
{
    float inverse = 1.0f / most;
    for (size_t i = 0; i < n; i++) {
        float y = (absmax[i] - mean) * inverse, near = y > 1.0f ? 1.0f : y < -1.0f ? -1.0f : y;
        if (!(most > 0.0f) || y != y)
            codes[i] = 0;
        else
            codes[i] = bnb4_nested_code_of(near);
    }
}

void
bnb4_nested_values(float *absmax, const uint8_t *codes, size_t n, float mean, float most)
{
    for (size_t i = 0; i < n; i++) {
        float scaled = map_value(codes[i]) * most;
        absmax[i] = scaled + mean;
    }
}

/* --- text */

/* Matches Python's repr() of a double: the fewest digits that read back as the same number, with an exponent below 1e-4 and
 * from 1e16 on. */
void
bnb4_add_number(struct str *s, float f)
{
    char text[40];
    int digits = 1;
    if (!isfinite(f)) {
        str_text(s, isnan(f) ? "NaN" : f < 0 ? "-Infinity" : "Infinity");
        return;
    }
    do
        snprintf(text, sizeof text, "%.*e", digits - 1, (double)f);
    while (strtod(text, NULL) != (double)f && digits++ < 17);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < -4 || exponent >= 16)
        str_text(s, text);
    else
        str_format(s, "%.*f", digits - 1 - exponent > 1 ? digits - 1 - exponent : 1, (double)f);
}
