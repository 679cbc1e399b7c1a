/* ggml: the block types of ggml as encoders: one part, which has the weight's own name, of blocks of each row. The formulas
 * are kernels. */
#ifndef ENCODE_GGML_H
#define ENCODE_GGML_H

#include "encode/encode.h"

extern const struct encoder encode_ggml[];      /* ends with a row without a name */

/* The encoder of a type, or NULL. */
const struct encoder *encode_ggml_of(enum dtype type);

#endif
