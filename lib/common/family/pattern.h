/* pattern: names with '*' for any text and '{b}' for a layer number, as in `drop`, `mtp`, `zero`, count() and number(). */
#ifndef FAMILY_PATTERN_H
#define FAMILY_PATTERN_H

#include "base/str.h"
#include "catalog/catalog.h"
#include "family/family.h"

/* Returns true if a whole name, name[0..n), matches. Sets *b to the number that {b} matches, if the pattern has it; a number
 * that overflows does not match. Time is proportional to the product of the lengths. */
bool pattern_matches(const char *pattern, const char *name, size_t n, uint64_t *b);

/* Appends a name of {b} and {x} with these numbers in its holes. */
void pattern_fill(struct str *out, const char *pattern, uint64_t b, uint64_t x);

/* Returns the named members of the stack of a row with this name, or NULL if it has none; borrowed. */
const struct family_members *pattern_members(const struct model_family *family, const char *hf);

/* Appends the name of a source of a row: pattern_fill(), with the word of a named member in place of its number. */
void pattern_fill_source(struct str *out, const struct model_family *family, const char *hf, uint64_t b, uint64_t x);

/* Sets *name to a finished text of *n bytes, owned by the catalog, and clears `text`. Fails with ERR_MEMORY. */
bool pattern_name(const char **name, uint32_t *n, struct str *text, struct catalog *memory, struct err *err);

#endif
