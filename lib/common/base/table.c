#include "base/table.h"

#include <stdlib.h>
#include <string.h>

/* A slot: 1 + the number, or 0 if free, and half of the hash of its name. The half also determines the place, so growing
 * does not need the names. */
struct table_slot {
    uint32_t number, hash;
};

enum { LEAST = 16 };

void
table_clear(struct table *t)
{
    free(t->slots);
    *t = (struct table){ 0 };
}

static bool
is_full(const struct table *t, size_t count)
{
    return !t->slots || count > (t->mask + 1) / 4 * 3;
}

static bool
rebuild(struct table *t, size_t nslots, struct err *err)
{
    struct table_slot *slots = calloc(nslots, sizeof *slots);
    if (!slots)
        return err_memory(err, nslots * sizeof *slots);
    for (size_t i = 0; t->slots && i <= t->mask; i++) {
        if (t->slots[i].number == 0)
            continue;
        size_t at = t->slots[i].hash & (nslots - 1);
        while (slots[at].number != 0)
            at = (at + 1) & (nslots - 1);
        slots[at] = t->slots[i];
    }
    if (!t->slots)
        t->key = hash_new_key();
    free(t->slots);
    t->slots = slots;
    t->mask = nslots - 1;
    return true;
}

bool
table_reserve(struct table *t, size_t more, struct err *err)
{
    size_t nslots = LEAST;
    if (t->slots)
        nslots = t->mask + 1;
    while (nslots / 4 * 3 < t->count + more)
        nslots *= 2;
    return !is_full(t, t->count + more) || rebuild(t, nslots, err);
}

/* Returns the slot of the name, or the free slot where it belongs. One always exists. */
static struct table_slot *
find_slot(const struct table *t, table_name *name_of, const void *owner, const char *name, size_t n, uint32_t hash)
{
    for (size_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        struct table_slot *slot = &t->slots[i];
        size_t len;
        if (slot->number == 0)
            return slot;
        if (slot->hash != hash)
            continue;
        const char *other = name_of(owner, slot->number - 1, &len);
        if (len == n && (n == 0 || memcmp(other, name, n) == 0))
            return slot;
    }
}

bool
table_find(const struct table *t, table_name *name_of, const void *owner, const char *name, size_t n,
    uint32_t *number)
{
    if (!t->slots)
        return false;
    uint32_t found = find_slot(t, name_of, owner, name, n, (uint32_t)hash_bytes(t->key, name, n))->number;
    if (found != 0)
        *number = found - 1;
    return found != 0;
}

bool
table_add(struct table *t, table_name *name_of, const void *owner, const char *name, size_t n, uint32_t *number,
    bool *again, struct err *err)
{
    if (!table_reserve(t, 1, err))
        return false;
    uint32_t hash = (uint32_t)hash_bytes(t->key, name, n);
    struct table_slot *slot = find_slot(t, name_of, owner, name, n, hash);
    *again = slot->number != 0;
    if (*again) {
        *number = slot->number - 1;
    } else {
        *slot = (struct table_slot){ *number + 1, hash };
        t->count++;
    }
    return true;
}
