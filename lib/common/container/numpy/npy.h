/* numpy: reads NumPy arrays, one per file (npy) or several in a ZIP archive (npz). Nothing is evaluated. It knows no other
 * format; container/archive.c decides which ZIP archives are NPZ files. Begin with npy.c; npy_header.c parses the Python
 * literal, npz.c walks the members.
 *
 * npy: one array, as a file or as a member of an NPZ archive.
 *
 *      | 93 "NUMPY" | major, minor | L: u16, u32 from version 2 | L bytes of text | elements |
 *
 * The text is a Python literal, padded with blanks: {'descr': '<f4', 'fortran_order': False, 'shape': (4, 6), }
 */
#ifndef CONTAINER_NUMPY_NPY_H
#define CONTAINER_NUMPY_NPY_H

#include "catalog/catalog.h"

enum {
    NPY_FIXED = 12,             /* bytes needed to find the length of the header, or all there are */
    NPY_HEADER_MAX = 10000,     /* bytes of header text, as in NumPy */
    NPY_RANK = 64, NPY_TYPE = 32
};

struct npy {
    uint32_t version;           /* 1, 2, 3 */
    enum dtype dtype;           /* DTYPE_UNKNOWN: amn knows the type by name only */
    char type_name[NPY_TYPE];   /* the name of an unknown type: "<U3", "|V7", "structured" */
    bool sized;                 /* item and nbytes are known, as for all but structured arrays */
    bool big_endian, fortran;
    uint64_t item, nbytes;      /* bytes of one element, of all */
    uint32_t rank;
    uint64_t dim[NPY_RANK];
};

/* The first bytes of an array. */
struct npy_bytes {
    const uint8_t *p;
    size_t n;
    uint64_t at;                /* file offset of p, or ERR_NO_OFFSET */
    const char *name;           /* of the array, for messages */
    size_t name_len;
};

/* Returns true if the bytes begin with the magic of an array. */
bool npy_is(const uint8_t *p, size_t n);

/* Finds the length of the whole header in bytes. `in` has the first NPY_FIXED bytes, or all there are. Fails with
 * ERR_MALFORMED. */
bool npy_length(uint64_t *length, const struct npy_bytes *in, struct err *err);

/* Reads a whole header. `in` has all of it, or NPY_FIXED + NPY_HEADER_MAX bytes if it is longer. Fails with ERR_UNSAFE if
 * the elements are Python objects, that is, a pickle; otherwise with ERR_MALFORMED, ERR_LIMIT, or ERR_UNSUPPORTED for
 * literals that NumPy never writes, such as adjacent strings or escapes. */
bool npy_read(struct npy *npy, const struct npy_bytes *in, struct err *err);

/* Adds the array to the catalog under the name in `in`; `extent` holds its elements. */
bool npy_add(struct catalog *c, const struct npy *npy, const struct npy_bytes *in, const struct extent *extent,
    struct err *err);

#endif
