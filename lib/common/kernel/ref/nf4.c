/* nf4: a code has few values, so a block (or a long row) makes the table of its products first and looks
 * them up. */
#include "kernel/nf4.h"

#include "dtype/bfloat16.h"
#include "kernel/nan.h"

enum { NIBBLES = 16, BYTES = 256, TABLE_PAYS = 2 * BYTES };

/* The code of element i, counted from the high nibble of x[0]. */
static inline unsigned
nibble(const uint8_t *x, size_t i)
{
    return i % 2 == 0 ? x[i / 2] >> 4 : x[i / 2] & 15;
}

/* Elements of a run that are left in the block where it starts. */
static inline size_t
in_block(size_t n, size_t blocksize, size_t first)
{
    return n < blocksize - first ? n : blocksize - first;
}

void
nf4_f32(float *restrict y, const uint8_t *restrict x, size_t n, const float map[16],
    const float *restrict absmax, size_t blocksize, size_t first)
{
    size_t at = first % 2;

    for (size_t end = at + n, len; at < end; first = 0, absmax++) {
        float product[NIBBLES];

        len = in_block(end - at, blocksize, first);
        for (int c = 0; c < NIBBLES; c++)
            product[c] = nan_canonical(map[c] * *absmax);
        for (size_t stop = at + len; at < stop; at++)
            *y++ = product[nibble(x, at)];
    }
}

void
nf4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, const float map[16],
    const float *restrict absmax, size_t blocksize, size_t first)
{
    size_t at = first % 2;

    for (size_t end = at + n, len; at < end; first = 0, absmax++) {
        uint16_t product[NIBBLES];

        len = in_block(end - at, blocksize, first);
        for (int c = 0; c < NIBBLES; c++)
            product[c] = bfloat16_of_float(map[c] * *absmax);
        for (size_t stop = at + len; at < stop; at++)
            *y++ = product[nibble(x, at)];
    }
}

static inline float
int8_value(uint8_t code, float absmax)
{
    return (float)(int8_t)code * absmax * NF4_PER_127;
}

void
nf4_int8_f32(float *restrict y, const uint8_t *restrict x, size_t n, float absmax)
{
    for (size_t i = 0; i < n; i++)
        y[i] = nan_canonical(int8_value(x[i], absmax));
}

void
nf4_int8_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, float absmax)
{
    uint16_t value[BYTES];

    if (n < TABLE_PAYS) {
        for (size_t i = 0; i < n; i++)
            y[i] = bfloat16_of_float(int8_value(x[i], absmax));
        return;
    }
    for (int c = 0; c < BYTES; c++)
        value[c] = bfloat16_of_float(int8_value((uint8_t)c, absmax));
    for (size_t i = 0; i < n; i++)
        y[i] = value[x[i]];
}
