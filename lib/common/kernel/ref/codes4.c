/* codes4: a group of several elements computes a table of the values of all codes first, then looks the codes up. */
#include "kernel/codes4.h"

#include "base/num.h"
#include "kernel/ref/put.h"

enum { CODES = 16, TABLE_PAYS = 2 * CODES };

/* Returns the code of element i, counted from the first nibble of x[0]. */
static inline unsigned
codes4_code_of(const uint8_t *x, size_t i, bool low_first)
{
    if ((i % 2 == 0) == low_first)
        return x[i / 2] & 15;
    return x[i / 2] >> 4;
}

static inline float
codes4_value_of(const struct codes4 *c, size_t g, unsigned code)
{
    float value = c->zeros ? c->map[code] - c->zeros[g] : c->map[code];

    return value * c->scales[g];
}

/* Returns how many of the n elements of a run are in its first group. */
static inline size_t
in_group(size_t n, size_t first, size_t group)
{
    size_t left = group - first % group;

    return (size_t)num_min(n, left);
}

/* Decodes without a table up to a byte boundary, then a byte at a time. The flags are constants once inlined. */
static ALWAYS_INLINE void
codes4_run(void *restrict y, const bool bf16, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c,
    const bool low_first)
{
    const size_t skip = first % 2;
    size_t at = skip;

    for (size_t g = 0, len; n > 0; g++, first += len, n -= len) {
        union { float f32[CODES]; uint16_t bf16[CODES]; } value;
        size_t stop;

        len = in_group(n, first, c->group);
        stop = at + len;
        for (; at < stop && (len < TABLE_PAYS || at % 2 != 0); at++)
            put(y, at - skip, codes4_value_of(c, g, codes4_code_of(x, at, low_first)), bf16);
        for (unsigned code = 0; at < stop && code < CODES; code++)
            put(&value, code, codes4_value_of(c, g, code), bf16);
        for (; stop - at >= 2; at += 2) {
            put_entry(y, at - skip, &value, codes4_code_of(x, at, low_first), bf16);
            put_entry(y, at + 1 - skip, &value, codes4_code_of(x, at + 1, low_first), bf16);
        }
        for (; at < stop; at++)
            put_entry(y, at - skip, &value, codes4_code_of(x, at, low_first), bf16);
    }
}

void
codes4_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    if (c->low_first)
        codes4_run(y, false, x, first, n, c, true);
    else
        codes4_run(y, false, x, first, n, c, false);
}

void
codes4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    if (c->low_first)
        codes4_run(y, true, x, first, n, c, true);
    else
        codes4_run(y, true, x, first, n, c, false);
}

static ALWAYS_INLINE void
lanes(void *restrict y, const bool bf16, size_t y_stride, const struct codes4_lanes *l)
{
    for (size_t r = 0; r < l->rows; r++)
        for (size_t c = 0; c < l->cols; c++) {
            unsigned byte = l->x[(l->first + r) / 2 * l->x_stride + c];

            put(y, r * y_stride + c, l->map[(l->first + r) % 2 ? byte >> 4 : byte & 15] * l->scales[c], bf16);
        }
}

void
codes4_lanes_f32(float *restrict y, size_t y_stride, const struct codes4_lanes *l)
{
    lanes(y, false, y_stride, l);
}

void
codes4_lanes_bf16(uint16_t *restrict y, size_t y_stride, const struct codes4_lanes *l)
{
    lanes(y, true, y_stride, l);
}
