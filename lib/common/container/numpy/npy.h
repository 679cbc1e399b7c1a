/* numpy: arrays of NumPy, one in a file (npy) or several in a ZIP archive (npz). Nothing is evaluated.
 * It knows no other format; container/archive.c decides which ZIP archives are its own.
 * Begin with npy.c; npy_header.c reads the literal of Python, npz.c walks the members.
 *
 * npy: one array, as a file of its own or a member of an NPZ archive.
 *
 *      | 93 "NUMPY" | major, minor | L: u16, from version 2 on u32 | L bytes of text | elements |
 *
 * The text is a literal of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (4, 6), } and blanks. */
#ifndef CONTAINER_NUMPY_NPY_H
#define CONTAINER_NUMPY_NPY_H

#include "catalog/catalog.h"

enum {
    NPY_FIXED = 12,             /* bytes that tell the length of the header, or all that there are */
    NPY_HEADER_MAX = 10000,     /* bytes of its text, as in NumPy */
    NPY_RANK = 64, NPY_TYPE = 32
};

struct npy {
    uint32_t version;           /* 1, 2, 3 */
    enum dtype dtype;           /* DTYPE_UNKNOWN: of a type that is known by name only */
    char type_name[NPY_TYPE];   /* then that name: "<U3", "|V7"; "structured" */
    bool sized;                 /* item and nbytes are known, as they are of all but structured arrays */
    bool big_endian, fortran;
    uint64_t item, nbytes;      /* of an element, of all */
    uint32_t rank;
    uint64_t dim[NPY_RANK];
};

/* The beginning of an array. */
struct npy_bytes {
    const uint8_t *p;
    size_t n;
    uint64_t at;                /* file offset of p, or ERR_NO_OFFSET */
    const char *name;           /* of the array, for messages */
    size_t name_len;
};

/* Whether bytes begin as an array does. */
bool npy_is(const uint8_t *p, size_t n);

/* Bytes of the whole header, of which the first NPY_FIXED are given, or all that the array has. ERR_MALFORMED. */
bool npy_length(uint64_t *length, const struct npy_bytes *in, struct err *err);

/* Read a whole header, of as many bytes or, when it has more than NPY_FIXED and NPY_HEADER_MAX, of those. ERR_UNSAFE: its
 * elements are Python objects, that is a pickle. ERR_MALFORMED, ERR_LIMIT, ERR_UNSUPPORTED: what has no name of its own
 * (several types in one text, an escape in it). */
bool npy_read(struct npy *npy, const struct npy_bytes *in, struct err *err);

/* Put it into the catalog under the name in `in`; `extent` is that of its elements. */
bool npy_add(struct catalog *c, const struct npy *npy, const struct npy_bytes *in, const struct extent *extent,
    struct err *err);

#endif
