/* encode_iq: floats to the IQ types of ggml: IQ4_NL (32 elements a block), IQ4_XS, and on a codebook IQ1_S IQ1_M
 * IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S (256).
 *   y           rows * cols / <TYPE>_ELEMS * <TYPE>_BYTES bytes, any alignment; must not overlap x
 *   x           rows * cols floats; cols is a multiple of <TYPE>_ELEMS
 *   importance  cols weights, none negative, the same for every row; NULL: none
 * False: elements so large, or not finite, that they are at no finite distance from any entry of the codebook, or
 * have no scale; y is then unspecified. The IQ4 types never fail. Exact bytes of ggml's C without fused operations.
 * Where that goes on with a scale that is NaN, or stops at a run of IQ1_M whose weights are all 0, this refuses, or
 * takes the run for zeros. */
#ifndef KERNEL_ENCODE_IQ_H
#define KERNEL_ENCODE_IQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dtype/dtype.h"

/* Make what the encoder of `dtype` searches, after kernels_pick() and before threads start; true at once for a type
 * that searches nothing, or has it already. 3 to 35 ms; kept for good, in KiB:
 *     IQ2_XXS 290    IQ2_XS 423    IQ2_S 161    IQ1_S and IQ1_M together 697    IQ3_XXS 83    IQ3_S 88
 * False: ERR_MEMORY. */
bool encode_grids_build(enum dtype dtype, struct err *err);

/* Whether ggml makes `dtype` with weights only; `importance` is then not NULL. */
bool encode_needs_importance(enum dtype dtype);

bool iq4_nl_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);
bool iq4_xs_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);

/* These want encode_grids_build() first. */
bool iq1_s_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);
bool iq1_m_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);
bool iq2_xxs_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);
bool iq2_xs_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);
bool iq2_s_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);
bool iq3_xxs_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);
bool iq3_s_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);

#endif
