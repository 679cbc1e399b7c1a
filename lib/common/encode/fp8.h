/* fp8: weights of E4M3 or E5M2 codes with a scale for each block of 128 x 128, each row, or the tensor. */
#ifndef ENCODE_FP8_H
#define ENCODE_FP8_H

#include "encode/encode.h"

extern const struct encoder encode_fp8[];       /* ends with a row without a name */

#endif
