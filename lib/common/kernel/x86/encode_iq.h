/* encode_iq: finds the entry of a list with the smallest error, eight entries at a time. Included only by avx2_encode_iq*.c.
 *
 * The error of an entry is a sum over its digits, and a digit has few values, so the possible terms are computed first and
 * looked up. A sum has the same terms in the same order as in the scalar search, so it is bit-identical.
 */
#ifndef KERNEL_X86_ENCODE_IQ_H
#define KERNEL_X86_ENCODE_IQ_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/encode_iq_search.h"
#include "kernel/x86/x86_priv.h"

/* Looks up digit j of eight codes in a table. Digits of three levels use a table with four entries in each half. */
static ALWAYS_INLINE __m256
digit_pick(__m256 table, __m256i code, int j, const int bits)
{
    __m256i index = _mm256_srli_epi32(code, bits * j);

    if (bits == 3)
        return _mm256_permutevar8x32_ps(table, index);
    return _mm256_permutevar_ps(table, index);
}

/* Broadcasts two elements, a to the lower and b to the upper half. */
static ALWAYS_INLINE __m256
halves(const float *a, const float *b)
{
    return _mm256_set_m128(_mm_broadcast_ss(b), _mm_broadcast_ss(a));
}

/* Computes term[j], the error of each value of digit j. `levels` are scale * level. Terms of three levels are computed two
 * at a time. */
static ALWAYS_INLINE void
terms_make(__m256 *term, __m256 levels, const float *x, const float *v, const int digits)
{
    if (digits == 4)
        for (int j = 0; j < digits; j++) {
            __m256 t = _mm256_sub_ps(levels, _mm256_broadcast_ss(x + j));

            term[j] = _mm256_mul_ps(_mm256_mul_ps(_mm256_broadcast_ss(v + j), t), t);
        }
    else
        for (int j = 0; j < digits; j += 2) {
            __m256 t = _mm256_sub_ps(levels, halves(x + j, x + j + 1));
            __m256 two = _mm256_mul_ps(_mm256_mul_ps(halves(v + j, v + j + 1), t), t);

            term[j] = _mm256_permute2f128_ps(two, two, 0x00);
            term[j + 1] = _mm256_permute2f128_ps(two, two, 0x11);
        }
}

static ALWAYS_INLINE __m256
least256(__m256 v)
{
    v = _mm256_min_ps(v, _mm256_permute2f128_ps(v, v, 1));
    v = _mm256_min_ps(v, _mm256_permute_ps(v, 0x4E));
    return _mm256_min_ps(v, _mm256_permute_ps(v, 0xB1));
}

/* Finds the code with the smallest error in a list; the first one wins a tie. Returns false if no error is below FLT_MAX. */
static ALWAYS_INLINE bool
list_search(const uint16_t *lists, uint32_t where, const __m256 *term, const int digits, uint16_t *code)
{
    int bits = 3;
    if (digits == 8)
        bits = 2;
    const uint16_t *list = lists + (size_t)(where & ((1u << LIST_COUNT) - 1)) * LIST_UNIT;
    int units = (int)((where >> LIST_COUNT) + LIST_UNIT - 1) / LIST_UNIT;
    __m256 least = _mm256_set1_ps(FLT_MAX);
    __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), at = place;      /* index in the list of each lane's smallest
                                                                                 * error */

    for (int unit = 0; unit < units; unit++) {
        const void *from = list + LIST_UNIT * unit;
        __m256i eight = _mm256_cvtepu16_epi32(_mm_loadu_si128(from));
        __m256 error = digit_pick(term[0], eight, 0, bits);

        for (int j = 1; j < digits; j++)
            error = _mm256_add_ps(error, digit_pick(term[j], eight, j, bits));
        __m256 less = _mm256_cmp_ps(error, least, _CMP_LT_OQ);
        least = _mm256_blendv_ps(least, error, less);
        at = _mm256_blendv_epi8(at, place, _mm256_castps_si256(less));
        place = _mm256_add_epi32(place, _mm256_set1_epi32(LIST_UNIT));
    }

    /* Take the first place among the lanes with the smallest error, without a branch, which would be mispredicted. */
    __m256 all = least256(least);
    at = _mm256_or_si256(at, _mm256_srli_epi32(_mm256_castps_si256(_mm256_cmp_ps(least, all, _CMP_NEQ_UQ)), 16));
    __m128i places = _mm_packus_epi32(_mm256_castsi256_si128(at), _mm256_extracti128_si256(at, 1));
    *code = list[_mm_cvtsi128_si32(_mm_minpos_epu16(places)) & 0xFFFF];
    return _mm256_cvtss_f32(all) < FLT_MAX;
}

static ALWAYS_INLINE bool
nearest_of(const struct encode_grid *g, uint32_t where, const float *x, const float *w, __m256 levels, float scale,
    uint16_t *code, const int digits)
{
    __m256 term[IQ_DIGITS];

    terms_make(term, _mm256_mul_ps(_mm256_set1_ps(scale), levels), x, w, digits);
    return list_search(g->lists, where, term, digits, code);
}

/* Same as grid_nearest() for eight digits of three levels each. */
static inline bool
nearest8(const struct encode_grid *g, uint32_t where, const float *x, const float *w, const float *levels, float scale,
    uint16_t *code)
{
    __m256 l = _mm256_setr_ps(levels[0], levels[1], levels[2], 0, levels[0], levels[1], levels[2], 0);

    return nearest_of(g, where, x, w, l, scale, code, 8);
}

#endif
