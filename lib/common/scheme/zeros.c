#include "scheme/zeros.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/str.h"

bool
zeros_check(const struct claims *c, const struct tensor *t, const char *weight, struct err *err)
{
    enum { MOST = 16 << 20 };
    const struct contents *contents = c->contents;
    char name[STR_SHOWN];
    if (!t || !contents || t->extent.nbytes == 0)
        return true;
    uint64_t size = dtype_facts(t->dtype)->bytes, n = t->extent.nbytes;
    str_shown(name, t->name, t->name_len);
    if (n > MOST)
        return err_set(err, ERR_LIMIT, t->extent.at, "tensor %s: zero point of %" PRIu64 " bytes exceeds the limit of "
            "%d", name, n, MOST);
    uint8_t *p = malloc((size_t)n);
    bool ok = p ? contents->read(contents->of, t, p, err) : err_memory(err, n);
    uint8_t sign = dtype_facts(t->dtype)->kind == DTYPE_IS_FLOAT ? 0x80 : 0;       /* in the last byte of an element */
    for (uint64_t i = 0; ok && i < n; i++)
        if ((p[i] & ~(i % size == size - 1 ? sign : 0)) != 0)
            ok = err_set(err, ERR_UNSUPPORTED, t->extent.at, "tensor %s: %s with a nonzero zero point is not supported", name,
                weight);
    free(p);
    return ok;
}
