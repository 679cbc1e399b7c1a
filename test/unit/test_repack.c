/* repack: blocks made of codes and scales have the values of the codes, and give them back. */
#include "check.h"

#include <string.h>

#include "dtype/float8.h"
#include "dtype/ggml_block.h"
#include "kernel/blocks.h"
#include "kernel/repack.h"

enum { N = 64 };

static const float values[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6 };

static uint8_t
random_byte(void)
{
    static uint32_t state = 3;
    state = state * 1664525 + 1013904223;
    return (uint8_t)(state >> 20);
}

static void
fill(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = random_byte();
}

/* Returns the value of element i: two codes in a byte, the low nibble first. */
static float
value_of(const uint8_t *codes, size_t i)
{
    return values[i % 2 == 0 ? codes[i / 2] & 15 : codes[i / 2] >> 4];
}

static void
check_mxfp4(void)
{
    uint8_t codes[N * 16], scales[N], blocks[N * MXFP4_BYTES], again[N * 16];
    static float y[N * MXFP4_ELEMS];
    fill(codes, sizeof codes);
    for (size_t i = 0; i < N; i++)
        scales[i] = (uint8_t)(100 + random_byte() % 60);
    repack_mxfp4(blocks, codes, scales, N);
    mxfp4_dequantize(y, blocks, N);
    bool same = true;
    for (size_t i = 0; i < N * MXFP4_ELEMS; i++)
        same = same && y[i] == value_of(codes, i) * 2 * mxfp4_scale(scales[i / MXFP4_ELEMS]);
    CHECK(same);
    repack_mxfp4_codes(again, blocks, N);
    CHECK(memcmp(again, codes, sizeof codes) == 0);
    repack_mxfp4_scales(again, blocks, N);
    CHECK(memcmp(again, scales, sizeof scales) == 0);
}

static void
check_nvfp4(void)
{
    uint8_t codes[N * 32], scales[N * 4], blocks[N * NVFP4_BYTES];
    static float y[N * NVFP4_ELEMS];
    fill(codes, sizeof codes);
    for (size_t i = 0; i < sizeof scales; i++)
        scales[i] = random_byte() % 0x7F;
    repack_nvfp4(blocks, codes, scales, N);
    nvfp4_dequantize(y, blocks, N);
    bool same = true;
    for (size_t i = 0; i < N * NVFP4_ELEMS; i++)
        same = same && y[i] == value_of(codes, i) * float8_to_float(DTYPE_F8_E4M3, scales[i / 16]);
    CHECK(same);
    scales[0] = 0xB8;
    repack_nvfp4(blocks, codes, scales, 1);
    CHECK(blocks[0] == 0x38);
}

int
main(void)
{
    check_mxfp4();
    check_nvfp4();
    return check_done("repack");
}
