/* avx2_bits: unpacks codes to bytes.
 *
 * A stream is processed eight codes to each half of a register: a shuffle copies the two bytes that contain each code into a
 * word, a multiplication by a power of two moves the code to the top of the word, discarding the bits above it, and a shift
 * moves it down.
 */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include <immintrin.h>
#include <string.h>

#include "base/num.h"
#include "kernel/bits.h"

enum { STEP = 32 };             /* codes processed at a time */

static ALWAYS_INLINE __m256i
both(__m128i v)
{
    return _mm256_broadcastsi128_si256(v);
}

/* For eight codes of `bits`, a constant: the first of the two bytes of code j, and the factor that moves it to the top. */
#define BYTE(j) ((j) * bits / 8)
#define TWO(j) BYTE(j) | (BYTE(j) + 1) << 8
#define FACTOR(j) (short)(1 << (16 - bits - (j) * bits % 8))

/* Unpacks sixteen codes to words: eight codes at x, and eight that start `bits` bytes later. Reads 16 bytes from each place. */
static ALWAYS_INLINE __m256i
words(const uint8_t *x, const int bits)
{
    const __m256i place = both(_mm_setr_epi16(TWO(0), TWO(1), TWO(2), TWO(3), TWO(4), TWO(5), TWO(6), TWO(7)));
    const __m256i factor = both(_mm_setr_epi16(FACTOR(0), FACTOR(1), FACTOR(2), FACTOR(3), FACTOR(4), FACTOR(5), FACTOR(6),
        FACTOR(7)));
    __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)x)),
        _mm_loadu_si128((const __m128i *)(x + bits)), 1);

    return _mm256_srli_epi16(_mm256_mullo_epi16(_mm256_shuffle_epi8(v, place), factor), 16 - bits);
}

/* Returns the low bytes of 32 words, in order. */
static ALWAYS_INLINE __m256i
bytes(__m256i lo, __m256i hi)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(lo, hi), 0xD8);
}

/* Unpacks n codes of `bits`, a constant, starting at a multiple of eight. */
static ALWAYS_INLINE void
stream(uint8_t *restrict y, const uint8_t *restrict x, size_t n, const int bits)
{
    const size_t step = STEP / 8 * (size_t)bits, reach = step - (size_t)bits + 16;     /* bytes consumed, and bytes read */
    size_t left = n * (size_t)bits / 8;

    for (; n >= STEP && left >= reach; n -= STEP, x += step, left -= step, y += STEP)
        _mm256_storeu_si256((__m256i *)y, bytes(words(x, bits), words(x + 2 * bits, bits)));
    bits_stream(y, x, 0, n, (unsigned)bits);
}

/* Interleaves halves of 16 bytes, low and high nibbles alternating. */
static ALWAYS_INLINE void
stream4(uint8_t *restrict y, const uint8_t *restrict x, size_t n)
{
    const __m256i nibble = _mm256_set1_epi16(15);

    for (; n >= STEP; n -= STEP, x += STEP / 2, y += STEP) {
        __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)x));
        __m256i high = _mm256_slli_epi16(_mm256_srli_epi16(wide, 4), 8);

        _mm256_storeu_si256((__m256i *)y, _mm256_or_si256(_mm256_and_si256(wide, nibble), high));
    }
    bits_stream(y, x, 0, n, 4);
}

static void
row_stream(uint8_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, unsigned bits)
{
    size_t head = (size_t)num_min((8 - first % 8) % 8, n);

    bits_stream(y, x, first, head, bits);
    if (head == n)
        return;
    if (head)
        x += bits;
    y += head;
    n -= head;
    switch (bits) {
    case 1: stream(y, x, n, 1); break;
    case 2: stream(y, x, n, 2); break;
    case 3: stream(y, x, n, 3); break;
    case 4: stream4(y, x, n); break;
    case 5: stream(y, x, n, 5); break;
    case 6: stream(y, x, n, 6); break;
    case 7: stream(y, x, n, 7); break;
    default: memcpy(y, x, n); break;
    }
}

/* Extracts the same bits of eight units of 4 bytes. */
static ALWAYS_INLINE __m256i
lane8(const uint8_t *x, __m128i shift, __m256i mask)
{
    return _mm256_and_si256(_mm256_srl_epi32(_mm256_loadu_si256((const __m256i *)x), shift), mask);
}

static void
row_lane(uint8_t *restrict y, const uint8_t *restrict x, size_t n, size_t unit, unsigned shift, unsigned bits)
{
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    const int code = (1 << bits) - 1;
    size_t done = n / STEP * STEP;

    for (size_t i = 0; i < done && unit == 1; i += STEP) {
        __m256i v = _mm256_srl_epi16(_mm256_loadu_si256((const __m256i *)(x + i)), by);

        _mm256_storeu_si256((__m256i *)(y + i), _mm256_and_si256(v, _mm256_set1_epi8((char)code)));
    }
    for (size_t i = 0; i < done && unit != 1; i += STEP) {
        const __m256i mask = _mm256_set1_epi32(code), order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        const uint8_t *p = x + 4 * i;
        __m256i lo = _mm256_packus_epi32(lane8(p, by, mask), lane8(p + 32, by, mask));
        __m256i hi = _mm256_packus_epi32(lane8(p + 64, by, mask), lane8(p + 96, by, mask));

        _mm256_storeu_si256((__m256i *)(y + i), _mm256_permutevar8x32_epi32(_mm256_packus_epi16(lo, hi), order));
    }
    bits_lane(y + done, x + done * unit, n - done, unit, shift, bits);
}

/* Unpacks blocks of 16 bytes, one in each half of a register. */
static void
row_blocks(uint8_t *restrict y, const uint8_t *restrict x, size_t nblocks, unsigned bits)
{
    const __m256i code = _mm256_set1_epi16((short)((1 << bits) - 1));
    size_t done = nblocks & ~(size_t)1;

    for (size_t i = 0; i < done; i += 2, x += 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)x);
        __m256i a = _mm256_packus_epi16(_mm256_and_si256(v, code), _mm256_and_si256(_mm256_srl_epi16(v,
            _mm_cvtsi32_si128((int)bits)), code));

        if (bits == 8) {
            _mm256_storeu_si256((__m256i *)y, a);
            y += 32;
        } else {
            __m256i b = _mm256_packus_epi16(_mm256_and_si256(_mm256_srli_epi16(v, 8), code), _mm256_srli_epi16(v, 12));

            _mm256_storeu_si256((__m256i *)y, _mm256_permute2x128_si256(a, b, 0x20));
            _mm256_storeu_si256((__m256i *)(y + 32), _mm256_permute2x128_si256(a, b, 0x31));
            y += 64;
        }
    }
    bits_blocks(y, x, nblocks - done, bits);
}

static void
row_table(uint8_t *restrict y, const uint8_t *restrict x, size_t n, const uint8_t table[16])
{
    const __m128i to = _mm_loadu_si128((const __m128i *)table), low = _mm_set1_epi8(15);
    size_t done = n / STEP * STEP;

    for (size_t i = 0; i < done; i += STEP) {
        __m128i v = _mm_loadu_si128((const __m128i *)(x + i / 2));
        __m128i a = _mm_and_si128(v, low), b = _mm_and_si128(_mm_srli_epi16(v, 4), low);

        _mm_storeu_si128((__m128i *)(y + i), _mm_shuffle_epi8(to, _mm_unpacklo_epi8(a, b)));
        _mm_storeu_si128((__m128i *)(y + i + 16), _mm_shuffle_epi8(to, _mm_unpackhi_epi8(a, b)));
    }
    bits_table(y + done, x + done / 2, n - done, table);
}

/* A bit for each code below 8 in one byte, for each of the others in another. */
static void
row_found(uint16_t *restrict found, const uint8_t *restrict x, size_t nblocks, size_t block)
{
    const __m128i below = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i above = _mm_slli_si128(below, 8), low = _mm_set1_epi8(15);

    for (size_t i = 0; i < nblocks; i++) {
        __m128i lo = _mm_setzero_si128(), hi = lo;

        for (size_t j = 0; j < block; j += STEP, x += STEP / 2) {
            __m128i v = _mm_loadu_si128((const __m128i *)x);
            __m128i a = _mm_and_si128(v, low), b = _mm_and_si128(_mm_srli_epi16(v, 4), low);

            lo = _mm_or_si128(lo, _mm_or_si128(_mm_shuffle_epi8(below, a), _mm_shuffle_epi8(below, b)));
            hi = _mm_or_si128(hi, _mm_or_si128(_mm_shuffle_epi8(above, a), _mm_shuffle_epi8(above, b)));
        }
        __m128i all = _mm_or_si128(_mm_unpacklo_epi8(lo, hi), _mm_unpackhi_epi8(lo, hi));

        all = _mm_or_si128(all, _mm_srli_si128(all, 8));
        all = _mm_or_si128(all, _mm_srli_si128(all, 4));
        all = _mm_or_si128(all, _mm_srli_si128(all, 2));
        found[i] = (uint16_t)_mm_cvtsi128_si32(all);
    }
}

void
avx2_use_bits(struct kernels *k)
{
    k->bits_found = row_found;
    k->bits_stream = row_stream;
    k->bits_lane = row_lane;
    k->bits_blocks = row_blocks;
    k->bits_table = row_table;
}

#endif
