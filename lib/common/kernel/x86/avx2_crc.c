/* CRC-32 by carry-less multiplication. A message is a polynomial; its remainder modulo P does not change if its first 128
 * bits A are replaced by A * x^512 mod P, added (xor) to the 128 bits that are 512 bits further on. Four such runs are
 * processed side by side; then they are folded into one another 128 bits apart, and the last 128 bits, with the remaining
 * bytes, go to zlib.
 *
 * A is two halves of 64 bits, each multiplied by a constant of 32 bits, reflected like everything here: the low half, which
 * comes first, by x^(d + 32) mod P, the high half by x^(d - 32) mod P, for a distance of d bits. Both are one bit further
 * left, because the product of two reflected numbers is one bit short. Source of the method: V. Gopal and others, Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction, 2009.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/crc.h"
#include "kernel/x86/x86_priv.h"

enum { STEP = 64 };

static ALWAYS_INLINE __m128i
fold(__m128i a, __m128i by, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(a, by, 0x00), high = _mm_clmulepi64_si128(a, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static ALWAYS_INLINE __m128i
avx2_crc_load(const uint8_t *x)
{
    return _mm_loadu_si128((const __m128i *)x);
}

static uint32_t
avx2_crc(uint32_t before, const uint8_t *x, size_t n)
{
    const __m128i by512 = _mm_set_epi64x(0x1C6E41596, 0x154442BD4), by128 = _mm_set_epi64x(0x0CCAA009E, 0x1751997D0);
    if (n < 2 * STEP)
        return crc_add(before, x, n);
    __m128i a = avx2_crc_load(x), b = avx2_crc_load(x + 16), c = avx2_crc_load(x + 32), d = avx2_crc_load(x + 48);
    a = _mm_xor_si128(a, _mm_cvtsi32_si128((int)~before));
    for (x += STEP, n -= STEP; n >= STEP; x += STEP, n -= STEP) {
        a = fold(a, by512, avx2_crc_load(x));
        b = fold(b, by512, avx2_crc_load(x + 16));
        c = fold(c, by512, avx2_crc_load(x + 32));
        d = fold(d, by512, avx2_crc_load(x + 48));
    }
    a = fold(fold(fold(a, by128, b), by128, c), by128, d);
    uint8_t last[16];
    _mm_storeu_si128((__m128i *)last, a);
    /* All bits set cancel the initial value of crc_add(), because these 16 bytes are not the start */
    return crc_add(crc_add(UINT32_MAX, last, sizeof last), x, n);
}

void
avx2_use_crc(struct kernels *k)
{
    k->crc = avx2_crc;
}

#endif
