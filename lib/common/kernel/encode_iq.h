/* encode_iq: rows of floats to the IQ types of ggml: IQ4_NL (32 elements a block) and IQ4_XS, and on a codebook IQ2_XXS
 * IQ2_XS IQ2_S IQ3_XXS IQ3_S, and IQ1_S IQ1_M (256). kernel_encode (kernels.h) says what goes in. False:
 * elements so large, or not finite, that they are at no finite distance from any entry of the codebook, or have no
 * scale; y is then unspecified. The IQ4 types never fail. Exact bytes of ggml's C without fused operations. Where
 * that goes on with a scale that is NaN, or stops at a run of IQ1_M whose weights are all 0, this refuses, or takes
 * the run for zeros. */
#ifndef KERNEL_ENCODE_IQ_H
#define KERNEL_ENCODE_IQ_H

#include "kernel/kernels.h"

/* Make what the encoder of `dtype` searches, after kernels_pick() and before threads start; true at once for a type
 * that searches nothing, or has it already. 3 to 35 ms; kept for good, in KiB:
 *     IQ2_XXS 290    IQ2_XS 423    IQ2_S 161    IQ1_S and IQ1_M together 697    IQ3_XXS 83    IQ3_S 88
 * False: ERR_MEMORY. */
bool encode_grids_build(enum dtype dtype, struct err *err);

/* Whether ggml makes `dtype` with weights only; `importance` is then not NULL. */
bool encode_needs_importance(enum dtype dtype);

kernel_encode encode_iq4;
kernel_encode encode_iq, encode_iq1;            /* these want encode_grids_build() first */

#endif
