/* ggml: encoders for the block types of ggml. A weight becomes one part with its own name, whose rows are rows of blocks.
 * The formulas are in the kernels. */
#ifndef ENCODE_GGML_H
#define ENCODE_GGML_H

#include "encode/encode.h"

/* Returns the encoder of a type, or NULL. */
const struct encoder *encode_ggml_of(enum dtype type);

#endif
