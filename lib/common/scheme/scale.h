/* scale: reads values of a tensor of scales. For the decoders of this layer. */
#ifndef SCHEME_SCALE_H
#define SCHEME_SCALE_H

#include "base/bytes.h"
#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "dtype/half.h"
#include "scheme/scheme.h"

/* Returns value i at p, exactly. Little-endian F32, BF16 or F16; any other type is a byte of E8M0. */
static inline float
scale_value(enum dtype dtype, const uint8_t *p, uint64_t i)
{
    switch (dtype) {
    case DTYPE_F32:  return float_of_bits(load_le32(p + 4 * i));
    case DTYPE_BF16: return bfloat16_to_float(load_le16(p + 2 * i));
    case DTYPE_F16:  return half_load(p + 2 * i);
    default:         return float8_e8m0(p[i]);
    }
}

/* Returns the bytes of value i of a part. */
static inline const uint8_t *
scale_bytes(const struct decoding *d, unsigned part, uint64_t i)
{
    enum dtype dtype = d->w->part[part]->dtype;
    return decoding_bytes(d, part, i * (dtype == DTYPE_F32 ? 4 : dtype == DTYPE_BF16 || dtype == DTYPE_F16 ? 2 : 1));
}

/* Reads values [i, i + n) of a part. */
static inline void
scale_read(const struct decoding *d, unsigned part, uint64_t i, size_t n, float *v)
{
    const uint8_t *p = scale_bytes(d, part, i);
    enum dtype dtype = d->w->part[part]->dtype;
    for (size_t k = 0; k < n; k++)
        v[k] = scale_value(dtype, p, k);
}

/* Returns value i of a part. */
static inline float
scale_at(const struct decoding *d, unsigned part, uint64_t i)
{
    return scale_value(d->w->part[part]->dtype, scale_bytes(d, part, i), 0);
}

/* Rounds v to F16 or BF16 for libraries that compute in these types. For any other dtype returns v. */
static inline float
scale_round(enum dtype dtype, float v)
{
    if (dtype == DTYPE_F16)
        return half_to_float(half_of_float(v));
    if (dtype == DTYPE_BF16)
        return bfloat16_to_float(bfloat16_of_float(v));
    return v;
}

#endif
