/* convrot: dequantizes rows of INT8 codes that were rotated by a Hadamard matrix in groups of g = 4^n columns, n from 1 to
 * 8, as ComfyUI stores them. The matrix is symmetric and its square is g times the identity, so the same rotation undoes
 * itself:
 *
 *     H4 = + + + -     H_g = H4 (x) H4 (x) ...: -1 where an odd number of base-4 digits of row and column add up to 3
 *          + + - +
 *          + - + +     S[c] = sum over i of H_g[i][c] * x[i]                i in the group of c; exact, |S| <= 2^23
 *          - + + +     y[c] = RN32(RN32(S[c] * scale) / sqrt(g))            S = 0: +0, unless the scale is not finite
 *
 * Computes elements [first, first + n) of a row:
 *
 *     y        n values; must not overlap x
 *     x        the codes of all groups that contain these elements, starting with the first such group
 *     room     scratch memory
 *
 * Cannot fail; a NaN result is the canonical one. Source: comfy-kitchen tensor/int8_utils.py, _build_hadamard, which adds
 * F32 products in an unspecified order instead of integers.
 */
#ifndef KERNEL_CONVROT_H
#define KERNEL_CONVROT_H

#include <stddef.h>
#include <stdint.h>

#include "base/num.h"

enum {
    CONVROT_MOST = 65536,       /* limit of the columns in a group */
    CONVROT_TILE = 4096         /* sums computed at a time: whole groups, or a part of one */
};

/* The sums of a tile, and the words that are added to them. Vector stores run past the end of both. */
struct convrot_room {
    int32_t sums[CONVROT_TILE + 16];
    int16_t words[CONVROT_TILE + 16];
};

void convrot_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group, float scale,
    struct convrot_room *room);
void convrot_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group, float scale,
    struct convrot_room *room);

/* --- for the implementations */

/* The tile of the next element, counted from the first code. */
struct convrot_tile {
    size_t at, len;             /* range of its sums */
    size_t skip, n;             /* sums to skip, then to use */
};

/* Returns the tile of element `at`, which counts from the first code. */
static inline struct convrot_tile
convrot_tile(size_t at, size_t n, size_t group)
{
    size_t step = (size_t)num_min(group, CONVROT_TILE);
    struct convrot_tile t = { .at = at / step * step };

    t.skip = at - t.at;
    t.len = (t.skip + n + step - 1) / step * step;
    if (t.len > CONVROT_TILE)
        t.len = CONVROT_TILE;               /* a multiple of every smaller step */
    t.n = (size_t)num_min(n, t.len - t.skip);
    return t;
}

/* Returns 1 if H_g[i][j] is -1, else 0. */
static inline int
convrot_is_minus(size_t i, size_t j)
{
    size_t differ = i ^ j;                  /* digits that add up to 3 differ in both bits */

    return __builtin_parityll(differ & differ >> 1 & 0x5555555555555555);
}

/* Returns 1 / sqrt(group), a power of two. */
static inline float
convrot_shrink(size_t group)
{
    return 1.0f / (float)((size_t)1 << __builtin_ctzll(group) / 2);
}

#endif
