/* fp8: float8 codes times scales, one tile of equal scale after the other. A code has 256 values, so a tile of
 * more elements than that makes the table of its 256 products first and looks them up; a smaller one multiplies
 * each element. */
#include "kernel/fp8.h"

#include "base/num.h"
#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "kernel/nan.h"

enum {
    CODES = 256,
    TABLE_PAYS = 2 * CODES,     /* elements of a tile */
    TILE_COLS = 16              /* narrower tiles are one row high: no walk down the lines of the matrix */
};

/* Value of each code; written by fp8_build only. */
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

/* Elements that share a scale. */
typedef void tile_fn(void *y, size_t y_stride, const struct fp8_rows *tile);

static void
tile_f32(void *to, size_t y_stride, const struct fp8_rows *t)
{
    const float *value = values_of(t->dtype);
    float product[CODES], *y = to;

    if (t->rows == 0 || t->cols < TABLE_PAYS / t->rows) {
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; c < t->cols; c++)
                y[r * y_stride + c] = nan_canonical(value[t->x[r * t->x_stride + c]] * *t->scales);
        return;
    }
    for (int code = 0; code < CODES; code++)
        product[code] = nan_canonical(value[code] * *t->scales);
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->cols; c++)
            y[r * y_stride + c] = product[t->x[r * t->x_stride + c]];
}

static void
tile_bf16(void *to, size_t y_stride, const struct fp8_rows *t)
{
    const float *value = values_of(t->dtype);
    uint16_t product[CODES], *y = to;

    if (t->rows == 0 || t->cols < TABLE_PAYS / t->rows) {
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; c < t->cols; c++)
                y[r * y_stride + c] = bfloat16_of_float(value[t->x[r * t->x_stride + c]] * *t->scales);
        return;
    }
    for (int code = 0; code < CODES; code++)
        product[code] = bfloat16_of_float(value[code] * *t->scales);
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->cols; c++)
            y[r * y_stride + c] = product[t->x[r * t->x_stride + c]];
}

/* size: bytes of an element of y. */
static void
each_tile(uint8_t *y, size_t size, size_t y_stride, const struct fp8_rows *m, tile_fn *of_tile)
{
    struct fp8_rows tile = *m;

    tile.rows = m->scale_cols < TILE_COLS ? 1 : m->rows;
    for (size_t r = 0; r < m->rows; r += tile.rows) {
        tile.scales = m->scales;
        for (size_t c = 0; c < m->cols; c += tile.cols, tile.scales++) {
            tile.x = m->x + r * m->x_stride + c;
            tile.cols = num_min(m->scale_cols, m->cols - c);
            of_tile(y + (r * y_stride + c) * size, y_stride, &tile);
        }
    }
}

void
fp8_f32(float *restrict y, size_t y_stride, const struct fp8_rows *m)
{
    each_tile((uint8_t *)y, sizeof *y, y_stride, m, tile_f32);
}

void
fp8_bf16(uint16_t *restrict y, size_t y_stride, const struct fp8_rows *m)
{
    each_tile((uint8_t *)y, sizeof *y, y_stride, m, tile_bf16);
}
