/* config_text: rewrites config.json for a model that was dequantized or quantized. */
#ifndef HF_CONFIG_TEXT_H
#define HF_CONFIG_TEXT_H

#include "catalog/catalog.h"
#include "hf/quantization.h"

/* Appends the text of a config. With `plain` or `quantization`, drops the members quantization_config, quantization and
 * compression_config at the top level and in nested objects (text_config, language_config ...) at any depth, then inserts
 * those of `quantization`, which may be NULL, as the first members. All other bytes are copied unchanged. Fails with
 * ERR_MALFORMED if the text must be changed but is not a single JSON object. */
bool hf_config_text(struct str *out, const struct catalog_config *config, bool plain,
    const struct hf_quantization *quantization, struct err *err);

#endif
