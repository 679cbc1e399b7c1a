/* q_blocks: one or two binary16 factors in a block, little-endian, and codes of 1 to 8 bits.
 *
 *     Q4_0   d:f16 | qs[16]                     Q8_0   d:f16 | qs: 32 x i8
 *     Q4_1   d:f16 | m:f16 | qs[16]             Q8_1   d:f16 | s:f16 | qs: 32 x i8
 *     Q5_0   d:f16 | qh[4] | qs[16]             Q1_0   d:f16 | qs[16]
 *     Q5_1   d:f16 | m:f16 | qh[4] | qs[16]     Q2_0   d:f16 | qs[16]
 *     Q6_0   d:f16 | qh[8] | qs[16]             PQ2_0  d:f16 | qs[32]
 *
 * In the 4 and 5 bit types the first half of a block is in the low nibbles, the second in the high ones:
 *
 *     qs[j]   7 6 5 4 | 3 2 1 0            qh    bit e (from the lowest of qh[0]) is bit 4 of element e
 *              j + 16 |    j
 *
 * In the 6 bit type bits 4 and 5 of elements j and j + 16 are in byte j % 8 of qh:
 *
 *     qh[j]   7 6  | 5 4    | 3 2  | 1 0
 *             j+24 | j + 8  | j+16 |  j
 *
 * Only an infinite or NaN factor yields a NaN, so the factors are checked after each block. Source: ggml-quants.c,
 * dequantize_row_<type> (ggml has no decoder of Q8_1, an activation type); Q6_0: ik_llama.cpp; PQ2_0: PrismML's llama.cpp.
 */
#include "kernel/blocks.h"

#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "kernel/nan.h"

/* y[e] = (q - 8) * d */
void
q4_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q4_0_BYTES, y += Q4_0_ELEMS) {
        const uint8_t *qs = src + 2;
        float d = half_load(src);

        for (int j = 0; j < 16; j++) {
            y[j] = (float)((qs[j] & 15) - 8) * d;
            y[j + 16] = (float)((qs[j] >> 4) - 8) * d;
        }
        nan_canonical_by(y, Q4_0_ELEMS, src);
    }
}

/* y[e] = q * d + m, two roundings */
void
q4_1_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q4_1_BYTES, y += Q4_1_ELEMS) {
        const uint8_t *qs = src + 4;
        float d = half_load(src), m = half_load(src + 2);

        for (int j = 0; j < 16; j++) {
            y[j] = (float)(qs[j] & 15) * d + m;
            y[j + 16] = (float)(qs[j] >> 4) * d + m;
        }
        nan_canonical_by(y, Q4_1_ELEMS, src);
        nan_canonical_by(y, Q4_1_ELEMS, src + 2);
    }
}

/* Unpacks the 32 codes of 5 bits of a Q5_0 or Q5_1 block. */
static void
q5_codes(uint8_t q[restrict 32], const uint8_t *restrict qh, const uint8_t *restrict qs)
{
    uint32_t high = load_le32(qh);

    for (int j = 0; j < 16; j++) {
        q[j] = (uint8_t)((qs[j] & 15) | (high >> j & 1) << 4);
        q[j + 16] = (uint8_t)(qs[j] >> 4 | (high >> (j + 16) & 1) << 4);
    }
}

/* y[e] = (q - 16) * d */
void
q5_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q5_0_BYTES, y += Q5_0_ELEMS) {
        float d = half_load(src);
        uint8_t q[Q5_0_ELEMS];

        q5_codes(q, src + 2, src + 6);
        for (int j = 0; j < Q5_0_ELEMS; j++)
            y[j] = (float)(q[j] - 16) * d;
        nan_canonical_by(y, Q5_0_ELEMS, src);
    }
}

/* y[e] = q * d + m, two roundings */
void
q5_1_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q5_1_BYTES, y += Q5_1_ELEMS) {
        float d = half_load(src), m = half_load(src + 2);
        uint8_t q[Q5_1_ELEMS];

        q5_codes(q, src + 4, src + 8);
        for (int j = 0; j < Q5_1_ELEMS; j++)
            y[j] = (float)q[j] * d + m;
        nan_canonical_by(y, Q5_1_ELEMS, src);
        nan_canonical_by(y, Q5_1_ELEMS, src + 2);
    }
}

/* y[e] = (q - 32) * d */
void
q6_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q6_0_BYTES, y += Q6_0_ELEMS) {
        const uint8_t *qh = src + 2, *qs = src + 10;
        float d = half_load(src);

        for (int j = 0; j < 16; j++) {
            int high = qh[j % 8] >> 4 * (j / 8);

            y[j] = (float)(((qs[j] & 15) | (high & 3) << 4) - 32) * d;
            y[j + 16] = (float)((qs[j] >> 4 | (high >> 2 & 3) << 4) - 32) * d;
        }
        nan_canonical_by(y, Q6_0_ELEMS, src);
    }
}

/* y[e] = q * d, for the 32 signed bytes at qs */
static inline void
q8_block(float *restrict y, const uint8_t *restrict qs, const uint8_t *restrict factor)
{
    float d = half_load(factor);

    for (int j = 0; j < 32; j++)
        y[j] = (float)(int8_t)qs[j] * d;
    nan_canonical_by(y, 32, factor);
}

void
q8_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q8_0_BYTES, y += Q8_0_ELEMS)
        q8_block(y, src + 2, src);
}

/* s, the sum of the block for dot products, is not used. */
void
q8_1_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q8_1_BYTES, y += Q8_1_ELEMS)
        q8_block(y, src + 4, src);
}

/* Element e is bit e % 8 of byte e / 8: 1 is +d, 0 is -d. */
void
q1_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q1_0_BYTES, y += Q1_0_ELEMS) {
        const uint8_t *qs = src + 2;
        float d = half_load(src);

        for (int j = 0; j < Q1_0_ELEMS / 8; j++)
            for (int bit = 0; bit < 8; bit++)
                y[8 * j + bit] = qs[j] & 1 << bit ? d : -d;
        nan_canonical_by(y, Q1_0_ELEMS, src);
    }
}

/* Element e is bits 2 (e % 4) .. of byte e / 4: y[e] = (q - 1) * d, so -d 0 d 2d. */
static inline void
pairs(float *restrict y, const uint8_t *restrict src, int elems)
{
    const uint8_t *qs = src + 2;
    float d = half_load(src);

    for (int j = 0; j < elems / 4; j++)
        for (int k = 0; k < 4; k++)
            y[4 * j + k] = (float)((qs[j] >> 2 * k & 3) - 1) * d;
    nan_canonical_by(y, (size_t)elems, src);
}

void
q2_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q2_0_BYTES, y += Q2_0_ELEMS)
        pairs(y, src, Q2_0_ELEMS);
}

void
pq2_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += PQ2_0_BYTES, y += PQ2_0_ELEMS)
        pairs(y, src, PQ2_0_ELEMS);
}
