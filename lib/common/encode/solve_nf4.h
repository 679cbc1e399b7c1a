/* solve_nf4: exact encodings in the 16 values of NF4 times the absmax of a block. */
#ifndef ENCODE_SOLVE_NF4_H
#define ENCODE_SOLVE_NF4_H

#include "encode/solve.h"

/* Finds absmax and codes of a block. A quantizer leaves a code of 1 or -1 in each block. */
bool solve_nf4(const struct solve_block *b, float *absmax, uint8_t *q);

#endif
