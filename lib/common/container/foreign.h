/* foreign: what people hand over that is no model, or one in a format that is not read, told by how it begins. */
#ifndef CONTAINER_FOREIGN_H
#define CONTAINER_FOREIGN_H

#include <stddef.h>

#include "base/err.h"

enum { FOREIGN_PROBE = 512 };           /* bytes that tell it; more are not looked at */

/* False when the first n bytes of an input, FOREIGN_PROBE or all it has, are something that has a name: ERR_UNSUPPORTED
 * for what may hold a model, ERR_MALFORMED for what does not, and what to do instead. Asked after all that is read. */
bool foreign_check(const uint8_t *head, size_t n, struct err *err);

/* The same for Git LFS pointers alone: what stands where any file of a repository belongs, config.json included. */
bool foreign_check_pointer(const uint8_t *head, size_t n, struct err *err);

#endif
