/* name_index: patterns of names with {b} and {x}, found by name in constant expected time for any number of patterns. Each
 * number in a name is either text of a pattern or the value of a hole; patterns with the same places of holes share one
 * look-up. */
#ifndef FAMILY_NAME_INDEX_H
#define FAMILY_NAME_INDEX_H

#include "base/err.h"

struct name_index;

enum { NAME_INDEX_NUMBERS = 16, NAME_INDEX_HOLES = 64 };    /* limits: numbers in a pattern; distinct places of holes */

/* Makes an empty index. Returns NULL with ERR_MEMORY. The caller frees it; NULL is allowed. */
struct name_index *name_index_new(struct err *err);
void name_index_free(struct name_index *index);

/* Adds a pattern, whose number is how many were added before. `tag` distinguishes patterns with the same text, or is NULL.
 * Both are copied. Fails with ERR_LIMIT over the limits, and with ERR_MALFORMED, naming `where`, if a hole touches a digit. */
bool name_index_add(struct name_index *index, const char *pattern, const char *tag, const char *where, struct err *err);

/* The patterns that match a name, in the order in which they were added. */
struct name_walk {
    const struct name_index *index;
    const char *name;
    size_t n;
    uint32_t at[NAME_INDEX_HOLES];      /* the next pattern of each look-up */
    uint64_t number[NAME_INDEX_NUMBERS];        /* the numbers of the name */
    size_t numbers;
};

/* Starts with the patterns of this tag that match name[0..n). Fails with ERR_MEMORY. */
bool name_walk_begin(struct name_walk *walk, struct name_index *index, const char *name, size_t n, const char *tag,
    struct err *err);

/* Sets *pattern to the next one, and *b and *x to the numbers at its holes, 0 without a hole. Returns false after the last.
 * Numbers with leading zeros, or of 2^24 and more, match no hole. */
bool name_walk_next(struct name_walk *walk, uint32_t *pattern, uint64_t *b, uint64_t *x);

#endif
