/* put: appends little-endian numbers and GGUF strings to a header or an array. */
#ifndef WRITER_PUT_H
#define WRITER_PUT_H

#include "base/bytes.h"
#include "base/str.h"

/* Appends the low nbytes bytes of v, at most 8. */
static inline void
put(struct str *out, uint64_t v, size_t nbytes)
{
    uint8_t bytes[8];
    store_le64(bytes, v);
    str_add(out, (const char *)bytes, nbytes);
}

/* Appends n bytes, preceded by their number. */
static inline void
put_counted(struct str *out, const char *p, size_t n)
{
    put(out, n, 8);
    str_add(out, p, n);
}

#endif
