/* avx2_turn: blocks of 8 rows and 4 columns for units of 4 bytes, 16 and 8 for 2. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include <immintrin.h>

enum { LANES = 2 };
typedef __m256i vec;

static ALWAYS_INLINE __m256i
gather_lanes(const uint8_t *x, size_t step)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)x)),
        _mm_loadu_si128((const __m128i *)(x + step)), 1);
}

static ALWAYS_INLINE void
put_vec(uint8_t *y, __m256i v)
{
    _mm256_storeu_si256((__m256i *)y, v);
}

static ALWAYS_INLINE __m256i
unpack_low(__m256i a, __m256i b, const size_t unit)
{
    return unit == 1 ? _mm256_unpacklo_epi8(a, b) : unit == 2 ? _mm256_unpacklo_epi16(a, b)
        : unit == 4 ? _mm256_unpacklo_epi32(a, b) : _mm256_unpacklo_epi64(a, b);
}

static ALWAYS_INLINE __m256i
unpack_high(__m256i a, __m256i b, const size_t unit)
{
    return unit == 1 ? _mm256_unpackhi_epi8(a, b) : unit == 2 ? _mm256_unpackhi_epi16(a, b)
        : unit == 4 ? _mm256_unpackhi_epi32(a, b) : _mm256_unpackhi_epi64(a, b);
}

#include "kernel/x86/turn.h"

void
avx2_use_turn(struct kernels *k)
{
    k->turn = turn_any;
}

#endif
