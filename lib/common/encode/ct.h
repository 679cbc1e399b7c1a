/* ct: config.json of compressed-tensors. For the files of this layer. */
#ifndef ENCODE_CT_H
#define ENCODE_CT_H

#include "encode/encode.h"

/* quantization_config: `weights` and `inputs` are the members of these objects, or NULL. */
void ct_config(struct str *out, const char *format, const char *weights, const char *inputs);

extern const struct encoder encode_ct[];

#endif
