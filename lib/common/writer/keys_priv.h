/* Shared by the two sources of keys. */
#ifndef WRITER_KEYS_PRIV_H
#define WRITER_KEYS_PRIV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "writer/keys.h"

/* Returns true, and sets *why, for a key that the GGUF writer generates, or that no file may have. */
bool keys_refused(const char *key, size_t n, const char **why);

/* Adds all of given->json, a JSON object of keys and values. */
bool keys_add_file(struct keys *keys, const struct keys_given *given, struct err *err);

/* Sets the error after meta_read_*() has failed without a reason: a limit, or no memory. */
bool keys_no_room(const struct str *bytes, struct err *err);

/* --- known_keys.c */

/* Returns the type of a key, a word of writer/meta_text.h, or NULL if the key is not known or a string. */
const char *known_keys_type(const char *key, size_t n);

#endif
