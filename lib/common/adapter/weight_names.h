/* weight_names: finds the tensor of a choice that a module of an adapter means, in steps from the exact name to a common end. */
#ifndef ADAPTER_WEIGHT_NAMES_H
#define ADAPTER_WEIGHT_NAMES_H

#include "plan/choice.h"

struct weight_names;

struct weight_names *weight_names_new(const struct choice *choice, struct err *err);    /* NULL on failure */
void weight_names_free(struct weight_names *w);         /* accepts NULL */

/* Adds the name of another tensor; borrowed. */
bool weight_names_add(struct weight_names *w, const char *name, size_t n, size_t index, struct err *err);

#define WEIGHT_NONE SIZE_MAX

/* Which names count as found */
enum weight_search {
    WEIGHT_EXACT,               /* only the name itself */
    WEIGHT_WHOLE,               /* or one that differs in leading components and names of versions */
    WEIGHT_ENDS                 /* or one that ends with it, or the other way round */
};

/* Sets *found to the index of the chosen tensor, or WEIGHT_NONE. Fails with ERR_MALFORMED,
 * naming both, if two tensors are meant. */
bool weight_names_find(size_t *found, const struct weight_names *w, const char *name, size_t n, enum weight_search how, struct err *err);

#endif
