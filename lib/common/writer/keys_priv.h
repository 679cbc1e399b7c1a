/* What the two sources of keys share. */
#ifndef WRITER_KEYS_PRIV_H
#define WRITER_KEYS_PRIV_H

#include "base/str.h"
#include "writer/keys.h"

/* Whether a key is one that a writer of GGUF has to itself, or that no file may have: *why then. */
bool keys_refused(const char *key, size_t n, const char **why);

/* All of given->json: a JSON object of keys and values. */
bool keys_add_file(struct keys *keys, const struct keys_given *given, struct err *err);

/* What came of meta_read_*(): the failure, when why is NULL. */
bool keys_no_room(const struct str *bytes, struct err *err);

#endif
