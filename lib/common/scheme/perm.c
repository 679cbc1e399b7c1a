#include "scheme/perm.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/str.h"

enum { G_IDX_MAX = 64 << 20 };          /* bytes read when a weight is claimed, at most */

bool
perm_check(const struct claims *c, const struct tensor *t, uint64_t n, struct err *err)
{
    char name[STR_SHOWN];
    if (!c->contents)
        return true;
    uint8_t *p = claims_read(c, t, 4 * PERM_MAX, "bytes of a column permutation", err);
    uint8_t *seen = NULL;
    if (p)
        seen = calloc(PERM_MAX / 8, 1);
    bool ok = seen != NULL || (p && err_memory(err, PERM_MAX / 8));
    for (uint64_t i = 0; ok && i < n; i++) {
        uint32_t k = perm_at(t, p, i);
        if (k >= n || (seen[k / 8] >> k % 8 & 1) != 0)
            ok = err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: item %" PRIu64 " is %" PRIu32 "%s, expected each "
                "of 0 to %" PRIu64 " once", str_shown(name, t->name, t->name_len), i, k, k < n ? " (duplicate)" : "", n - 1);
        else
            seen[k / 8] |= (uint8_t)(1 << k % 8);
    }
    free(seen);
    free(p);
    return ok;
}

uint8_t *
perm_read_groups(const struct claims *c, const struct tensor *t, uint64_t n, uint64_t groups, bool wraps, struct err *err)
{
    char name[STR_SHOWN];
    uint8_t *p = claims_read(c, t, G_IDX_MAX, "bytes of a g_idx", err);
    uint64_t unused = 0;
    for (uint64_t i = 0; p && i < n; i++) {
        int64_t g = (int32_t)load_le32(p + 4 * i);
        unused += !wraps && g == -1;
        bool ok;
        if (unused != 0)
            ok = unused == i + 1;
        else
            ok = g < (int64_t)groups && g >= (wraps ? -(int64_t)groups : 0);
        if (!ok) {
            err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: item %" PRIu64 " is %" PRId64 ", expected one of %" PRIu64
                " groups%s", str_shown(name, t->name, t->name_len), i, g, groups, wraps ? "" : ", or -1 for all items");
            free(p);
            p = NULL;
        }
    }
    return p;
}
