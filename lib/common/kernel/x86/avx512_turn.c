/* avx512_turn: blocks of 16 rows and 4 columns for units of 4 bytes, 32 and 8 for 2; every store is one line. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include <immintrin.h>

enum { LANES = 4 };
typedef __m512i vec;

static ALWAYS_INLINE __m128i
lane(const uint8_t *x)
{
    return _mm_loadu_si128((const __m128i *)x);
}

static ALWAYS_INLINE __m512i
gather_lanes(const uint8_t *x, size_t step)
{
    __m512i v = _mm512_inserti32x4(_mm512_castsi128_si512(lane(x)), lane(x + step), 1);

    return _mm512_inserti32x4(_mm512_inserti32x4(v, lane(x + 2 * step), 2), lane(x + 3 * step), 3);
}

static ALWAYS_INLINE void
put_vec(uint8_t *y, __m512i v)
{
    _mm512_storeu_si512(y, v);
}

static ALWAYS_INLINE __m512i
unpack_low(__m512i a, __m512i b, const size_t unit)
{
    return unit == 1 ? _mm512_unpacklo_epi8(a, b) : unit == 2 ? _mm512_unpacklo_epi16(a, b)
        : unit == 4 ? _mm512_unpacklo_epi32(a, b) : _mm512_unpacklo_epi64(a, b);
}

static ALWAYS_INLINE __m512i
unpack_high(__m512i a, __m512i b, const size_t unit)
{
    return unit == 1 ? _mm512_unpackhi_epi8(a, b) : unit == 2 ? _mm512_unpackhi_epi16(a, b)
        : unit == 4 ? _mm512_unpackhi_epi32(a, b) : _mm512_unpackhi_epi64(a, b);
}

#include "kernel/x86/turn.h"

void
avx512_use_turn(struct kernels *k)
{
    k->turn = turn_any;
}

#endif
