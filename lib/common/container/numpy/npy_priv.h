/* npy_priv: the tokens of an array's header. */
#ifndef CONTAINER_NUMPY_NPY_PRIV_H
#define CONTAINER_NUMPY_NPY_PRIV_H

#include "container/numpy/npy.h"

enum npy_word { NPY_END, NPY_TEXT, NPY_NUMBER, NPY_NAME, NPY_MARK };

struct npy_text {
    const uint8_t *p, *end;
    const struct npy_bytes *in; /* the array, for messages */
    bool longs;                 /* 3L is a number, as in versions 1 and 2 */
    struct err *err;

    enum npy_word word;         /* the last token read */
    const uint8_t *from;        /* its first byte; of a string, the one after the quote */
    size_t n;                   /* its length; of a string, without quotes */
    uint64_t number;
    char mark;                  /* of an NPY_MARK, else 0 */
};

/* Reads the next token into t. */
bool npy_next(struct npy_text *t);

/* Sets an error about the array: npy_bad() at byte `i` of it, npy_fail() at the current position. */
bool npy_bad(const struct npy_bytes *in, size_t i, struct err *err, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool npy_fail(const struct npy_text *t, enum err_kind kind, const char *what);

#endif
