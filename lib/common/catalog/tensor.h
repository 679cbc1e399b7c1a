/* tensor: the facts about one tensor of an input or an output. Copy it freely; name and dimensions are borrowed from the
 * catalog that contains it. */
#ifndef CATALOG_TENSOR_H
#define CATALOG_TENSOR_H

#include "catalog/layout.h"
#include "catalog/shape.h"

struct extent {
    uint32_t file;              /* index among the files of the model */
    uint64_t at;                /* file offset of the first byte */
    uint64_t nbytes;            /* size of all elements; with a layout, they are spread over a larger range */
};

/* Bits for operations that each element still needs: a checkpoint can have a tensor that is the negative or the complex
 * conjugate of what is stored. */
enum { TENSOR_NEGATED = 1, TENSOR_CONJUGATED = 2 };

struct tensor {
    const char *name;           /* any bytes, NUL included; name_len bytes followed by a NUL */
    uint32_t name_len;
    enum dtype dtype;
    uint32_t ggml_id;           /* type id in a GGUF file */
    const char *type_name;      /* type name in the file if there is no id, such as "complex128", or NULL; lives as long as
                                 * the catalog */
    uint32_t listed;            /* position in the header; set by catalog_add */
    bool big_endian;            /* multi-byte data is big-endian */
    uint8_t sign;               /* TENSOR_NEGATED, TENSOR_CONJUGATED */
    bool changed;               /* the first member of a struct changed_tensor (plan/delta.h); clear it in copies */
    const struct layout *layout;        /* NULL if row-major without gaps; borrowed like the name */
    struct shape shape;
    struct extent extent;
};

#endif
