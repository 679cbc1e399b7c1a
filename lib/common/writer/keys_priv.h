/* Shared by the two sources of keys. */
#ifndef WRITER_KEYS_PRIV_H
#define WRITER_KEYS_PRIV_H

#include "base/str.h"
#include "writer/keys.h"

/* Returns true, and sets *why, for a key that the GGUF writer generates, or that no file may have. */
bool keys_refused(const char *key, size_t n, const char **why);

/* Adds all of given->json, a JSON object of keys and values. */
bool keys_add_file(struct keys *keys, const struct keys_given *given, struct err *err);

/* Sets the error after meta_read_*() has failed without a reason: a limit, or no memory. */
bool keys_no_room(const struct str *bytes, struct err *err);

#endif
