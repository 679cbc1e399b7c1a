/* read: which keys of the GGUF file the family reads. */
#ifndef FAMILY_BACK_READ_H
#define FAMILY_BACK_READ_H

#include "family/scope.h"
#include "model/model.h"

/* Checks that the keys of rows exist which have no '?', in the file or among `keys`, which back_keys_of() made, for a scope of
 * members. Fails with ERR_MALFORMED, naming the key; with `allow` warns. */
bool back_read_check(struct scope *scope, const json_t *keys, struct model *model, bool allow, struct err *err);

/* Warns once about the keys of the architecture that nothing reads, except keys of towers, for a scope of keys. */
bool back_read_warn_unread(struct scope *scope, struct model *model, struct err *err);

#endif
