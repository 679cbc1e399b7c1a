/* config: what the side files of a model (config.json or its substitutes) declare about its quantization. These are hints:
 * they only decide what the tensors leave open. */
#ifndef SCHEME_CONFIG_H
#define SCHEME_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "catalog/catalog.h"

struct config;
struct words;              /* words.h */

/* Reads the configs of a catalog, which may have none. The quantization block is the first of quantization_config,
 * quantization and compression_config, at the top level or in the block of the language model. Files of other tools may
 * consist of that block alone. Fails with ERR_MALFORMED if a file is not JSON or not an object, if there are two blocks, or
 * if a block repeats a key. Adds the words of all blocks to `words`. */
bool config_new(struct config **config, const struct catalog *catalog, struct words *words, struct err *err);
void config_free(struct config *config);                /* takes NULL */

/* Returns the quantization block, or NULL. */
const json_t *config_block(const struct config *config);

/* Returns the JSON object stored as "quantization_config" in the metadata of the model's files, or NULL. amn-forget writes
 * it there to describe codes whose layout does not follow from their shapes. */
const json_t *config_metadata(const struct config *config);

/* Returns quant_method, or NULL. Returns "modelopt" for a block that has only quant_algo. */
const char *config_method(const struct config *config);

/* Returns true if quant_method is in `methods`, a list terminated by NULL. */
bool config_method_is(const struct config *config, const char *const methods[]);

/* Returns a positive number of the block, or 0 if it is missing or invalid. */
uint64_t config_number(const struct config *config, const char *key);

/* Looks up `key` in the weights entry of the compressed-tensors group that targets a module (a weight's name without
 * ".weight"); a match by name takes precedence over a match by class. *value is NULL if the key is missing or groups
 * disagree. Fails with ERR_UNSUPPORTED like modules_have. */
bool config_weights(const struct config *config, const char *module, size_t n, const char *key, const json_t **value,
    struct err *err);

/* Returns the format of compressed-tensors that applies to a module: the format of its group, or else of the block; NULL if
 * none is declared. Fails like config_weights. */
bool config_format(const struct config *config, const char *module, size_t n, const char **format, struct err *err);

/* Returns AutoRound's data_type for a module: of its entry in extra_config, by name or else by the first expression that is
 * found in the name, or else of the block; NULL if none is declared. Fails with ERR_UNSUPPORTED for an expression that is not
 * supported, and like modules_have. */
bool config_data_type(const struct config *config, const char *module, size_t n, const char **word, struct err *err);

/* Returns true if the block has this word, in any case, under a key. */
bool config_says(const struct config *config, const char *key, const char *word);

/* Finds the rows and columns that share a scale in a module: weight_block_size, or the block_structure of its group, or 1
 * and group_size if the strategy is "group". *known is false if none of them is declared, or the value is invalid. */
bool config_block_size(const struct config *config, const char *module, size_t n, uint64_t block[2], bool *known,
    struct err *err);

/* Returns a size of the model or of its language model: vocab_size, hidden_size and others. Returns 0 if
 * config.json does not declare it as a number. */
enum config_size {
    CONFIG_VOCAB, CONFIG_HIDDEN, CONFIG_INTERMEDIATE, CONFIG_KV_HEADS, CONFIG_HEAD_DIM, CONFIG_V_HEAD_DIM, CONFIG_SIZES
};
uint64_t config_size(const struct config *config, enum config_size size);

/* Returns true if config.json has this model_type. */
bool config_is_model(const struct config *config, const char *model_type);

/* Sets *ignores to whether the module is listed as not quantized. Fails with ERR_UNSUPPORTED like modules_have. */
bool config_ignores(const struct config *config, const char *module, size_t n, bool *ignores, struct err *err);

/* Returns the remaining budget for matching modules, for schemes with lists of their own in the block. */
struct modules_cost *config_cost(const struct config *config);

#endif
