/* json_facts: numbers and texts at the top of a small JSON object. */
#ifndef CONTAINER_SHARDED_JSON_FACTS_H
#define CONTAINER_SHARDED_JSON_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets *value to the integer under a key of the object text[0..n). Returns false if there is none. */
bool json_facts_number(uint64_t *value, const char *text, size_t n, const char *key);

/* Returns true if the object has this text under a key. */
bool json_facts_is(const char *text, size_t n, const char *key, const char *value);

#endif
