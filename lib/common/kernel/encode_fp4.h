/* encode_fp4: rows of floats to MXFP4 and NVFP4. kernel_encode (kernels.h) says what goes in; importance does not
 * matter. Cannot fail; the bytes of ggml's C on x86-64. */
#ifndef KERNEL_ENCODE_FP4_H
#define KERNEL_ENCODE_FP4_H

#include "kernel/kernels.h"

kernel_encode encode_mxfp4, encode_nvfp4;

/* The scale byte of a block of this largest magnitude. */
uint8_t mxfp4_exponent(float absmax);
uint8_t nvfp4_scale_code(float absmax);

#endif
