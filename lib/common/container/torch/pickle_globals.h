/* pickle_globals: what a pickle may name: the list that torch itself allows under weights_only (2.14), no more. Nothing
 * is ever looked up or called by these names; each only says what the machine makes of it. Source: torch,
 * _weights_only_unpickler.py, _get_allowed_globals(). */
#ifndef CONTAINER_TORCH_PICKLE_GLOBALS_H
#define CONTAINER_TORCH_PICKLE_GLOBALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

enum pickle_role {
    /* classes: VALUE is one of nothing with a tensor in it */
    GLOBAL_ORDERED_DICT, GLOBAL_COUNTER, GLOBAL_SET, GLOBAL_VALUE, GLOBAL_SIZE, GLOBAL_STORAGE, GLOBAL_PARAMETER,
    GLOBAL_TENSOR_CLASS,
    /* functions */
    GLOBAL_ENCODE, GLOBAL_LAYOUT, GLOBAL_TENSOR, GLOBAL_TENSOR_V2, GLOBAL_TENSOR_V3, GLOBAL_REBUILD_PARAMETER,
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

/* A type of torch. */
struct torch_type {
    const char *name;           /* "float32" */
    enum dtype dtype;           /* DTYPE_UNKNOWN: nothing here can hold it */
    uint8_t item;               /* bytes of an element; 0: torch saves none of it */
    uint8_t word;               /* bytes of one byte-swapped unit */
};

struct pickle_global {
    enum pickle_role role;
    const struct torch_type *type;      /* GLOBAL_STORAGE, GLOBAL_DTYPE, and a GLOBAL_TENSOR_CLASS of one type; else NULL */
    bool untyped;               /* a storage of bytes, whose type the tensor says */
};

/* What module.name is; false when it is not on the list. The module is as the file has it, Python 2's too. */
bool pickle_global_find(struct pickle_global *global, const uint8_t *module, size_t module_len, const uint8_t *name,
    size_t name_len);

/* What Python 3 calls a module of Python 2, as far as it matters here: the same when that is all it is. Returns the
 * text, of *n bytes. */
const uint8_t *pickle_module_today(const uint8_t *module, size_t *n);

/* How many names the list has, and name number i, "module.name". For tests and the manual. */
enum { PICKLE_GLOBALS = 145 };
enum { PICKLE_GLOBAL_NAME = 64 };
const char *pickle_global_name(char buf[PICKLE_GLOBAL_NAME], size_t i);

#endif
