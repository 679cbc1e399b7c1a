/* avx2_transpose: transposes matrices of units of 1, 2, 4 and 8 bytes, a block at a time: 8 rows and 4 columns for units of 4
 * bytes, 16 and 8 for units of 2; or half the rows and twice the columns if the matrix has so few rows.
 *
 * A lane (16 bytes) holds k = 16 / unit units. A block has k columns and LANES * k rows; register i starts with row i of it,
 * and with row i + k in the next lane. A flat block has k rows; the next lane of register i has the next k columns of row i. Write the position of a unit in its lane's k x k units as the bits of register and
 * place in lane, ri ci. Unpacking registers i and i + k/2 into 2i and 2i + 1 rotates these bits by one; after as many rounds
 * as ri has bits, ri and ci have changed places, and a register is LANES * k units of one column.
 */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include <immintrin.h>

#include "base/num.h"
#include "kernel/transpose.h"

enum { LANES = 2, LANE = 16, LINE = 64 };

/* Loads 16 bytes from each of x and x + step, one lane each. */
static ALWAYS_INLINE __m256i
gather_lanes(const uint8_t *x, size_t step)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)x)),
        _mm_loadu_si128((const __m128i *)(x + step)), 1);
}

/* Interleave the units of the lower, or the upper, halves of the lanes of a and b. */
static ALWAYS_INLINE __m256i
unpack_low(__m256i a, __m256i b, const size_t unit)
{
    switch (unit) {
    case 1:
        return _mm256_unpacklo_epi8(a, b);
    case 2:
        return _mm256_unpacklo_epi16(a, b);
    case 4:
        return _mm256_unpacklo_epi32(a, b);
    default:
        return _mm256_unpacklo_epi64(a, b);
    }
}

static ALWAYS_INLINE __m256i
unpack_high(__m256i a, __m256i b, const size_t unit)
{
    switch (unit) {
    case 1:
        return _mm256_unpackhi_epi8(a, b);
    case 2:
        return _mm256_unpackhi_epi16(a, b);
    case 4:
        return _mm256_unpackhi_epi32(a, b);
    default:
        return _mm256_unpackhi_epi64(a, b);
    }
}

static ALWAYS_INLINE void
transpose_block(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, const size_t unit, const bool flat)
{
    const size_t k = LANE / unit;
    __m256i v[LANE], w[LANE];

    for (size_t i = 0; i < k; i++)
        v[i] = gather_lanes(x + i * x_stride, flat ? LANE : k * x_stride);
    for (size_t round = 1; round < k; round *= 2) {
        for (size_t i = 0; i < k / 2; i++) {
            w[2 * i] = unpack_low(v[i], v[i + k / 2], unit);
            w[2 * i + 1] = unpack_high(v[i], v[i + k / 2], unit);
        }
        for (size_t i = 0; i < k; i++)
            v[i] = w[i];
    }
    for (size_t i = 0; i < k; i++) {
        if (!flat) {
            _mm256_storeu_si256((__m256i *)(y + i * y_stride), v[i]);
            continue;
        }
        _mm_storeu_si128((__m128i *)(y + i * y_stride), _mm256_castsi256_si128(v[i]));
        _mm_storeu_si128((__m128i *)(y + (k + i) * y_stride), _mm256_extracti128_si256(v[i], 1));
    }
}

/* Works in strips of columns that are one line of x wide. The last block of rows and of columns ends at the end of the
 * matrix and overlaps units that are already written. */
static ALWAYS_INLINE void
transpose_blocks(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows, size_t cols,
    const size_t unit, const bool flat)
{
    const size_t k = LANE / unit, high = flat ? k : LANES * k, wide = flat ? LANES * k : k, strip = LINE / unit;

    for (size_t from = 0; from < cols; from += strip)
        for (size_t i = 0; i < rows; i += high)
            for (size_t j = from; j < num_min(from + strip, cols); j += wide) {
                size_t r = num_min(i, rows - high), c = num_min(j, cols - wide);

                transpose_block(y + c * y_stride + r * unit, y_stride, x + r * x_stride + c * unit, x_stride, unit, flat);
            }
}

static ALWAYS_INLINE void
transpose_units(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows, size_t cols,
    const size_t unit)
{
    const size_t k = LANE / unit;

    if (rows >= LANES * k && cols >= k)
        transpose_blocks(y, y_stride, x, x_stride, rows, cols, unit, false);
    else if (rows >= k && cols >= LANES * k)
        transpose_blocks(y, y_stride, x, x_stride, rows, cols, unit, true);
    else
        transpose(y, y_stride, x, x_stride, rows, cols, unit);
}

static void
transpose_any(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows, size_t cols,
    size_t unit)
{
    switch (unit) {
    case 1: transpose_units(y, y_stride, x, x_stride, rows, cols, 1); break;
    case 2: transpose_units(y, y_stride, x, x_stride, rows, cols, 2); break;
    case 4: transpose_units(y, y_stride, x, x_stride, rows, cols, 4); break;
    case 8: transpose_units(y, y_stride, x, x_stride, rows, cols, 8); break;
    default: transpose(y, y_stride, x, x_stride, rows, cols, unit);
    }
}

void
avx2_use_transpose(struct kernels *k)
{
    k->transpose = transpose_any;
}

#endif
