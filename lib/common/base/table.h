/* table: names to numbers. The one index of what a stranger can name: tensors, keys, labels.
 *
 * Open addressing under the seeded hash of base/hash.h, so that names cannot be made to collide. It holds numbers only,
 * 8 bytes a slot and 3/4 of the slots at most; the names stay with the owner, who hands in a function that finds the
 * name of a number. Zero-initialise; clear with table_clear. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/hash.h"

struct table_slot;

struct table {
    struct table_slot *slots;   /* owned; NULL while nothing was added */
    size_t mask;                /* slots - 1, a power of two less one */
    size_t count;
    struct hash_key key;
};

/* The name of a number that was added, of *n bytes. */
typedef const char *table_name(const void *owner, uint32_t number, size_t *n);

void table_clear(struct table *t);

/* Room for `more` names, so that table_add cannot fail as often. ERR_MEMORY. */
bool table_reserve(struct table *t, size_t more, struct err *err);

/* The number of a name; false when it is not there. */
bool table_find(const struct table *t, table_name *name_of, const void *owner, const char *name, size_t n,
    uint32_t *number);

/* Give the name to *number, which is not UINT32_MAX. When it has one already that is put into *number, and *again is
 * true. ERR_MEMORY. The owner need not know the name under the new number yet. */
bool table_add(struct table *t, table_name *name_of, const void *owner, const char *name, size_t n, uint32_t *number,
    bool *again, struct err *err);

#endif
