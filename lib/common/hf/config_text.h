/* config_text: rewrites config.json for a model that was dequantized or quantized. */
#ifndef HF_CONFIG_TEXT_H
#define HF_CONFIG_TEXT_H

#include "catalog/catalog.h"
#include "hf/quantization.h"

/* Members of config.json that a job changes. Zeroed: none. */
struct hf_config_changes {
    bool untied;                /* tie_word_embeddings is false */
    uint64_t vocabulary;        /* vocab_size; 0: as before */
    const char *dtype;          /* dtype or torch_dtype where the config has them: "float32"; NULL: as before */
};

/* Sets these members in the config.json of a catalog, if it has one: at the top level and in the object of the language model, the type
 * in all objects of the top level. Fails with ERR_MALFORMED if it is not a JSON object. */
bool hf_config_apply(struct catalog *catalog, const struct hf_config_changes *changes, struct err *err);

/* Appends the text of a config. With `plain` or `quantization`, drops the members quantization_config, quantization and
 * compression_config at the top level and in nested objects (text_config, language_config ...) at any depth, then inserts
 * the members of `quantization`, which may be NULL, as the first ones. All other bytes are copied unchanged. Fails with
 * ERR_MALFORMED if the text must be changed but is not a single JSON object. */
bool hf_config_text(struct str *out, const struct catalog_config *config, bool plain,
    const struct hf_quantization *quantization, struct err *err);

#endif
