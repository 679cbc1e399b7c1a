/* int8_row: a long row computes a table of its products first and looks the codes up. */
#include "kernel/int8_row.h"

#include "dtype/bfloat16.h"
#include "kernel/nan.h"

enum { CODES = 256, TABLE_PAYS = 2 * CODES };

static inline float
int8_row_value_of(uint8_t code, float absmax)
{
    return (float)(int8_t)code * absmax * INT8_ROW_PER_127;
}

void
int8_row_f32(float *restrict y, const uint8_t *restrict x, size_t n, float absmax)
{
    for (size_t i = 0; i < n; i++)
        y[i] = nan_canonical(int8_row_value_of(x[i], absmax));
}

void
int8_row_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, float absmax)
{
    uint16_t value[CODES];

    if (n < TABLE_PAYS) {
        for (size_t i = 0; i < n; i++)
            y[i] = bfloat16_of_float(int8_row_value_of(x[i], absmax));
        return;
    }
    for (int c = 0; c < CODES; c++)
        value[c] = bfloat16_of_float(int8_row_value_of((uint8_t)c, absmax));
    for (size_t i = 0; i < n; i++)
        y[i] = value[x[i]];
}
