/* nearest: what a person who mistyped a word may have meant. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#include "base/str.h"

/* Append to `hint` the words that are nearest to what was typed, as a question: "; did you mean --part or --parts?", each
 * behind `prefix`. Near is within a third of the letters put in, left out, changed or swapped with a neighbour; case, and
 * - for _, are no difference. Appends nothing when no word is near. Words may be listed twice. */
void nearest_hint(struct str *hint, const char *prefix, const char *typed, const char *const words[], size_t nwords);

/* The same; when no word is near, all of them: ": expected auto, always or never". */
void nearest_or_all(struct str *hint, const char *typed, const char *const words[], size_t nwords);

/* What stands before word i of a list of n: " or " before the last one, else ", ", nothing before the first. */
const char *nearest_joint(size_t i, size_t n);

#endif
