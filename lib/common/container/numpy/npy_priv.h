/* npy_priv: the words of the header of an array. */
#ifndef CONTAINER_NUMPY_NPY_PRIV_H
#define CONTAINER_NUMPY_NPY_PRIV_H

#include "container/numpy/npy.h"

enum npy_word { NPY_END, NPY_TEXT, NPY_NUMBER, NPY_NAME, NPY_MARK };

struct npy_text {
    const uint8_t *p, *end;
    const struct npy_bytes *in; /* what it is of */
    bool longs;                 /* 3L is a number: versions 1 and 2 */
    struct err *err;

    enum npy_word word;         /* the one that was read last */
    const uint8_t *from;        /* its first byte; of a text the one behind the quote */
    size_t n;                   /* its length; of a text without quotes */
    uint64_t number;
    char mark;                  /* of a NPY_MARK, else 0 */
};

/* The next word becomes t's own. */
bool npy_next(struct npy_text *t);

/* A failure about the array, `i` bytes behind its beginning; one where the words have been read to. */
bool npy_bad(const struct npy_bytes *in, size_t i, struct err *err, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool npy_fail(const struct npy_text *t, enum err_kind kind, const char *what);

#endif
