/* repack: a group of n elements, with element 2i in the low nibble of byte i and 2i + 1 in the high one, becomes byte j with
 * element j in the low nibble and j + n / 2 in the high one, and back. n is 32 for MXFP4 and 16 for NVFP4. */
#include "kernel/repack.h"

#include <string.h>

#include "dtype/ggml_block.h"

/* Returns element i of a group of pairs. */
static uint8_t
pair_element(const uint8_t *p, size_t i)
{
    if (i % 2 == 0)
        return p[i / 2] & 15;
    return p[i / 2] >> 4;
}

static void
halves_of_pairs(uint8_t *y, const uint8_t *p, size_t half)
{
    for (size_t j = 0; j < half; j++)
        y[j] = (uint8_t)(pair_element(p, j) | pair_element(p, j + half) << 4);
}

/* Returns element i of a group of halves. */
static uint8_t
half_element(const uint8_t *p, size_t i, size_t half)
{
    if (i < half)
        return p[i] & 15;
    return p[i - half] >> 4;
}

static void
pairs_of_halves(uint8_t *y, const uint8_t *p, size_t half)
{
    for (size_t i = 0; i < half; i++)
        y[i] = (uint8_t)(half_element(p, 2 * i, half) | half_element(p, 2 * i + 1, half) << 4);
}

void
repack_mxfp4(uint8_t *y, const uint8_t *codes, const uint8_t *scales, size_t n)
{
    for (size_t i = 0; i < n; i++, y += MXFP4_BYTES, codes += 16) {
        y[0] = scales[i];
        halves_of_pairs(y + 1, codes, 16);
    }
}

void
repack_nvfp4(uint8_t *y, const uint8_t *codes, const uint8_t *scales, size_t n)
{
    for (size_t i = 0; i < n; i++, y += NVFP4_BYTES, scales += 4)
        for (size_t s = 0; s < 4; s++, codes += 8) {
            y[s] = scales[s] & 0x7F;
            halves_of_pairs(y + 4 + 8 * s, codes, 8);
        }
}

void
repack_mxfp4_codes(uint8_t *y, const uint8_t *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++, y += 16, blocks += MXFP4_BYTES)
        pairs_of_halves(y, blocks + 1, 16);
}

void
repack_mxfp4_scales(uint8_t *y, const uint8_t *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++, blocks += MXFP4_BYTES)
        y[i] = blocks[0];
}
