/* tree: a small JSON document as a tree of jansson's, read strictly and within a budget of memory.
 *
 * jansson takes up to 80 bytes for one of text (`{},`), so what a stranger can make large goes through
 * base/json_pull.h, and here comes only the part of it that is needed. All of jansson's memory is counted. */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Bytes that all trees together may take. */
enum { TREE_BUDGET = 64 << 20 };

/* Read an object. `what` names the text in a failure: "config.json". Not JSON, a key twice, bytes behind the value, or
 * no object: ERR_MALFORMED; over the budget: ERR_LIMIT; out of memory: ERR_MEMORY. The caller gives *root
 * back with json_decref; it is NULL after a failure. Not for two threads at once. */
bool tree_read(json_t **root, const char *text, size_t n, const char *what, struct err *err);

#endif
