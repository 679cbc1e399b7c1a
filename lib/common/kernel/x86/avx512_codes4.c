/* avx512_codes4: the 16 values of a group are one register of floats or, rounded to BF16, half of one of words, which a
 * permute indexes by 16 or 32 codes. It looks at the low bits of an index only: twice the same 16 words need no mask. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx512_inline.h"
#include "kernel/x86/factors.h"

struct table {
    __m512 v;
};

static ALWAYS_INLINE struct table
table_load(const float *p)
{
    return (struct table){ _mm512_loadu_ps(p) };
}

static ALWAYS_INLINE __m512
scaled(__m512 v, __m512 zero, __m512 scale)
{
    return canonical512(_mm512_mul_ps(_mm512_sub_ps(v, zero), scale));
}

static ALWAYS_INLINE struct table
table_of(struct table map, float zero, float scale)
{
    return (struct table){ scaled(map.v, _mm512_set1_ps(zero), _mm512_set1_ps(scale)) };
}

/* The first n bits, n at most 32. */
static ALWAYS_INLINE __mmask32
first_of(size_t n)
{
    return (__mmask32)(((uint64_t)1 << n) - 1);
}

/* The bytes of n codes. */
static ALWAYS_INLINE __m128i
bytes_of(const uint8_t *x, size_t n)
{
    return _mm_maskz_loadu_epi8((__mmask16)first_of((n + 1) / 2), x);
}

/* A code at the foot of each of 32 words, above it rubbish: 64 bits get two bytes of codes, and every byte of them
 * eight bits from where its code begins. */
static ALWAYS_INLINE __m512i
codes32(__m128i bytes, const bool low_first)
{
    const __m512i from = _mm512_set1_epi64(low_first ? 0x0C0C080804040000 : 0x08080C0C00000404);

    return _mm512_multishift_epi64_epi8(from, _mm512_cvtepu16_epi64(bytes));
}

/* The same for 16 double words and the low eight bytes. */
static ALWAYS_INLINE __m512i
codes16(__m128i bytes, const bool low_first)
{
    const __m512i from = _mm512_set1_epi64(low_first ? 0x0404040400000000 : 0x0000000004040404);

    return _mm512_multishift_epi64_epi8(from, _mm512_cvtepu8_epi64(bytes));
}

static ALWAYS_INLINE void
run_words(uint16_t *restrict y, const uint8_t *restrict x, size_t n, struct table t, const bool low_first)
{
    const __m512i words = bf16_of32(t.v, t.v);

    for (; n >= 32; n -= 32, x += 16, y += 32)
        _mm512_storeu_si512(y, _mm512_permutexvar_epi16(codes32(_mm_loadu_si128((const __m128i *)x), low_first), words));
    if (n > 0)
        _mm512_mask_storeu_epi16(y, first_of(n), _mm512_permutexvar_epi16(codes32(bytes_of(x, n), low_first), words));
}

static ALWAYS_INLINE void
run_floats(float *restrict y, const uint8_t *restrict x, size_t n, struct table t, const bool low_first)
{
    for (; n >= 16; n -= 16, x += 8, y += 16)
        _mm512_storeu_ps(y, _mm512_permutexvar_ps(codes16(_mm_loadl_epi64((const __m128i *)x), low_first), t.v));
    if (n > 0)
        _mm512_mask_storeu_ps(y, (__mmask16)first_of(n),
            _mm512_permutexvar_ps(codes16(bytes_of(x, n), low_first), t.v));
}

static ALWAYS_INLINE void
run_table(char *restrict y, const enum format format, const uint8_t *restrict x, size_t n, struct table t,
    const bool low_first)
{
    if (format == TO_F32)
        run_floats((float *)y, x, n, t, low_first);
    else
        run_words((uint16_t *)y, x, n, t, low_first);
}

static ALWAYS_INLINE void
run_each(char *restrict y, const enum format format, const uint8_t *restrict x, size_t n, struct table map,
    const float *restrict zeros, const float *restrict scales, const bool low_first)
{
    for (size_t i = 0, now; i < n; i += now) {
        now = n - i < 16 ? n - i : 16;

        __mmask16 left = (__mmask16)first_of(now);
        __m512 value = _mm512_permutexvar_ps(codes16(bytes_of(x + i / 2, now), low_first), map.v);
        __m512 zero = zeros ? _mm512_maskz_loadu_ps(left, zeros + i) : _mm512_setzero_ps();

        value = scaled(value, zero, _mm512_maskz_loadu_ps(left, scales + i));
        if (format == TO_F32)
            _mm512_mask_storeu_ps((float *)y + i, left, value);
        else
            _mm512_mask_storeu_epi16((uint16_t *)y + i, left, bf16_of32(value, value));
    }
}

#include "kernel/x86/codes4.h"

void
avx512_use_codes4(struct kernels *k)
{
    codes4_use(k);
}

#endif
