/* table: a map from names to numbers, the one index for untrusted names: tensors, keys, labels.
 *
 * Open addressing with the seeded hash of base/hash.h, so that nobody can construct names that collide. It stores only
 * numbers, 8 bytes per slot, and fills at most 3/4 of the slots. The owner keeps the names and passes a function that
 * returns the name of a number. Zero-initialise; clear with table_clear().
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/hash.h"

struct table_slot;

struct table {
    struct table_slot *slots;   /* owned; NULL until something is added */
    size_t mask;                /* number of slots, a power of two, minus 1 */
    size_t count;
    struct hash_key key;
};

/* Returns the name of a number that was added, *n bytes. */
typedef const char *table_name(const void *owner, uint32_t number, size_t *n);

void table_clear(struct table *t);

/* Makes room for `more` names, so that as many calls of table_add() cannot fail. Fails with ERR_MEMORY. */
bool table_reserve(struct table *t, size_t more, struct err *err);

/* Sets *number to the number of a name. Returns false if there is no such name. */
bool table_find(const struct table *t, table_name *name_of, const void *owner, const char *name, size_t n,
    uint32_t *number);

/* Adds a name with *number, which is not UINT32_MAX. If the name is there already, sets *number to its number and *again to
 * true. The owner need not have stored the name of the new number yet. Fails with ERR_MEMORY. */
bool table_add(struct table *t, table_name *name_of, const void *owner, const char *name, size_t n, uint32_t *number,
    bool *again, struct err *err);

#endif
