/* fp8: rows of float8 codes times a scale for every scale_cols columns.
 *
 *     y[r * y_stride + c] = value(x[r * x_stride + c]) * scales[c / scale_cols]       r < rows, c < cols
 *
 * One F32 multiplication, then for BF16 one rounding; a NaN result is the canonical one. Strides count
 * elements, scales may be anything, scale_cols anything but 0. Elements between rows are left alone. Cannot fail.
 * Formula: DeepSeek-V3 inference/kernel.py, weight_dequant; the scale of every scheme multiplies. */
#ifndef KERNEL_FP8_H
#define KERNEL_FP8_H

#include <stddef.h>
#include <stdint.h>

/* Fill the tables of code values; before any of the others, once, before threads start. */
void fp8_build(void);

void fp8_e4m3_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols);
void fp8_e4m3_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols);
void fp8_e5m2_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols);
void fp8_e5m2_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols);
void fp8_e4m3fnuz_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols);
void fp8_e4m3fnuz_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols);
void fp8_e5m2fnuz_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols);
void fp8_e5m2fnuz_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols);

#endif
