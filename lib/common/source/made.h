/* made: a source whose bytes a function puts together, such as tensors that lie in pieces in several files. */
#ifndef SOURCE_MADE_H
#define SOURCE_MADE_H

#include "source/source.h"

struct made_bytes {
    /* Writes bytes [at, at + n) to buf. Callable from any thread. */
    bool (*read)(const void *of, uint64_t at, void *buf, size_t n, struct err *err);
    /* Tells that bytes [from, to) will not be read again. */
    void (*drop)(const void *of, uint64_t from, uint64_t to);
    /* Frees `of`. */
    void (*close)(void *of);
    void *of;                   /* owned by the source once it is made */
};

/* Makes a seekable source of `size` bytes. Copies `made` and `shown`, the name in messages. Fails with ERR_MEMORY; the caller then
 * frees `of`. The caller closes the source. */
bool source_of_made(struct source **src, const struct made_bytes *made, uint64_t size, const char *shown, struct err *err);

#endif
