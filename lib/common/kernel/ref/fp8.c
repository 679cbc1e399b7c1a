/* fp8: float8 codes times scales, processed in tiles of equal scale. A code has 256 values, so a tile with more elements
 * than that computes a table of its 256 products first and looks the codes up; a smaller one multiplies each element. */
#include "kernel/fp8.h"

#include "base/num.h"
#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "kernel/nan.h"

enum {
    CODES = 256,
    TABLE_PAYS = 2 * CODES,     /* elements in a tile */
    TILE_COLS = 16              /* narrower tiles have one row, to avoid walking down the columns of the matrix */
};

/* Value of each code; written only by fp8_build(). */
static float e4m3[CODES], e5m2[CODES], e4m3fnuz[CODES], e5m2fnuz[CODES];

void
fp8_build(void)
{
    for (int c = 0; c < CODES; c++) {
        e4m3[c] = float8_to_float(DTYPE_F8_E4M3, (uint8_t)c);
        e5m2[c] = float8_to_float(DTYPE_F8_E5M2, (uint8_t)c);
        e4m3fnuz[c] = float8_to_float(DTYPE_F8_E4M3FNUZ, (uint8_t)c);
        e5m2fnuz[c] = float8_to_float(DTYPE_F8_E5M2FNUZ, (uint8_t)c);
    }
}

static const float *
values_of(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F8_E4M3:     return e4m3;
    case DTYPE_F8_E5M2:     return e5m2;
    case DTYPE_F8_E4M3FNUZ: return e4m3fnuz;
    default:                return e5m2fnuz;
    }
}

static void
tile_f32(const float value[CODES], float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, float scale)
{
    float product[CODES];

    if (rows == 0 || cols < TABLE_PAYS / rows) {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++)
                y[r * y_stride + c] = nan_canonical(value[x[r * x_stride + c]] * scale);
        return;
    }
    for (int code = 0; code < CODES; code++)
        product[code] = nan_canonical(value[code] * scale);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            y[r * y_stride + c] = product[x[r * x_stride + c]];
}

static void
rows_f32(const float value[CODES], float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols)
{
    const size_t height = scale_cols < TILE_COLS ? 1 : rows;

    for (size_t r = 0; r < rows; r += height)
        for (size_t c = 0, i = 0, n; c < cols; c += n, i++) {
            n = num_min(scale_cols, cols - c);
            tile_f32(value, y + r * y_stride + c, y_stride, x + r * x_stride + c, x_stride, height, n, scales[i]);
        }
}

static void
tile_bf16(const float value[CODES], uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x,
    size_t x_stride, size_t rows, size_t cols, float scale)
{
    uint16_t product[CODES];

    if (rows == 0 || cols < TABLE_PAYS / rows) {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++)
                y[r * y_stride + c] = bfloat16_of_float(value[x[r * x_stride + c]] * scale);
        return;
    }
    for (int code = 0; code < CODES; code++)
        product[code] = bfloat16_of_float(value[code] * scale);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            y[r * y_stride + c] = product[x[r * x_stride + c]];
}

static void
rows_bf16(const float value[CODES], uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x,
    size_t x_stride, size_t rows, size_t cols, const float *restrict scales, size_t scale_cols)
{
    const size_t height = scale_cols < TILE_COLS ? 1 : rows;

    for (size_t r = 0; r < rows; r += height)
        for (size_t c = 0, i = 0, n; c < cols; c += n, i++) {
            n = num_min(scale_cols, cols - c);
            tile_bf16(value, y + r * y_stride + c, y_stride, x + r * x_stride + c, x_stride, height, n, scales[i]);
        }
}

void
fp8_f32(float *restrict y, size_t y_stride, const struct fp8_rows *m)
{
    rows_f32(values_of(m->dtype), y, y_stride, m->x, m->x_stride, m->rows, m->cols, m->scales, m->scale_cols);
}

void
fp8_bf16(uint16_t *restrict y, size_t y_stride, const struct fp8_rows *m)
{
    rows_bf16(values_of(m->dtype), y, y_stride, m->x, m->x_stride, m->rows, m->cols, m->scales, m->scale_cols);
}
