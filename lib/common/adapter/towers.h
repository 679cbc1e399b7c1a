/* towers: finds the weights that the modules of a single file mean, by the part of the model in front of their names: the image
 * model or one of its text encoders. Names of one program are found under the names of another, as families/names says. */
#ifndef ADAPTER_TOWERS_H
#define ADAPTER_TOWERS_H

#include "adapter/weight_names.h"

enum { TOWER_NONE = -1, TOWERS = 4 };

/* Rows of a weight and of its bias that a module changes. */
struct tower_hit {
    size_t index[2];            /* of the weight and the bias among the chosen tensors, or WEIGHT_NONE */
    uint64_t row, rows;         /* the rows that change */
    uint64_t from;              /* row of the module that is the first of them */
    bool part;                  /* not the whole of both, in order */
    bool transposed;            /* the weight is stored transposed */
};

enum { TOWER_HITS = 8 };

struct towers;

struct towers *towers_new(const struct choice *choice);         /* NULL if memory is short */
void towers_free(struct towers *t);                             /* accepts NULL */

/* Returns the tower of a module by the prefix of its name, or TOWER_NONE, and its name in messages. */
int towers_of(const char *name, size_t n);
const char *towers_name(int tower);

/* Returns the tower of a module of an adapter, and sets *prefix to the bytes before the module's own name and *flat if that has
 * underscores in place of dots. */
int towers_split(size_t *prefix, bool *flat, const char *name, size_t n);

/* Returns the bytes of the prefix that a name of the base has in a tower. */
size_t towers_base_prefix(int tower, const char *name, size_t n);

/* Sets hit[0..*n) to what a module changes: none if the base has no weight of its name. A name without a prefix is looked up in the
 * image model, but only among the names of other programs. Fails with ERR_MALFORMED if it can mean several weights. */
bool towers_find(struct tower_hit hit[TOWER_HITS], size_t *n, struct towers *t, const char *name, size_t len, struct err *err);

#endif
