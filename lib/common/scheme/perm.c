#include "scheme/perm.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/str.h"

bool
perm_check(const struct claims *c, const struct tensor *t, uint64_t n, struct err *err)
{
    char name[STR_SHOWN];
    if (!c->contents)
        return true;
    uint8_t *p = claims_read(c, t, 4 * PERM_MAX, "bytes of an order of columns", err);
    uint8_t *seen = p ? calloc(PERM_MAX / 8, 1) : NULL;
    bool ok = seen != NULL || (p && err_memory(err, PERM_MAX / 8));
    for (uint64_t i = 0; ok && i < n; i++) {
        uint32_t k = perm_at(t, p, i);
        if (k >= n || (seen[k / 8] >> k % 8 & 1) != 0)
            ok = err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: item %" PRIu64 " is %" PRIu32 "%s, expected each "
                "of 0 to %" PRIu64 " once", str_shown(name, t->name, t->name_len), i, k, k < n ? " again" : "", n - 1);
        else
            seen[k / 8] |= (uint8_t)(1 << k % 8);
    }
    free(seen);
    free(p);
    return ok;
}
