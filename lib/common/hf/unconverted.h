/* unconverted: modules of a quantized model that a job dequantized, in the lists of its config.json that name the exceptions. */
#ifndef HF_UNCONVERTED_H
#define HF_UNCONVERTED_H

#include "base/names.h"
#include "catalog/catalog.h"

/* Adds modules to the list of those that are not quantized, in every quantization_config of the config.json of a catalog:
 *
 *     modules_to_not_convert      transformers: fp8, awq, mxfp4, hqq, quanto, torchao and others
 *     llm_int8_skip_modules       bitsandbytes
 *     ignore                      compressed-tensors, ModelOpt
 *     exclude                     Quark
 *     "MODULE": false             MLX
 *
 * Sets *declared to false, and changes nothing, if there is no such config or its method has no such list (GPTQ, AQLM ...). */
bool hf_unconverted_declare(struct catalog *catalog, const struct names *modules, bool *declared, struct err *err);

#endif
