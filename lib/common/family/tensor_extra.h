/* tensor_extra: GGUF keys about NVFP4 tensors whose activations are not quantized. */
#ifndef FAMILY_TENSOR_EXTRA_H
#define FAMILY_TENSOR_EXTRA_H

#include "plan/choice.h"
#include "writer/keys.h"

/* Puts general.tensor_extra.name and general.tensor_extra.prec_a4 for the kept NVFP4 blocks of a choice that the quantization
 * config in the catalog declares as W4A16_NVFP4, if any. Fails with ERR_MALFORMED for an invalid config. */
bool tensor_extra_keys(struct keys *keys, const struct choice *choice, const struct catalog *catalog, struct err *err);

#endif
