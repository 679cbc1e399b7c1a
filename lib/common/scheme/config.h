/* config: what config.json says about quantization: hints, never trusted over the tensors. */
#ifndef SCHEME_CONFIG_H
#define SCHEME_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct config;

/* Read the text of config.json; text NULL: a config that says nothing. Not JSON, not an object, or with a
 * key twice: ERR_MALFORMED. */
bool config_new(struct config **config, const char *text, size_t n, struct err *err);
void config_free(struct config *config);                /* takes NULL */

/* quant_method, or NULL. */
const char *config_method(const struct config *config);

/* weight_block_size as two positive numbers; false when absent or nonsense. */
bool config_block_size(const struct config *config, uint64_t block[2]);

/* Whether the module (a weight's name without ".weight") is listed as not quantized. */
bool config_ignores(const struct config *config, const char *module, size_t n);

#endif
