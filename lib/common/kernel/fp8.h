/* fp8: dequantizes rows of float8 codes with a scale for every scale_cols columns.
 *
 *     y[r * y_stride + c] = value(x[r * x_stride + c]) * scales[c / scale_cols]       r < rows, c < cols
 *
 * One F32 multiplication, then for BF16 one rounding; a NaN result is the canonical one. Strides count elements, scales may
 * have any value, scale_cols any but 0. Elements between rows are not written. Cannot fail. Formula: DeepSeek-V3
 * inference/kernel.py, weight_dequant; every scheme multiplies by its scale.
 */
#ifndef KERNEL_FP8_H
#define KERNEL_FP8_H

#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

struct fp8_rows {
    enum dtype dtype;               /* E4M3, E5M2 or their FNUZ forms */
    size_t rows, cols;
    const uint8_t *x;
    size_t x_stride;                /* ignored if there is one row */
    const float *scales;            /* the last scale of a row may have fewer columns */
    size_t scale_cols;
};

/* Fills the tables of code values. Must be called once, before the other functions and before threads start. */
void fp8_build(void);

void fp8_f32(float *restrict y, size_t y_stride, const struct fp8_rows *m);
void fp8_bf16(uint16_t *restrict y, size_t y_stride, const struct fp8_rows *m);

#endif
