/* config: what the side files of a model say about its quantization: config.json, or what stands for it. Hints, which
 * decide only what the tensors leave open. */
#ifndef SCHEME_CONFIG_H
#define SCHEME_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "catalog/catalog.h"

struct config;

/* Read the configs of a catalog, which may have none. The quantization block is the first of quantization_config,
 * quantization and compression_config at top level or in the block of the language model; a file of other tools may be
 * that block itself. Not JSON, not an object, a block twice, or a key twice in it: ERR_MALFORMED. */
bool config_new(struct config **config, const struct catalog *catalog, struct err *err);
void config_free(struct config *config);                /* takes NULL */

/* The quantization block, or NULL. */
const json_t *config_block(const struct config *config);

/* The JSON object under "quantization_config" in the metadata of the model's files, or NULL: amn-forget writes what config.json
 * would say of codes that their shapes do not tell. */
const json_t *config_metadata(const struct config *config);

/* quant_method, or NULL; "modelopt" for a block that has only its quant_algo. */
const char *config_method(const struct config *config);

/* Whether it is one of these, a list that ends with NULL. */
bool config_method_is(const struct config *config, const char *const methods[]);

/* A number of the block that is positive; 0 where it has none, or nonsense. */
uint64_t config_number(const struct config *config, const char *key);

/* What the compressed-tensors group that targets a module (a weight's name without ".weight"), by name before by class,
 * says of its weights under a key; *value is NULL when nothing is said, or groups disagree. ERR_UNSUPPORTED as in
 * scheme/modules.h. */
bool config_weights(const struct config *config, const char *module, size_t n, const char *key, const json_t **value,
    struct err *err);

/* Rows and columns that share a scale in a module: weight_block_size, or the block_structure of its group, or 1 and
 * the group_size where the strategy is "group". *known is
 * false when nothing is said, or nonsense. */
bool config_block_size(const struct config *config, const char *module, size_t n, uint64_t block[2], bool *known,
    struct err *err);

/* A size of the model, or of its language model: vocab_size, hidden_size, intermediate_size. 0 where config.json does not
 * declare it, or not as a number. */
enum config_size { CONFIG_VOCAB, CONFIG_HIDDEN, CONFIG_INTERMEDIATE, CONFIG_SIZES };
uint64_t config_size(const struct config *config, enum config_size size);

/* Whether the module is listed as not quantized. ERR_UNSUPPORTED as in scheme/modules.h. */
bool config_ignores(const struct config *config, const char *module, size_t n, bool *ignores, struct err *err);

/* What matching modules may still cost, for a scheme that has lists of its own in the block. */
struct modules_cost *config_cost(const struct config *config);

#endif
