/* sdnq_type: the types of SDNQ's codes: their names, how they are stored, and the values of codes. */
#ifndef SCHEME_SDNQ_TYPE_H
#define SCHEME_SDNQ_TYPE_H

#include "dtype/dtype.h"

struct sdnq_type {
    unsigned bits;
    bool is_signed, packed;
    enum dtype stored;
    unsigned exponent;                                  /* bits of the exponent; 0: an integer, or unpacked F8 */
};

/* Finds a type by its name in a configuration. Returns false for one that is not supported. */
bool sdnq_type_find(struct sdnq_type *type, const char *name);

/* Returns the bytes of an element of the codes' tensor. */
static inline uint64_t
sdnq_type_bytes(const struct sdnq_type *type)
{
    return dtype_facts(type->stored)->bytes;
}

/* Computes the values of all codes, rounded to F16 if `in` is F16. `codes` is the type of the tensor of codes. A packed float is never
 * infinity, NaN or -0. */
void sdnq_type_values(float values[256], const struct sdnq_type *type, enum dtype codes, enum dtype in);

#endif
