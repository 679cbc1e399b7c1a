/* known_keys: the types that llama.cpp expects of the GGUF keys it reads. */
#ifndef WRITER_KNOWN_KEYS_H
#define WRITER_KNOWN_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the type of a key, a word of writer/meta_text.h, or NULL if the key is not known or a string. */
const char *known_keys_type(const char *key, size_t n);

#endif
