/* keys: the values of GGUF keys as JSON, for the expressions of a family. */
#ifndef FAMILY_BACK_KEYS_H
#define FAMILY_BACK_KEYS_H

#include <jansson.h>

#include "catalog/catalog.h"
#include "family/scope.h"

enum { BACK_ARRAY_MAX = 1 << 16 };      /* elements of an array that an expression can use, such as one per layer */

/* Sets *keys to an object with all keys of the catalog, except arrays that are longer or nested, and texts that are not UTF-8.
 * An F32 becomes the double of its shortest decimal. The caller frees it, also after a failure. */
bool back_keys(json_t **keys, const struct catalog *catalog, struct err *err);

/* Returns true for a key of a tower, by its name without the architecture. */
bool back_keys_is_of_tower(const char *name);

/* Sets *keys to a copy of the keys of a file as scope->family names them: with the prefix of its architecture, without keys of
 * towers, and with the values of `fallback`. Sets scope->keys, too. The caller frees it, also after a failure. */
bool back_keys_of(json_t **keys, const json_t *stored, struct scope *scope, struct err *err);

/* Sets a member; consumes the reference, which may be NULL after a failed allocation. A name with dots sets a member of nested
 * objects, which are made as needed. */
bool back_set(json_t *object, const char *path, json_t *value, struct err *err);

#endif
