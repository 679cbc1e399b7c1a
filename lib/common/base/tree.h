/* tree: a small JSON document as a tree of jansson's, read strictly and within a budget of memory.
 *
 * jansson takes up to 80 bytes for one of text (`{},`), so what a stranger can make large goes through
 * base/pull.h, and only the part of it that is needed comes here. What a text can take is counted before it is read. Where
 * jansson is refused memory, the process ends: jansson goes on in ways that are not safe. */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Bytes that one tree may take. */
enum { TREE_BUDGET = 64 << 20 };

/* Ends the process when jansson cannot have n bytes. NULL: abort(). Set once, at the start (cli_options()). */
extern void (*tree_no_memory)(size_t n);

/* Reads an object. `what` names the text in a failure: "config.json". Not JSON, a duplicate key, trailing bytes or not an
 * object: ERR_MALFORMED; over the budget: ERR_LIMIT. The caller gives *root back with json_decref; it is NULL after a
 * failure. */
bool tree_read(json_t **root, const char *text, size_t n, const char *what, struct err *err);

#endif
