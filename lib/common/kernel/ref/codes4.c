/* codes4: a group of several elements computes a table of the values of all codes first, then looks the codes up. */
#include "kernel/codes4.h"

#include "dtype/bfloat16.h"
#include "kernel/nan.h"

enum { CODES = 16, TABLE_PAYS = 2 * CODES };

/* Returns the code of element i, counted from the first nibble of x[0]. */
static inline unsigned
code_of(const uint8_t *x, size_t i, bool low_first)
{
    return (i % 2 == 0) == low_first ? x[i / 2] & 15 : x[i / 2] >> 4;
}

static inline float
value_of(const struct codes4 *c, size_t g, unsigned code)
{
    float value = c->zeros ? c->map[code] - c->zeros[g] : c->map[code];

    return nan_canonical(value * c->scales[g]);
}

/* Returns how many of the n elements of a run are in its first group. */
static inline size_t
in_group(size_t n, size_t first, size_t group)
{
    size_t left = group - first % group;

    return n < left ? n : left;
}

/* Decodes without a table up to a byte boundary, then a byte at a time. low_first is a constant once inlined. */
static inline void
run_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c,
    const bool low_first)
{
    size_t at = first % 2;

    for (size_t g = 0, len; n > 0; g++, first += len, n -= len) {
        float value[CODES];
        size_t stop;

        len = in_group(n, first, c->group);
        stop = at + len;
        for (; at < stop && (len < TABLE_PAYS || at % 2 != 0); at++)
            *y++ = value_of(c, g, code_of(x, at, low_first));
        for (unsigned code = 0; at < stop && code < CODES; code++)
            value[code] = value_of(c, g, code);
        for (; stop - at >= 2; at += 2, y += 2) {
            y[0] = value[code_of(x, at, low_first)];
            y[1] = value[code_of(x, at + 1, low_first)];
        }
        for (; at < stop; at++)
            *y++ = value[code_of(x, at, low_first)];
    }
}

static inline void
run_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c,
    const bool low_first)
{
    size_t at = first % 2;

    for (size_t g = 0, len; n > 0; g++, first += len, n -= len) {
        uint16_t value[CODES];
        size_t stop;

        len = in_group(n, first, c->group);
        stop = at + len;
        for (; at < stop && (len < TABLE_PAYS || at % 2 != 0); at++)
            *y++ = bfloat16_of_float(value_of(c, g, code_of(x, at, low_first)));
        for (unsigned code = 0; at < stop && code < CODES; code++)
            value[code] = bfloat16_of_float(value_of(c, g, code));
        for (; stop - at >= 2; at += 2, y += 2) {
            y[0] = value[code_of(x, at, low_first)];
            y[1] = value[code_of(x, at + 1, low_first)];
        }
        for (; at < stop; at++)
            *y++ = value[code_of(x, at, low_first)];
    }
}

void
codes4_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    if (c->low_first)
        run_f32(y, x, first, n, c, true);
    else
        run_f32(y, x, first, n, c, false);
}

void
codes4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    if (c->low_first)
        run_bf16(y, x, first, n, c, true);
    else
        run_bf16(y, x, first, n, c, false);
}

static inline float
lane_value(const struct codes4_lanes *l, size_t r, size_t c)
{
    unsigned byte = l->x[(l->first + r) / 2 * l->x_stride + c];

    return nan_canonical(l->map[(l->first + r) % 2 ? byte >> 4 : byte & 15] * l->scales[c]);
}

void
codes4_lanes_f32(float *restrict y, size_t y_stride, const struct codes4_lanes *l)
{
    for (size_t r = 0; r < l->rows; r++)
        for (size_t c = 0; c < l->cols; c++)
            y[r * y_stride + c] = lane_value(l, r, c);
}

void
codes4_lanes_bf16(uint16_t *restrict y, size_t y_stride, const struct codes4_lanes *l)
{
    for (size_t r = 0; r < l->rows; r++)
        for (size_t c = 0; c < l->cols; c++)
            y[r * y_stride + c] = bfloat16_of_float(lane_value(l, r, c));
}
