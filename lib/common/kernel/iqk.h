/* iqk: what the types of ik_llama.cpp share: nonuniform levels of 2 to 5 bits, each with a second table that has every level
 * plus a constant, and the places of the codes in a super-block. Inline, because the levels of a type are constants of its
 * decoder. Included by kernel/ref only, except for the levels. */
#ifndef KERNEL_IQK_H
#define KERNEL_IQK_H

#include "dtype/ggml_block.h"
#include "kernel/blocks.h"
#include "kernel/nan.h"

/* The levels of 4 bits are iq4_levels (blocks.h). */
extern const int8_t iqk_levels2[4], iqk_levels3[8], iqk_levels5[32];

/* A code of IQ2_KL is a pair of levels: the first ones, and the second ones. */
extern const int8_t iqk_pairs[2][32];

/* What the second table adds, by bits */
enum { IQK_SECOND2 = 5, IQK_SECOND3 = 4, IQK_SECOND4 = 4, IQK_SECOND5 = 2 };

/* The levels of a group. */
struct iqk_table {
    const int8_t *levels;
    int plus;
};

static inline struct iqk_table
iqk_table(const int8_t *levels, int second, bool is_second)
{
    return (struct iqk_table){ levels, is_second ? second : 0 };
}

/* Makes the NaNs of a group canonical if its factor is infinite or NaN: no finite factor yields any. */
static inline void
iqk_canonical(float *y, size_t n, float factor)
{
    if ((bits_of_float(factor) & 0x7F800000u) == 0x7F800000u)
        nan_canonical_all(y, n);
}

/* y[j] = factor * level of q[j], for n codes */
static inline void
iqk_group(float *restrict y, const uint8_t *restrict q, int n, float factor, struct iqk_table t)
{
    for (int j = 0; j < n; j++)
        y[j] = factor * (float)(t.levels[q[j]] + t.plus);
    iqk_canonical(y, (size_t)n, factor);
}

/* Returns nibble i of p, the low one of each byte first. */
static inline int
iqk_nibble(const uint8_t *p, int i)
{
    return p[i / 2] >> 4 * (i % 2) & 15;
}

/* Two bits: byte 32h + l of qs has elements 128h + l, 128h + 32 + l, 128h + 64 + l and 128h + 96 + l, lowest first. */
static inline void
iqk_low2(uint8_t q[restrict QK_K], const uint8_t *restrict qs)
{
    for (int e = 0; e < QK_K; e++)
        q[e] = qs[32 * (e / 128) + e % 32] >> 2 * (e % 128 / 32) & 3;
}

/* Four bits: byte `half` * r + l of qs has elements 2 * half * r + l and, in the high nibble, that plus half. */
static inline void
iqk_low4(uint8_t q[restrict QK_K], const uint8_t *restrict qs, int half)
{
    for (int e = 0; e < QK_K; e++)
        q[e] = qs[half * (e / (2 * half)) + e % half] >> 4 * (e % (2 * half) / half) & 15;
}

/* Adds bit r of byte l of qh as bit `at` of element 32r + l. */
static inline void
iqk_high1(uint8_t q[restrict QK_K], const uint8_t *restrict qh, int at)
{
    for (int e = 0; e < QK_K; e++)
        q[e] |= (uint8_t)((qh[e % 32] >> e / 32 & 1) << at);
}

#endif
