/* put: little-endian numbers, appended to a header. */
#ifndef WRITER_PUT_PRIV_H
#define WRITER_PUT_PRIV_H

#include "base/bytes.h"
#include "base/str.h"

/* The low nbytes of v, at most 8. */
static inline void
put(struct str *out, uint64_t v, size_t nbytes)
{
    uint8_t bytes[8];
    store_le64(bytes, v);
    str_add(out, (const char *)bytes, nbytes);
}

#endif
