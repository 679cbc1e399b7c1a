/* fp8: float8 codes times scales, processed in tiles of equal scale. A code has 256 values, so a tile with more elements
 * than that computes a table of its 256 products first and looks the codes up; a smaller one multiplies each element. */
#include "kernel/fp8.h"

#include "base/num.h"
#include "dtype/float8.h"
#include "kernel/ref/put.h"

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

/* The products of all codes with a scale. */
union products {
    float f32[CODES];
    uint16_t bf16[CODES];
};

static ALWAYS_INLINE void
tile(const float value[CODES], void *restrict y, const bool bf16, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, float scale)
{
    union products product;

    if (rows == 0 || cols < TABLE_PAYS / rows) {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++)
                put(y, r * y_stride + c, value[x[r * x_stride + c]] * scale, bf16);
        return;
    }
    for (size_t code = 0; code < CODES; code++)
        put(&product, code, value[code] * scale, bf16);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            put_entry(y, r * y_stride + c, &product, x[r * x_stride + c], bf16);
}

static ALWAYS_INLINE void
decode(void *restrict y, const bool bf16, size_t y_stride, const struct fp8_rows *m)
{
    const float *value = values_of(m->dtype);
    const size_t height = m->scale_cols < TILE_COLS ? 1 : m->rows;

    for (size_t r = 0; r < m->rows; r += height)
        for (size_t c = 0, i = 0, n; c < m->cols; c += n, i++) {
            n = num_min(m->scale_cols, m->cols - c);
            tile(value, put_at(y, r * y_stride + c, bf16), bf16, y_stride, m->x + r * m->x_stride + c, m->x_stride, height, n,
                m->scales[i]);
        }
}

void
fp8_f32(float *restrict y, size_t y_stride, const struct fp8_rows *m)
{
    decode(y, false, y_stride, m);
}

void
fp8_bf16(uint16_t *restrict y, size_t y_stride, const struct fp8_rows *m)
{
    decode(y, true, y_stride, m);
}
