/* What the two sources of keys share. */
#ifndef WRITER_KEYS_PRIV_H
#define WRITER_KEYS_PRIV_H

#include "base/str.h"
#include "writer/keys.h"

/* Put a value under a key, in the place of one that is there. Both are borrowed. */
bool keys_set(struct keys *keys, const char *key, size_t n, const struct meta_value *value, struct err *err);

/* Keep what was made for a value: *s is empty afterwards. */
bool keys_own(struct keys *keys, struct str *s, struct err *err);

/* Whether a key is one that a writer of GGUF has to itself, or that no file may have: *why then. */
bool keys_refused(const char *key, size_t n, const char **why);

/* All of given->json: a JSON object of keys and values. */
bool keys_add_file(struct keys *keys, const struct keys_given *given, struct err *err);

/* What came of meta_read_*(): the failure, when why is NULL. */
bool keys_no_room(const struct str *bytes, struct err *err);

#endif
