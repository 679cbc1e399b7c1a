/* pattern: names with '*' for any text and '{b}' for a layer number, as in `drop`, `mtp`, `zero`, count() and number(). */
#ifndef FAMILY_PATTERN_H
#define FAMILY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if a whole name, name[0..n), matches. Sets *b to the number that {b} matches, if the pattern has it; a number
 * that overflows does not match. Time is proportional to the product of the lengths. */
bool pattern_matches(const char *pattern, const char *name, size_t n, uint64_t *b);

#endif
