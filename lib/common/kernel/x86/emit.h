/* emit: multiplies unpacked codes by their factors and stores the results, 32 codes at a time. Included only by avx2_*.c.
 *
 * For BF16 the codes are widened to 16 bits. The even ones are then the lower halves of 32-bit lanes, the odd ones the upper
 * halves, and the rounded products return to the same halves without a shuffle.
 */
#ifndef KERNEL_X86_EMIT_H
#define KERNEL_X86_EMIT_H

#include "kernel/x86/avx2_inline.h"
#include "kernel/x86/unpack.h"

/* Dequantizes 32 codes: y = scale * q - min; [0] for codes 0..15, [1] for 16..31. */
struct block_factors {
    bool has_min;
    float scale[2], min[2];
};

static ALWAYS_INLINE __m256
product(__m256i q, float scale, float min, bool has_min, bool canonical)
{
    __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(scale));

    if (has_min)
        v = _mm256_sub_ps(v, _mm256_set1_ps(min));
    if (canonical)
        return canonical256(v);
    return v;
}

/* `canonical`: a product may be NaN. */
static ALWAYS_INLINE void
emit32(void *y, enum avx2_to format, const int8_t *q, const struct block_factors f, bool canonical)
{
    if (format == TO_F32) {
        for (int i = 0; i < 4; i++) {
            __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(q + 8 * i)));

            _mm256_storeu_ps((float *)y + 8 * i, product(wide, f.scale[i / 2], f.min[i / 2], f.has_min, canonical));
        }
        return;
    }
    for (int i = 0; i < 2; i++) {
        __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(q + 16 * i)));
        __m256i even = _mm256_srai_epi32(_mm256_slli_epi32(wide, 16), 16), odd = _mm256_srai_epi32(wide, 16);

        even = bf16_high256(product(even, f.scale[i], f.min[i], f.has_min, canonical));
        odd = bf16_high256(product(odd, f.scale[i], f.min[i], f.has_min, canonical));
        _mm256_storeu_si256((__m256i *)y + i, interleave256(even, odd));
    }
}

/* Parameters of a type for the decoder. Always a constant once inlined. */
struct block_codec {
    unpack_fn *unpack;
    int elems, bytes;           /* of a block; interleaved ones count together */
    int group;                  /* elements per scale */
    bool has_min;
};

static ALWAYS_INLINE void
emit_block(void *y, const enum avx2_to format, const struct block_unpacked *u, const struct block_codec c, const bool canonical)
{
    const size_t size = size_of(format);

    for (int e = 0; e < c.elems; e += 32) {
        int g = e / c.group, h = (e + 16) / c.group;
        struct block_factors f = { c.has_min, { u->scale[g], u->scale[h] }, { 0, 0 } };

        if (c.has_min) {
            f.min[0] = u->min[g];
            f.min[1] = u->min[h];
        }
        emit32((char *)y + (size_t)e * size, format, u->codes + e, f, canonical);
    }
}

/* Decodes nblocks blocks of one row if `at` is not NULL. */
static ALWAYS_INLINE void
decode(void *restrict y, const enum avx2_to format, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at,
    const struct block_codec c)
{
    const size_t size = size_of(format);
    struct block_unpacked u;
    char *to = y;

    u.codes = u.q;
    if (at != NULL) {
        u.row_scale = at->scale;
        u.row = at->row;
    } else {
        u.row_scale = 0;
        u.row = 0;
    }
    for (; nblocks > 0; nblocks--, src += c.bytes, to += (size_t)c.elems * size) {
        bool finite = c.unpack(&u, src);

        fetch_ahead(src, c.bytes);
        if (c.elems > c.group)
            keep_in_memory(&u);
        if (finite)
            emit_block(to, format, &u, c, false);
        else
            emit_block(to, format, &u, c, true);
    }
}

#endif
