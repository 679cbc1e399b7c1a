/* plain: the targets of exact transcoding that are not quantized: bf16, f16, f32. */
#ifndef ENCODE_PLAIN_H
#define ENCODE_PLAIN_H

#include "encode/encode.h"

/* Returns the type of such a target, or DTYPE_UNKNOWN. */
enum dtype encode_plain_type(const struct encoder *e);

#endif
