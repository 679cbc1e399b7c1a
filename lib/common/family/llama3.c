/* Settings of rope_type llama3 and its frequency factors. Source: generate_extra_tensors of LlamaModel in llama.cpp's
 * convert_hf_to_gguf.py, with torch.float32: p, f and w are tensors, so each operation on them is rounded, and plain numbers
 * are rounded before they meet one. */
#include "family/llama3.h"

#include <math.h>
#include <string.h>

#include "base/real.h"

/* Returns the wavelength of pair i of a head with n dimensions. */
static float
wavelength(double theta, uint64_t i, uint64_t n)
{
    float p = real_pow((float)theta, (float)(2 * i) / (float)n);
    float f = 1.0f / p;
    return (1.0f / f) * (float)(2 * M_PI);
}

float
llama3_factor(const struct llama3_rope *r, uint64_t i, uint64_t n)
{
    float w = wavelength(r->theta, i, n);
    if (w < (float)(r->length / r->high))
        return 1;
    if (w > (float)(r->length / r->low))
        return (float)r->factor;
    float s = ((1.0f / w) * (float)r->length - (float)r->low) / (float)(r->high - r->low);
    float t = (1.0f - s) / (float)r->factor + s;
    return 1.0f / t;
}

float
llama3_factor_double(const struct llama3_rope *r, uint64_t i, uint64_t n)
{
    float f = 1.0f / real_pow((float)r->theta, (float)(2 * i) / (float)n);
    double w = 2 * M_PI / (double)f;
    if (w < r->length / r->high)
        return 1;
    if (w > r->length / r->low)
        return (float)r->factor;
    double s = (r->length / w - r->low) / (r->high - r->low);
    return (float)(1 / ((1 - s) / r->factor + s));
}

/* Returns the distance of two positive floats in units in the last place. */
static uint32_t
distance(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    if (x < y)
        return y - x;
    return x - y;
}

static bool
agrees(const struct llama3_rope *r, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(x[i] > 0) || distance(x[i], llama3_factor(r, i, 2 * n)) > 4)
            return false;
    return true;
}

/* Solves for length and high, with low 1, from the first and the last of the pairs between the two steps, where 1/x is linear in
 * the frequency. */
static bool
solve_slope(struct llama3_rope *r, const float *x, size_t n, size_t first, size_t last)
{
    double inverse = 1 / r->factor;
    double s0 = (1 / (double)x[first] - inverse) / (1 - inverse), s1 = (1 / (double)x[last] - inverse) / (1 - inverse);
    double f0 = 1 / (double)wavelength(r->theta, first, 2 * n), f1 = 1 / (double)wavelength(r->theta, last, 2 * n);
    double slope = (s0 - s1) / (f0 - f1), at_zero = s0 - slope * f0;
    if (!(at_zero < 0) || !(slope > 0))
        return false;
    r->low = 1;
    r->high = round((1 - 1 / at_zero) * 64) / 64;
    r->length = round(-slope / at_zero);
    return r->high > r->low && r->length > 0 && agrees(r, x, n);
}

/* Returns the least power of two that is at least x, which is at least 1 and finite. */
static double
power_of_two(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);
    return ldexp(1, fraction == 0.5 ? exponent - 1 : exponent);
}

/* Finds a length for factors that step from 1 to `factor` without pairs between: a power of two, if one is between the
 * wavelengths of the two pairs. */
static bool
solve_step(struct llama3_rope *r, const float *x, size_t n)
{
    size_t i = 0;
    while (i < n && x[i] == 1)
        i++;
    double below = 0;
    if (i > 0)
        below = (double)wavelength(r->theta, i - 1, 2 * n);
    double above;
    if (i < n)
        above = (double)wavelength(r->theta, i, 2 * n);
    else
        above = 4 * below;
    r->low = r->high = 1;
    r->length = power_of_two(below > 1 ? below : 1);
    if (!(r->length > below && r->length < above))
        r->length = floor((below + above) / 2);
    return agrees(r, x, n);
}

bool
llama3_solve(struct llama3_rope *r, const float *x, size_t n)
{
    size_t first = 0, last;
    if (n == 0 || !(x[n - 1] >= 1))
        return false;
    r->factor = (double)x[n - 1];
    r->low = 1;
    r->high = 4;
    r->length = 8192;
    if (agrees(r, x, n))
        return true;
    while (first < n && x[first] == 1)
        first++;
    last = first;
    while (last < n && x[last] < x[n - 1])
        last++;
    if (last - first >= 2)
        return solve_slope(r, x, n, first, last - 1);
    return last == first && solve_step(r, x, n);
}
