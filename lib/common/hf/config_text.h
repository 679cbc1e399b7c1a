/* config_text: config.json of a model that is no longer quantized, or now is. */
#ifndef HF_CONFIG_TEXT_H
#define HF_CONFIG_TEXT_H

#include "catalog/catalog.h"
#include "hf/quantization.h"

/* Appends the text of a config. `plain`, or with a quantization, without the members quantization_config, quantization and
 * compression_config, at top level and in the objects below it (text_config, language_config ...), however deep; then with
 * those of `quantization` first, which may be NULL. All other bytes stay as they are. A text that is to be changed and is not
 * one JSON object is ERR_MALFORMED. */
bool hf_config_text(struct str *out, const struct catalog_config *config, bool plain,
    const struct hf_quantization *quantization, struct err *err);

#endif
