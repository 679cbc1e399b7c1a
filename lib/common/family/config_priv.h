/* config_priv: shared by the files of the config side. */
#ifndef FAMILY_CONFIG_PRIV_H
#define FAMILY_CONFIG_PRIV_H

#include "family/config.h"
#include "family/expr_priv.h"

/* Returns the member, or NULL if it is missing or null. */
json_t *config_get(const json_t *object, const char *name);

/* Sets a member. Always consumes the reference to `value`, which may be NULL after a failed allocation: ERR_MEMORY. */
bool config_set(json_t *object, const char *name, json_t *value, struct err *err);

/* Like config_set(), but keeps the member if it exists, even as null. */
bool config_default(json_t *object, const char *name, json_t *value, struct err *err);

/* Returns true if a value is this word. */
bool config_is(const json_t *value, const char *word);

/* Fails with ERR_MALFORMED: "config.json: NAME is not EXPECTED". */
bool config_wrong(const char *name, const char *expected, struct err *err);

/* Finds the class whose defaults apply, and applies the `default` rows, unless the class of transformers refuses the file. */
bool default_apply(struct family_config *c, struct err *err);

/* Sets c->rope_all and the scope's rope objects. rope_begin() copies rope_parameters before the defaults;
 * rope_settle() normalizes them afterwards. */
bool rope_begin(struct family_config *c, struct err *err);
bool rope_settle(struct family_config *c, struct err *err);

/* Returns false if the classes of transformers refuse these rope_parameters. */
bool rope_fits(const struct family_config *c);

/* Returns the `default` rows of the model's class. */
const struct model_family *default_family_of(const struct family_config *c);

/* Puts one value as a key, with the checks of its type. */
bool config_put(struct keys *keys, const char *prefix, const struct family_key *key, const json_t *value, const char *name,
    struct err *err);

#endif
