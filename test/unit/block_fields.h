/* block_fields: offsets of the factors in each ggml block type, so that tests can set them. */
#ifndef BLOCK_FIELDS_H
#define BLOCK_FIELDS_H

#include "dtype/dtype.h"

enum { NO_FIELD = -1 };

/* Byte offsets of the binary16 factors d and m (or dmin) of a block type. */
struct block_fields {
    enum dtype dtype;
    int d, m;
};

static const struct block_fields block_fields[] = {
    { DTYPE_Q4_0, 0, NO_FIELD },        { DTYPE_Q4_1, 0, 2 },               { DTYPE_Q5_0, 0, NO_FIELD },
    { DTYPE_Q5_1, 0, 2 },               { DTYPE_Q8_0, 0, NO_FIELD },        { DTYPE_Q8_1, 0, NO_FIELD },
    { DTYPE_Q2_K, 80, 82 },             { DTYPE_Q3_K, 108, NO_FIELD },      { DTYPE_Q4_K, 0, 2 },
    { DTYPE_Q5_K, 0, 2 },               { DTYPE_Q6_K, 208, NO_FIELD },      { DTYPE_Q8_K, NO_FIELD, NO_FIELD },
    { DTYPE_IQ2_XXS, 0, NO_FIELD },     { DTYPE_IQ2_XS, 0, NO_FIELD },      { DTYPE_IQ3_XXS, 0, NO_FIELD },
    { DTYPE_IQ1_S, 0, NO_FIELD },       { DTYPE_IQ4_NL, 0, NO_FIELD },      { DTYPE_IQ3_S, 0, NO_FIELD },
    { DTYPE_IQ2_S, 0, NO_FIELD },       { DTYPE_IQ4_XS, 0, NO_FIELD },      { DTYPE_IQ1_M, 48, NO_FIELD },
    { DTYPE_TQ1_0, 52, NO_FIELD },      { DTYPE_TQ2_0, 64, NO_FIELD },      { DTYPE_MXFP4, NO_FIELD, NO_FIELD },
    { DTYPE_NVFP4, NO_FIELD, NO_FIELD }, { DTYPE_Q1_0, 0, NO_FIELD },       { DTYPE_Q2_0, 0, NO_FIELD },
    { DTYPE_Q6_0, 0, NO_FIELD },        { DTYPE_IQ2_K, 0, NO_FIELD },       { DTYPE_IQ3_K, 0, NO_FIELD },
    { DTYPE_IQ4_K, 0, NO_FIELD },       { DTYPE_IQ5_K, 0, NO_FIELD },       { DTYPE_IQ6_K, 0, NO_FIELD },
    { DTYPE_PQ2_0, 0, NO_FIELD },       { DTYPE_PTQ1_0, 26, NO_FIELD },
};

enum { BLOCK_FIELDS = sizeof block_fields / sizeof block_fields[0] };

/* Writes a binary16 at an offset of the table; IQ1_M has it in the top nibbles of four words. */
static inline void
block_put_half(enum dtype dtype, uint8_t *block, int at, uint16_t half)
{
    if (dtype == DTYPE_IQ1_M) {
        for (int w = 0; w < 4; w++)
            block[at + 2 * w + 1] = (uint8_t)((block[at + 2 * w + 1] & 15) | (half >> 4 * w & 15) << 4);
        return;
    }
    block[at] = (uint8_t)half;
    block[at + 1] = (uint8_t)(half >> 8);
}

static inline void
block_put_float(uint8_t *block, uint32_t bits)
{
    for (int i = 0; i < 4; i++)
        block[i] = (uint8_t)(bits >> 8 * i);
}

#endif
