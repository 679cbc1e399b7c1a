/* objects: what a pickle stores in an object of a class that only makes data: its attributes. Nothing is called. The state that
 * BUILD gives is a dictionary, a tuple, or a pair of a dictionary or None and a dictionary of slots. */
#ifndef CONTAINER_TORCH_OBJECTS_H
#define CONTAINER_TORCH_OBJECTS_H

#include "container/torch/pickle_priv.h"

/* Returns true for an object of the class with this full name, as Python 3 spells it, or with this last component. */
bool object_is(const struct pickle_value *v, const char *name);

/* Returns true for a global with this full name, or with this last component. */
bool object_is_global(const struct pickle_value *v, const char *name);

/* Returns the state that BUILD gave to an object; NULL if it has none. */
const struct pickle_value *object_state(const struct pickle *k, const struct pickle_value *v);

/* Returns an attribute of an object, or NULL. */
const struct pickle_value *object_attribute(const struct pickle *k, const struct pickle_value *v, const char *name);

/* Returns the value of a text key of a dictionary, or NULL. Takes time in proportion to its size. */
const struct pickle_value *object_item(const struct pickle *k, const struct pickle_value *dict, const char *key);

/* Reads a tuple, list or torch.Size of integers of 0 or more. Sets *rank. False for any other value, and for more than LAYOUT_RANK. */
bool object_counts(const struct pickle *k, const struct pickle_value *v, uint64_t *n, uint32_t *rank);

/* Reads an integer of 0 or more, also one in an enumeration: Class(integer). */
bool object_count(const struct pickle_value *v, uint64_t *n);

#endif
