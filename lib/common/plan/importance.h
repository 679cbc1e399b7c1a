/* importance: how much each column of a weight matters, measured on the model's activations: an importance matrix, as
 * written by llama-imatrix. */
#ifndef PLAN_IMPORTANCE_H
#define PLAN_IMPORTANCE_H

#include "base/table.h"
#include "catalog/catalog.h"

struct importance_entry {
    const char *name;           /* name of a weight, name_len bytes; borrowed, as are the values */
    uint32_t name_len;
    const float *values;        /* n values, none negative: of the columns of one matrix, or of each of several matrices */
    uint64_t n;
};

enum { IMPORTANCE_TEXT = 128 };         /* bytes of a text in the keys of llama-quantize, with its NUL */

/* Zeroed: empty. */
struct importance {
    struct importance_entry *list;      /* n entries; owned */
    size_t n, room;
    struct table names;
    char file[IMPORTANCE_TEXT], dataset[IMPORTANCE_TEXT];       /* where it is from, cut; "": unknown, or not UTF-8 */
    uint64_t chunks;            /* chunks of text that it was measured on; 0: unknown */
};

/* Adds an entry. Fails with ERR_MALFORMED if the name exists, or if a value is negative or not a number. */
bool importance_add(struct importance *i, const struct importance_entry *entry, struct err *err);
void importance_clear(struct importance *i);

/* Finds the values of a weight with this many columns and matrices; NULL if it has none. *matrices: how many matrices have values of
 * their own, 1 if all share them. Fails with ERR_MALFORMED if the sizes show that the importance matrix belongs to another model. */
bool importance_of(const float **found, const struct importance *i, const struct tensor *t, uint64_t cols, uint64_t *matrices,
    struct err *err);

#endif
