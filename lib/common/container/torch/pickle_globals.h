/* pickle_globals: the globals that a pickle may name and call: those that torch allows with weights_only (2.15), and a few
 * that only make data, as NumPy, argparse and torch's C++ library write them. Names are never looked up or called; each one
 * only tells the machine what kind of value to make. Source: torch, _weights_only_unpickler.py, _get_allowed_globals(). */
#ifndef CONTAINER_TORCH_PICKLE_GLOBALS_H
#define CONTAINER_TORCH_PICKLE_GLOBALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/num.h"
#include "dtype/dtype.h"

enum pickle_role {
    /* classes; a GLOBAL_VALUE never holds a tensor. What GLOBAL_DATA and GLOBAL_UNKNOWN make is opaque: GLOBAL_UNKNOWN is not
     * in the table, and its class may be instantiated, but not called */
    GLOBAL_DATA, GLOBAL_UNKNOWN, GLOBAL_ORDERED_DICT, GLOBAL_COUNTER, GLOBAL_SET, GLOBAL_VALUE, GLOBAL_SIZE, GLOBAL_STORAGE, GLOBAL_PARAMETER,
    GLOBAL_TENSOR_CLASS,
    /* functions */
    GLOBAL_ARRAY, GLOBAL_GETATTR, GLOBAL_FIRST_ARGUMENT, GLOBAL_ENCODE, GLOBAL_LAYOUT, GLOBAL_TENSOR, GLOBAL_TENSOR_V2, GLOBAL_TENSOR_V3, GLOBAL_REBUILD_PARAMETER,
    GLOBAL_QTENSOR, GLOBAL_SPARSE, GLOBAL_META, GLOBAL_NESTED, GLOBAL_WRAPPER, GLOBAL_FROM_NUMPY, GLOBAL_FROM_CPU,
    GLOBAL_FROM_TYPE,
    /* values */
    GLOBAL_DTYPE, GLOBAL_QSCHEME
};

static inline bool
pickle_role_is_class(enum pickle_role role)
{
    return role <= GLOBAL_TENSOR_CLASS;
}

/* A torch type. */
struct torch_type {
    const char *name;           /* "float32" */
    enum dtype dtype;           /* DTYPE_UNKNOWN: amn has no such type */
    uint8_t item;               /* bytes of an element; 0: torch cannot save it */
    uint8_t word;               /* bytes of one byte-swapped unit */
    uint8_t codes;              /* elements of the tensor in one of the storage's */
};

/* Sets *nbytes to the bytes of n elements; false if that overflows 64 bits. */
static inline bool
torch_type_bytes(uint64_t *nbytes, const struct torch_type *t, uint64_t n)
{
    return num_mul(nbytes, num_ceil_div(n, t->codes), t->item);
}

struct pickle_global {
    enum pickle_role role;
    const struct torch_type *type;      /* for GLOBAL_STORAGE, GLOBAL_DTYPE and typed GLOBAL_TENSOR_CLASS; else NULL */
    bool untyped;               /* a storage of bytes; the tensor has the type */
};

/* Looks up module.name in the allowlist; false if it is not there. The module is spelled as in the file, possibly as in
 * Python 2. */
bool pickle_global_find(struct pickle_global *global, const uint8_t *module, size_t module_len, const uint8_t *name,
    size_t name_len);

/* Looks up module.name among the names that only pickles of a checkpoint of several files have. */
bool pickle_global_find_shards(struct pickle_global *global, const uint8_t *module, size_t module_len, const uint8_t *name,
    size_t name_len);

/* Returns the Python 3 name of a Python 2 module, *n bytes, if it matters here; otherwise the name itself. */
const uint8_t *pickle_module_today(const uint8_t *module, size_t *n);

/* Returns true for a role whose calls make an opaque value. */
static inline bool
pickle_role_is_opaque(enum pickle_role role)
{
    return role == GLOBAL_DATA || role == GLOBAL_UNKNOWN || role == GLOBAL_ARRAY;
}

/* The length of torch's list, and name number i, as "module.name". For tests and the manual. */
enum { PICKLE_GLOBALS = 144 };
enum { PICKLE_GLOBAL_NAME = 112 };
const char *pickle_global_name(char buf[PICKLE_GLOBAL_NAME], size_t i);

#endif
