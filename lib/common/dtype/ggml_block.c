#include "dtype/ggml_block.h"

#include "base/bytes.h"

/* The multi-byte fields of a block: `count` fields of `width` bytes, the first at byte `at`. The first row of a type has its
 * scale factors, except for IQ1_M, whose factor is in the top nibbles of its scales. Byte arrays are not listed.
 * Layouts are drawn in kernel/ref. */
struct ggml_fields {
    uint16_t at;
    uint8_t width, count;
};

enum { FIELDS = 3 };

static const struct ggml_fields fields[DTYPE_COUNT][FIELDS] = {
    [DTYPE_Q4_0] = { { 0, 2, 1 } },
    [DTYPE_Q4_1] = { { 0, 2, 2 } },
    [DTYPE_Q5_0] = { { 0, 2, 1 }, { 2, 4, 1 } },
    [DTYPE_Q5_1] = { { 0, 2, 2 }, { 4, 4, 1 } },
    [DTYPE_Q8_0] = { { 0, 2, 1 } },
    [DTYPE_Q8_1] = { { 0, 2, 2 } },
    [DTYPE_Q2_K] = { { 80, 2, 2 } },
    [DTYPE_Q3_K] = { { 108, 2, 1 } },
    [DTYPE_Q4_K] = { { 0, 2, 2 } },
    [DTYPE_Q5_K] = { { 0, 2, 2 } },
    [DTYPE_Q6_K] = { { 208, 2, 1 } },
    [DTYPE_Q8_K] = { { 0, 4, 1 }, { 260, 2, 16 } },
    [DTYPE_IQ2_XXS] = { { 0, 2, 1 }, { 2, 4, 16 } },
    [DTYPE_IQ2_XS] = { { 0, 2, 1 }, { 2, 2, 32 } },
    [DTYPE_IQ3_XXS] = { { 0, 2, 1 }, { 66, 4, 8 } },
    [DTYPE_IQ1_S] = { { 0, 2, 1 }, { 34, 2, 8 } },
    [DTYPE_IQ4_NL] = { { 0, 2, 1 } },
    [DTYPE_IQ3_S] = { { 0, 2, 1 } },
    [DTYPE_IQ2_S] = { { 0, 2, 1 } },
    [DTYPE_IQ4_XS] = { { 0, 2, 1 }, { 2, 2, 1 } },
    [DTYPE_IQ1_M] = { { 48, 2, 4 } },
    [DTYPE_TQ1_0] = { { 52, 2, 1 } },
    [DTYPE_TQ2_0] = { { 64, 2, 1 } },
    [DTYPE_Q1_0] = { { 0, 2, 1 } },
    [DTYPE_Q2_0] = { { 0, 2, 1 } },
};

void
ggml_block_swap(enum dtype dtype, uint8_t *p, size_t nblocks)
{
    size_t step = dtype_facts(dtype)->bytes;
    for (; nblocks != 0; nblocks--, p += step)
        for (size_t i = 0; i < FIELDS; i++)
            bytes_swap(p + fields[dtype][i].at, fields[dtype][i].width, fields[dtype][i].count);
}

static bool
is_finite(enum dtype dtype, const uint8_t *p)
{
    const struct ggml_fields *factors = &fields[dtype][0];
    unsigned half = 0;
    if (dtype == DTYPE_IQ1_M) {
        for (int i = 0; i < 4; i++)
            half |= (unsigned)load_le16(p + factors->at + 2 * i) >> 12 << 4 * i;
        return (half & 0x7C00) != 0x7C00;
    }
    p += factors->at;
    for (unsigned i = 0; i < factors->count; i++, p += factors->width)
        if (factors->width == 4 ? (load_le32(p) & 0x7F800000u) == 0x7F800000u : (load_le16(p) & 0x7C00u) == 0x7C00u)
            return false;
    return true;
}

size_t
ggml_block_first_nonfinite(enum dtype dtype, const uint8_t *p, size_t nblocks)
{
    size_t step = dtype_facts(dtype)->bytes, i = 0;
    while (i < nblocks && is_finite(dtype, p + i * step))
        i++;
    return i;
}
