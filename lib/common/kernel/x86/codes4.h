/* codes4: rows of 4-bit codes, group by group. avx2_codes4.c and avx512_codes4.c include this after saying how codes
 * are looked up, with `format` and `low_first` constants:
 *
 *     struct table                                16 floats, in registers
 *     table_load(p)                               from memory
 *     table_of(map, zero, scale)                  (map - zero) * scale, no NaN but the canonical one
 *     run_table(y, format, x, n, t, low_first)    n codes from the first nibble of x[0] on, values as they are in t
 *     run_each(y, format, x, n, map, zeros, scales, low_first)    a zero (NULL: none) and a scale for every element
 */
#ifndef KERNEL_X86_CODES4_H
#define KERNEL_X86_CODES4_H

#include "kernel/codes4.h"
#include "kernel/kernels.h"

/* A run that begins in the middle of a byte: its first code alone, as the first nibble of a byte. */
static ALWAYS_INLINE uint8_t
second_nibble(uint8_t byte, bool low_first)
{
    return (uint8_t)(low_first ? byte >> 4 : byte << 4);
}

/* The values of group g. `own`: what it is made of. */
typedef struct table group_table(struct table map, const void *own, size_t g);

static ALWAYS_INLINE struct table
codes4_table(struct table map, const void *own, size_t g)
{
    const struct codes4 *c = own;

    return table_of(map, c->zeros ? c->zeros[g] : 0, c->scales[g]);
}

static ALWAYS_INLINE void
groups(char *restrict y, const enum format format, const uint8_t *restrict x, size_t first, size_t n, size_t group,
    const float *numbers, group_table *table, const void *own, const bool low_first)
{
    const struct table map = table_load(numbers);
    size_t at = first % 2;                          /* nibbles gone of x */
    size_t len = group - first % group;             /* elements of the group */

    for (size_t g = 0; n > 0; g++, n -= len, len = group) {
        struct table t = table(map, own, g);
        size_t odd = at % 2, even;

        if (len > n)
            len = n;
        even = len - odd;
        if (odd) {
            uint8_t alone = second_nibble(x[at / 2], low_first);

            run_table(y, format, &alone, 1, t, low_first);
        }
        run_table(y + odd * size_of(format), format, x + (at + odd) / 2, even, t, low_first);
        y += len * size_of(format);
        at += len;
    }
}

static ALWAYS_INLINE void
singles(char *restrict y, const enum format format, const uint8_t *restrict x, size_t first, size_t n,
    const struct codes4 *c, const bool low_first)
{
    const struct table map = table_load(c->map);
    size_t odd = first % 2 < n ? first % 2 : n;

    if (odd) {
        uint8_t alone = second_nibble(x[0], low_first);

        run_each(y, format, &alone, 1, map, c->zeros, c->scales, low_first);
    }
    run_each(y + odd * size_of(format), format, x + odd, n - odd, map, c->zeros ? c->zeros + odd : NULL,
        c->scales + odd, low_first);
}

static ALWAYS_INLINE void
row(void *restrict y, const enum format format, const uint8_t *restrict x, size_t first, size_t n,
    const struct codes4 *c)
{
    if (c->group == 1 && c->low_first)
        singles(y, format, x, first, n, c, true);
    else if (c->group == 1)
        singles(y, format, x, first, n, c, false);
    else if (c->low_first)
        groups(y, format, x, first, n, c->group, c->map, codes4_table, c, true);
    else
        groups(y, format, x, first, n, c->group, c->map, codes4_table, c, false);
}

static void
row_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    row(y, TO_F32, x, first, n, c);
}

static void
row_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    row(y, TO_BF16, x, first, n, c);
}

static void
codes4_use(struct kernels *k)
{
    k->codes4_f32 = row_f32;
    k->codes4_bf16 = row_bf16;
}

#endif
