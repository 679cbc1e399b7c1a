/* loaders: what vLLM refuses although transformers or the scheme's own tools read it. The one place for such facts; amn-forget(1)
 * has the same as a table. For this layer. */
#ifndef ENCODE_LOADERS_H
#define ENCODE_LOADERS_H

#include "encode/encode.h"

/* Returns why vLLM refuses a weight, as a text behind its name, or NULL. `group`: elements that share a scale, 0 for a row.
 * Read of vLLM 0.32: QUANT_ALGOS of quantization/modelopt.py, _is_dynamic_token_w8a8 of compressed_tensors.py, the types of
 * auto_gptq.py, and MARLIN_SUPPORTED_GROUP_SIZES of utils/marlin_utils.py. */
const char *loaders_refusal(const struct encoding *e, bool asymmetric, uint32_t group);

#endif
