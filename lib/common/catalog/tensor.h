/* tensor: the facts about one tensor of an input or an output. Copy freely; names and dimensions are
 * borrowed from the catalog that holds it. */
#ifndef CATALOG_TENSOR_H
#define CATALOG_TENSOR_H

#include "catalog/layout.h"
#include "catalog/shape.h"

struct extent {
    uint32_t file;              /* index among the files of the model */
    uint64_t at;                /* file offset of the first byte */
    uint64_t nbytes;            /* of all elements; of a tensor with a layout they lie further apart */
};

/* What has to be done to each element yet, bits: a checkpoint can hold a tensor that is the negative or the complex
 * conjugate of what is stored. */
enum { TENSOR_NEGATED = 1, TENSOR_CONJUGATED = 2 };

struct tensor {
    const char *name;           /* UTF-8 or not, may hold NUL; name_len bytes, then a NUL */
    uint32_t name_len;
    enum dtype dtype;
    uint32_t ggml_id;           /* the id in the file when dtype is DTYPE_UNKNOWN */
    const char *type_name;      /* its name there instead: "complex128"; or NULL. Lives as long as the catalog */
    uint32_t listed;            /* position in the header; set by catalog_add */
    bool big_endian;            /* multi-byte units of the data are big-endian */
    uint8_t sign;               /* TENSOR_NEGATED, TENSOR_CONJUGATED */
    const struct layout *layout;        /* NULL: row-major without gaps. Borrowed as the name is */
    struct shape shape;
    struct extent extent;
};

#endif
