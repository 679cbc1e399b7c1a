/* nearest: suggestions for a mistyped word. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#include "base/str.h"

/* Returns the number of letters inserted, deleted, changed or swapped with a neighbour between two words; UINT_MAX if one has
 * more than 64. Case does not count, nor does '-' for '_'. */
unsigned nearest_distance(const char *a, const char *b);

/* Appends to `hint` the words nearest to what was typed, each after `prefix`: "; did you mean --part or --parts?". A word is
 * near if at most a third of its letters are inserted, deleted, changed or swapped with a neighbour; case, '-' and '_'
 * do not count if they are all the difference. Appends nothing if no word is near. Duplicate words are allowed. */
void nearest_hint(struct str *hint, const char *prefix, const char *typed, const char *const words[], size_t nwords);

/* Appends the nearest words like nearest_hint(), or all of them if none is near: ": expected auto, always or never". */
void nearest_or_all(struct str *hint, const char *typed, const char *const words[], size_t nwords);

/* Returns the separator before word i of a list of n: " or " before the last, ", " before others, "" before the first. */
const char *nearest_separator(size_t i, size_t n);

#endif
