/* avx2_rows: eight codes a register. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"
#include "kernel/x86/factors.h"

enum { LANES = 8 };
typedef __m256 floats;

static ALWAYS_INLINE floats
codes_of(const uint8_t *x, const bool is_signed)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)x);

    return _mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
}

static ALWAYS_INLINE floats
pick(const float *map, const uint8_t *x)
{
    return _mm256_i32gather_ps(map, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)x)), 4);
}

static ALWAYS_INLINE floats
load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static ALWAYS_INLINE floats
all(float f)
{
    return _mm256_set1_ps(f);
}

static ALWAYS_INLINE floats
sub(floats a, floats b)
{
    return _mm256_sub_ps(a, b);
}

static ALWAYS_INLINE floats
mul(floats a, floats b)
{
    return _mm256_mul_ps(a, b);
}

static ALWAYS_INLINE floats
add(floats a, floats b)
{
    return _mm256_add_ps(a, b);
}

static ALWAYS_INLINE floats
mul_add(floats a, floats b, floats c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static ALWAYS_INLINE floats
canonical(floats v)
{
    return canonical256(v);
}

static ALWAYS_INLINE floats
rounded(floats v, const enum dtype in)
{
    return rounded256(v, in);
}

static ALWAYS_INLINE void
put(void *y, const enum format format, floats lo, floats hi)
{
    if (format == TO_F32) {
        _mm256_storeu_ps(y, lo);
        _mm256_storeu_ps((float *)y + LANES, hi);
    } else {
        _mm256_storeu_si256(y, concat256(bf16_high256(lo), bf16_high256(hi)));
    }
}

enum { TABLE = 32 };

struct table {
    struct words16 words;
};

static ALWAYS_INLINE struct table
table_of(const float values[16])
{
    floats low = load(values), high = load(values + LANES);

    return (struct table){ words16_rounded(_mm256_permute2f128_ps(low, high, 0x20),
        _mm256_permute2f128_ps(low, high, 0x31)) };
}

static ALWAYS_INLINE void
look_up(uint16_t *y, const struct table *t, const uint8_t *x)
{
    __m256i codes = _mm256_permute4x64_epi64(_mm256_loadu_si256((const __m256i *)x), 0xD8);

    pick32(y, &t->words, codes, _mm256_setzero_si256());
}

#include "kernel/x86/rows.h"

void
avx2_use_rows(struct kernels *k)
{
    rows_use(k);
}

#endif
