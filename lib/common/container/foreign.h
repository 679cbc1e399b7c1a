/* foreign: recognizes, by their first bytes, files that users pass by mistake: not models, or models in a format amn cannot
 * read. */
#ifndef CONTAINER_FOREIGN_H
#define CONTAINER_FOREIGN_H

#include <stddef.h>

#include "base/err.h"

enum { FOREIGN_PROBE = 512 };           /* bytes to look at */

/* Returns false if the first n bytes of an input (FOREIGN_PROBE, or all it has) are of a known kind: ERR_UNSUPPORTED if it
 * may hold a model, ERR_MALFORMED if not; the message says what to do instead. Call it after every container has refused the
 * input. */
bool foreign_check(const uint8_t *head, size_t n, struct err *err);

/* Like foreign_check(), but only for Git LFS pointers, which can replace any file of a repository, including config.json. */
bool foreign_check_pointer(const uint8_t *head, size_t n, struct err *err);

#endif
