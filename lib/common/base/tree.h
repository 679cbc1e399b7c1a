/* tree: a small JSON document as a jansson tree, read strictly and within a memory budget.
 *
 * jansson takes up to 80 bytes per byte of text (`{},`), so untrusted text of any size goes through base/pull.h, and only
 * the part that is needed comes here. The memory that a text can take is computed before it is parsed. If jansson cannot
 * allocate, the process ends, because jansson does not handle that safely.
 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Maximum memory for one tree, in bytes. */
enum { TREE_BUDGET = 64 << 20 };

/* Called when jansson cannot allocate n bytes, to end the process; NULL means abort(). Set once at the start
 * (cli_options()). */
extern void (*tree_no_memory)(size_t n);

/* Makes jansson end the process if it cannot allocate. tree_read() does so, too; programs that make values without it call
 * this at the start. */
void tree_guard(void);

/* Parses an object. `what` names the text in a failure: "config.json". Fails with ERR_MALFORMED for invalid JSON, a
 * duplicate key, trailing bytes or anything but an object, and with ERR_LIMIT if it exceeds the budget. The caller frees
 * *root with json_decref(); it is NULL after a failure. */
bool tree_read(json_t **root, const char *text, size_t n, const char *what, struct err *err);

#endif
