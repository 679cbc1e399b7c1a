/* affine: codes of up to 8 bits, one a byte, with a factor and a term for each group of elements, where the library
 * computes in a type T of 16 bits (or F32).
 *
 *     term_first false    y[i] = RN_T(RN_T(x[i] * factors[g]) + terms[g])      MLX; quanto, whose term is -shift
 *     term_first true     y[i] = RN_T(RN_T(x[i] - terms[g]) * factors[g])      HQQ
 *     fused               y[i] = RN_T(v(x[i]) * factors[g] + terms[g])         SDNQ
 *
 * Elements [first, first + n) of a row; g = (first + i) / group - first / group. Each operation is one of F32, whose
 * result is then rounded to T; factors and terms are values of T. The fused one is one operation, fmaf; v(x) is x, or
 * what a map has for it, a value of T. With terms of -0 it is a product, whatever its sign.
 *
 *   y         n values of T as floats, or rounded to BF16; must not overlap the rest
 *   x         n codes, unsigned
 *
 * Cannot fail; a NaN result is the canonical one. Source: mlx/backend/cpu/quantized.cpp, affine dequantization; hqq
 * core/quantize.py, dequantize; sdnq dequantizer.py, dequantize_asymmetric. */
#ifndef KERNEL_AFFINE_H
#define KERNEL_AFFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

struct affine {
    const float *factors, *terms;       /* from the group of element `first` on */
    size_t group;                       /* elements of a group, not 0 */
    enum dtype in;                      /* T: BF16, F16 or F32 */
    bool term_first, fused;
    const float *map;                   /* of the fused one: [256], or NULL */
    bool narrow;                        /* no code is above 15: the values of a group can be a table */
};

void affine_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a);
void affine_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a);

/* The same of codes of 4 bits, two a byte, the low ones first; x is from the byte of element `first` on. */
void affine4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a);

#endif
