/* rope_keys: rope_parameters of config.json as keys of a GGUF file, and back. */
#ifndef FAMILY_ROPE_KEYS_H
#define FAMILY_ROPE_KEYS_H

#include <jansson.h>

#include "family/config.h"
#include "model/model.h"

/* Puts the rope keys. Fails with ERR_UNSUPPORTED for an unknown rope_type, and with ERR_MALFORMED. */
bool rope_keys_put(struct keys *keys, struct family_config *c, struct err *err);

/* Sets rope_parameters in `config`, from the keys in `keys` and, if the family generates it, from rope_freqs.weight. Fails with
 * ERR_UNSUPPORTED if these are not factors of rope_type llama3. */
bool rope_keys_back(json_t *config, const json_t *keys, const struct model_family *family, struct model *model, struct err *err);

/* Returns true for a key, without the prefix of the architecture, that rope_keys_back() copies. */
bool rope_keys_reads(const char *key);

/* Repeats rope_parameters as rope_theta and rope_scaling, the members that transformers 4 and other loaders read. */
bool rope_keys_old(json_t *config, struct err *err);

#endif
