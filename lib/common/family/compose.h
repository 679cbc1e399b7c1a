/* compose: a tensor of the parts that verbs select, in both directions. */
#ifndef FAMILY_COMPOSE_H
#define FAMILY_COMPOSE_H

#include "family/sources.h"
#include "family/verbs.h"

/* Makes a part of the elements of a source: moved and computed as the verbs say. Its end is the number of its elements. Memory
 * belongs to the catalog, as below. */
bool compose_elements(struct composed_part *part, const struct verbs *v, const struct family_source *source,
    struct catalog *memory, struct err *err);

/* Makes a part of the units of a repacking, which it copies. Sets *fits to false if the verbs do not move whole units. */
bool compose_units(struct composed_part *part, bool *fits, struct verbs *v, const struct repack *repack, struct catalog *memory,
    struct err *err);

/* Sets *chosen to a tensor of this shape, made of the parts. If the only part is all of `source`, the first source, as it is, sets
 * *chosen to the tensor of the source. The caller sets name and type. */
bool compose_tensor(struct chosen *chosen, const struct composed *parts, const uint64_t *dim, uint32_t rank,
    const struct family_source *source, struct catalog *memory, struct err *err);

/* Makes an F32 tensor of numbers, which it copies. `name` is borrowed. */
bool compose_numbers(struct chosen *chosen, const char *name, const float *x, const uint64_t *dim, uint32_t rank,
    struct catalog *memory, struct err *err);

/* Makes an I64 tensor of n integers, which it copies. `name` is borrowed. */
bool compose_integers(struct chosen *chosen, const char *name, const int64_t *x, uint64_t n, struct catalog *memory, struct err *err);

#endif
