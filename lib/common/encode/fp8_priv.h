/* Private to the encoders of FP8: fp8.c and solve_fp8.c. */
#ifndef ENCODE_FP8_PRIV_H
#define ENCODE_FP8_PRIV_H

#include "encode/encode.h"

enum { FP8_BLOCK = 128, FP8_GRAIN = 32, FP8_REGION = 1 << 20 };
enum { FP8_CODES, FP8_SCALES };                 /* parts */
enum fp8_share { FP8_BLOCKS, FP8_ROWS, FP8_TENSOR };
enum fp8_rule { FP8_DIVIDED, FP8_MULTIPLIED, FP8_POWER, FP8_COMPRESSED };

struct fp8_form {
    enum dtype codes;
    enum fp8_share share;
    enum fp8_rule rule;
};

struct fp8_encoding {
    uint64_t rows, grid_rows, grid_cols;        /* of one matrix */
};

static inline const struct fp8_form *
fp8_form(const struct encoding *e)
{
    return e->encoder->numbers;
}

static inline const struct fp8_encoding *
fp8_own(const struct encoding *e)
{
    return e->own;
}

#endif
