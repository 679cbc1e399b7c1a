#include "scheme/zeros.h"

#include <stdlib.h>

#include "base/str.h"

bool
zeros_test(const struct claims *c, const struct tensor *t, bool *zero, struct err *err)
{
    enum { MOST = 16 << 20 };
    uint64_t size = dtype_facts(t->dtype)->bytes, n = t->extent.nbytes;
    uint8_t sign = dtype_facts(t->dtype)->kind == DTYPE_IS_FLOAT ? 0x80 : 0;       /* in the last byte of an element */
    *zero = true;
    if (!c->contents || n == 0)
        return true;
    uint8_t *p = claims_read(c, t, MOST, "bytes of zero points", err);
    for (uint64_t i = 0; p && i < n; i++)
        *zero = *zero && (p[i] & ~(i % size == size - 1 ? sign : 0)) == 0;
    free(p);
    return p != NULL;
}

bool
zeros_check(const struct claims *c, const struct tensor *t, const char *weight, struct err *err)
{
    bool zero = true;
    char name[STR_SHOWN];
    if (t && !zeros_test(c, t, &zero, err))
        return false;
    return zero || err_at(err, ERR_UNSUPPORTED, t->extent.at, "tensor %s: %s with a nonzero zero point is not supported",
        str_shown(name, t->name, t->name_len), weight);
}
