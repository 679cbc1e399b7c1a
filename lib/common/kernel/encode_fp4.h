/* encode_fp4: quantizes rows of floats to MXFP4 and NVFP4. Arguments are described at kernel_encode (kernels.h); importance
 * is ignored. Cannot fail. Byte-identical to ggml's C on x86-64. */
#ifndef KERNEL_ENCODE_FP4_H
#define KERNEL_ENCODE_FP4_H

#include "kernel/kernels.h"

kernel_encode encode_mxfp4, encode_nvfp4;

/* Returns the scale byte of a block with this largest magnitude. */
uint8_t mxfp4_exponent(float absmax);
uint8_t nvfp4_scale_code(float absmax);

#endif
