/* encode_int: the definition.
 *
 *     n = 2^bits - 1, lowest = -2^(bits-1); the zero point of symmetric codes is -lowest
 *
 *     compressed-tensors, every operation rounded to the weight's type:
 *         min = min(x, 0), max = max(x, 0)
 *         scale = max(-min, max) / (n / 2)              zero = lowest - min/scale, clamped to the codes, then rounded
 *         scale = (max - min) / n   (asymmetric)        after the zero point, a scale of 0 becomes the type's epsilon
 *         q = rint(clamp(x/scale + zero))
 *     by the largest magnitude, every operation rounded to the weight's type:
 *         scale = max(-min, max) / (2^(bits-1) - 1), at least 2^-23
 *         q = rint(clamp(x/scale))
 *     Quark:
 *         scale = max(-min, max) / (n / 2) rounded to the weight's type, at least 2^-23
 *         q = clamp(rint(x * (1/scale)))
 *     GPTQ:
 *         max = max(-min, max), min = -max if it is negative        (symmetric: min stays 0 in a group without negatives)
 *         scale = (max - min) / n, zero = rint(-min/scale)
 *         q = clamp(rint(x/scale) + zero)
 *     AWQ, every operation rounded to F16, and x before:
 *         scale = max(max(x) - min(x), 1e-5) / n, zero = clamp(-rint(min(x)/scale))
 *         q = clamp(rint(x/scale) + zero)
 *     MLX:
 *         scale = max((max(x) - min(x)) / n, 1e-7), negative unless min(x) is the edge, which has the larger magnitude
 *         scale = edge / rint(edge/scale), bias = edge      unless the divisor is 0: bias = 0
 *         q = clamp(rint((x - bias) / scale))
 *
 * Sources: compressed-tensors quantization/utils/helpers.py, calculate_qparams, and lifecycle/forward_helpers.py; msmodelslim
 * ir/api/impl/int_quantization.py; quark torch/quantization/observer/observer.py, calculate_int_quant_params, and
 * torch/kernel/hw_emulation/hw_emulation_interface.py, real_quantize_int_per_channel_affine; AutoGPTQ
 * quantization/quantizer.py; AutoAWQ quantize/quantizer.py, pseudo_quantize_tensor; MLX mlx/backend/cpu/quantized.cpp.
 */
#include "kernel/encode_int.h"

#include <math.h>

#include "kernel/rounded.h"

/* Finds the lowest and highest of n values and two initial ones. */
static inline void
range(float *min, float *max, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (x[i] < *min)
            *min = x[i];
        if (x[i] > *max)
            *max = x[i];
    }
}

static inline float
clamp(float v, float low, float high)
{
    if (v > high)
        return high;
    if (v < low)
        return low;
    return v;
}

/* Clamps a whole number to the codes; 0 for NaN. */
static inline uint8_t
field(float v, float most)
{
    if (v >= most)
        return (uint8_t)most;
    if (v > 0)
        return (uint8_t)v;
    return 0;
}

static inline float
most_of(const struct int_rule *rule)
{
    return (float)((1u << rule->bits) - 1);
}

/* --- compressed-tensors */

static void
ct_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    enum dtype d = rule->dtype;
    float min = 0, max = 0, most = most_of(rule), lowest = -(float)(1u << (rule->bits - 1));

    range(&min, &max, x, n);
    g->zero = -lowest;
    if (rule->asymmetric) {
        g->scale = rounded(d, rounded(d, max - min) / most);
        float zero = clamp(rounded(d, lowest - rounded(d, min / g->scale)), lowest, -lowest - 1);
        if (isnan(zero))
            g->zero = -lowest;
        else
            g->zero = rintf(zero) - lowest;
    } else {
        g->scale = rounded(d, (-min > max ? -min : max) / (most / 2));
    }
    if (g->scale == 0)
        g->scale = rounded_epsilon(d);
}

static inline void
ct_codes_of(enum dtype d, uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g,
    const struct int_rule *rule)
{
    float most = most_of(rule), lowest = -(float)(1u << (rule->bits - 1)), zero = g->zero + lowest;

    for (size_t i = 0; i < n; i++)
        q[i] = field(rintf(clamp(rounded(d, rounded(d, x[i] / g->scale) + zero), lowest, -lowest - 1)) - lowest, most);
}

static void
ct_codes(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    switch (rule->dtype) {
    case DTYPE_BF16:
        ct_codes_of(DTYPE_BF16, q, x, n, g, rule);
        break;
    case DTYPE_F16:
        ct_codes_of(DTYPE_F16, q, x, n, g, rule);
        break;
    default:
        ct_codes_of(DTYPE_F32, q, x, n, g, rule);
    }
}

/* Decodes with one multiplication by the scale as it is stored in type `stored`. */
static inline void
times_scale(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g, enum dtype stored)
{
    float scale = rounded(stored, g->scale);

    for (size_t i = 0; i < n; i++)
        y[i] = ((float)q[i] - g->zero) * scale;
}

static void
ct_back(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    times_scale(y, q, n, g, rule->dtype);
}

const struct int_method encode_int_ct = { ct_find, ct_codes, ct_back };

/* --- by the largest magnitude */

static void
absmax_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    float min = 0, max = 0, top = (float)((1u << (rule->bits - 1)) - 1);

    range(&min, &max, x, n);
    g->scale = rounded(rule->dtype, (-min > max ? -min : max) / top);
    if (g->scale < 0x1p-23f)
        g->scale = 0x1p-23f;
    g->zero = top + 1;
}

/* Decodes with the scale in F32, which is a number of the weight's type. */
static void
absmax_back(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    (void)rule;
    times_scale(y, q, n, g, DTYPE_F32);
}

const struct int_method encode_int_absmax = { absmax_find, ct_codes, absmax_back };

/* --- Quark */

static void
quark_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    float min = 0, max = 0, most = most_of(rule);

    range(&min, &max, x, n);
    g->scale = rounded(rule->dtype, (-min > max ? -min : max) / (most / 2));
    if (g->scale < 0x1p-23f)
        g->scale = 0x1p-23f;
    g->zero = (float)(1u << (rule->bits - 1));
}

static void
quark_codes(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    float most = most_of(rule), factor = 1.0f / g->scale;

    for (size_t i = 0; i < n; i++)
        q[i] = field(rintf(x[i] * factor) + g->zero, most);
}

const struct int_method encode_int_quark = { quark_find, quark_codes, ct_back };

/* --- GPTQ */

static void
gptq_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    float min = 0, max = 0;

    range(&min, &max, x, n);
    if (!rule->asymmetric) {
        if (-min > max)
            max = -min;
        if (min < 0)
            min = -max;
    }
    if (min == 0 && max == 0) {
        min = -1;
        max = 1;
    }
    g->scale = (max - min) / most_of(rule);
    if (rule->asymmetric)
        g->zero = rintf(-min / g->scale);
    else
        g->zero = (float)(1u << (rule->bits - 1));
}

static void
gptq_codes(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g,
    const struct int_rule *rule)
{
    float most = most_of(rule);

    for (size_t i = 0; i < n; i++)
        q[i] = field(rintf(x[i] / g->scale) + g->zero, most);
}

static void
half_back(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g,
    const struct int_rule *rule)
{
    (void)rule;
    times_scale(y, q, n, g, DTYPE_F16);
}

const struct int_method encode_int_gptq = { gptq_find, gptq_codes, half_back };

/* --- AWQ */

static void
awq_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    float min = INFINITY, max = -INFINITY, most = most_of(rule), least = rounded(DTYPE_F16, 1e-5f);

    range(&min, &max, x, n);            /* rounding preserves the order */
    min = rounded(DTYPE_F16, min);
    max = rounded(DTYPE_F16, max);
    float width = rounded(DTYPE_F16, max - min);
    g->scale = rounded(DTYPE_F16, (width > least ? width : least) / most);
    g->zero = clamp(-rintf(rounded(DTYPE_F16, min / g->scale)), 0, most);
}

static void
awq_codes(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g,
    const struct int_rule *rule)
{
    float most = most_of(rule);

    for (size_t i = 0; i < n; i++) {
        float v = rounded(DTYPE_F16, rounded(DTYPE_F16, x[i]) / g->scale);

        q[i] = field(rounded(DTYPE_F16, rintf(v) + g->zero), most);
    }
}

const struct int_method encode_int_awq = { awq_find, awq_codes, half_back };

/* --- MLX */

static void
mlx_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    float min = INFINITY, max = -INFINITY;

    range(&min, &max, x, n);
    float scale = (max - min) / most_of(rule), edge = fabsf(min) > fabsf(max) ? min : max;
    scale = scale > 1e-7f ? scale : 1e-7f;
    if (!(fabsf(min) > fabsf(max)))
        scale = -scale;
    float whole = rintf(edge / scale);
    if (whole != 0) {
        g->scale = edge / whole;
        g->zero = edge;
    } else {
        g->scale = scale;
        g->zero = 0;
    }
}

static void
mlx_codes(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g,
    const struct int_rule *rule)
{
    float most = most_of(rule);

    for (size_t i = 0; i < n; i++)
        q[i] = field(rintf((x[i] - g->zero) / g->scale), most);
}

static void
mlx_back(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    enum dtype d = rule->dtype;
    float scale = rounded(d, g->scale), bias = rounded(d, g->zero);

    for (size_t i = 0; i < n; i++)
        y[i] = rounded(d, rounded(d, (float)q[i] * scale) + bias);
}

const struct int_method encode_int_mlx = { mlx_find, mlx_codes, mlx_back };

/* --- */

void
encode_int_pack(uint8_t *restrict y, const uint8_t *restrict q, size_t n, unsigned bits)
{
    for (; n != 0; n -= 8, q += 8) {
        uint64_t word = 0;

        for (unsigned i = 0; i < 8; i++)
            word |= (uint64_t)q[i] << (bits * i);
        for (unsigned i = 0; i < bits; i++)
            *y++ = (uint8_t)(word >> (8 * i));
    }
}
