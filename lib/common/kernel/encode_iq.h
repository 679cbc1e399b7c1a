/* encode_iq: quantizes rows of floats to the IQ types of ggml: IQ4_NL (32 elements in a block) and IQ4_XS, and with
 * codebooks IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S, and IQ1_S IQ1_M (256). Arguments are described at kernel_encode (kernels.h).
 *
 * Returns false if elements are so large, or not finite, that no entry of the codebook is at a finite distance, or that
 * there is no scale; y is then unspecified. The IQ4 types never fail. Byte-identical to ggml's C without fused operations,
 * except that ggml continues with a scale that is NaN, which is refused here, and aborts at a run of IQ1_M whose weights are
 * all 0, which is encoded as zeros here.
 */
#ifndef KERNEL_ENCODE_IQ_H
#define KERNEL_ENCODE_IQ_H

#include "kernel/kernels.h"

/* Builds the tables that the encoder of `dtype` searches, after kernels_pick() and before threads start. Returns true at
 * once if the type has no tables or they exist. Takes 3 to 35 ms. The tables are never freed; their sizes in KiB:
 *
 *     IQ2_XXS 290    IQ2_XS 423    IQ2_S 161    IQ1_S and IQ1_M together 697    IQ3_XXS 83    IQ3_S 88
 *
 * Fails with ERR_MEMORY.
 */
bool encode_grids_build(enum dtype dtype, struct err *err);

/* Returns true if ggml encodes `dtype` only with an importance matrix; `importance` must then not be NULL. */
bool encode_needs_importance(enum dtype dtype);

kernel_encode encode_iq4;
kernel_encode encode_iq, encode_iq1;            /* require encode_grids_build() */

#endif
