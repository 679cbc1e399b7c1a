/* importance: how much each column of a weight counts, from the activations that a model was seen to have: an importance
 * matrix, as llama-imatrix writes it. */
#ifndef PLAN_IMPORTANCE_H
#define PLAN_IMPORTANCE_H

#include "base/table.h"
#include "catalog/catalog.h"

struct importance_entry {
    const char *name;           /* of a weight, name_len bytes; borrowed, and the values too */
    uint32_t name_len;
    const float *values;        /* n, none negative: of all columns of one matrix, or of each of several matrices */
    uint64_t n;
};

/* Zeroed: none. */
struct importance {
    struct importance_entry *list;      /* n of them; owned */
    size_t n, room;
    struct table names;
};

/* Add an entry. A name that is there, and a value that is negative or no number: ERR_MALFORMED. */
bool importance_add(struct importance *i, const struct importance_entry *entry, struct err *err);
void importance_clear(struct importance *i);

/* That of a weight of so many columns and matrices; *matrices: how many have values of their own, 1 when they share them. NULL
 * when it has none, or err: ERR_MALFORMED when it is that of another model. */
const float *importance_of(const struct importance *i, const struct tensor *t, uint64_t cols, uint64_t *matrices,
    struct err *err);

#endif
