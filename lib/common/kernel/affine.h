/* affine: dequantizes codes of up to 8 bits, one a byte, with a factor and an offset ("term") for each group of elements, as
 * libraries do that compute in a type T of 16 bits (or F32).
 *
 *     term_first false    y[i] = RN_T(RN_T(x[i] * factors[g]) + terms[g])      MLX; quanto, whose term is -shift
 *     term_first true     y[i] = RN_T(RN_T(x[i] - terms[g]) * factors[g])      HQQ
 *     fused               y[i] = RN_T(v(x[i]) * factors[g] + terms[g])         SDNQ
 *
 * Computes elements [first, first + n) of a row; g = (first + i) / group - first / group. Each operation is in F32 with its
 * result rounded to T; factors and terms are values of T. The fused form is one operation, fmaf; v(x) is x or map[x], a
 * value of T. With terms of -0 it is a plain product, whatever its sign.
 *
 *     y         n values of T as floats, or rounded to BF16; must not overlap the rest
 *     x         n codes, unsigned
 *
 * Cannot fail; a NaN result is the canonical one. Sources: mlx/backend/cpu/quantized.cpp, affine dequantization; hqq
 * core/quantize.py, dequantize; sdnq dequantizer.py, dequantize_asymmetric.
 */
#ifndef KERNEL_AFFINE_H
#define KERNEL_AFFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

struct affine {
    const float *factors, *terms;       /* starting with the group of element `first` */
    size_t group;                       /* elements in a group, not 0 */
    enum dtype in;                      /* T: BF16, F16 or F32 */
    bool term_first, fused;
    const float *map;                   /* for the fused form: [256], or NULL */
    bool narrow;                        /* all codes are below 16, so a group can be a table of values */
};

void affine_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a);
void affine_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a);

/* Same for codes of 4 bits, two a byte, low nibble first; x starts with the byte of element `first`. */
void affine4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a);

#endif
