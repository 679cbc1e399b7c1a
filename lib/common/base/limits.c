#include "base/limits.h"

#include <inttypes.h>

#include "base/num.h"

const struct limits limits_default = {
    .alloc = UINT64_C(1) << 30,
    .total = UINT64_C(2) << 30,
    .items = 1000000,
    .ratio = 40000,                     /* zstd reaches 32768 with zeros, xz 7000, gzip 1032 */
};

bool
limits_check(uint64_t n, uint64_t max, const char *what, struct err *err)
{
    if (n <= max)
        return true;
    return err_set(err, ERR_LIMIT, "%s: %" PRIu64 " exceeds the limit of %" PRIu64, what, n, max);
}

const char *
limits_origin(uint64_t max, uint64_t ceiling, const char *option)
{
    if (max < ceiling)
        return option;
    return "built in";
}

/* Reports that a limit is exceeded that an option can lower. */
static bool
limits_refuse(uint64_t n, const char *unit, uint64_t max, uint64_t ceiling, const char *option, const char *what, struct err *err)
{
    return err_set(err, ERR_LIMIT, "%s: %" PRIu64 "%s exceeds the limit of %" PRIu64 " (%s)", what, n, unit,
        max, limits_origin(max, ceiling, option));
}

bool
budget_allows(const struct budget *b, uint64_t n, const char *what, struct err *err)
{
    return n <= b->limits.alloc || limits_refuse(n, "", b->limits.alloc, limits_default.alloc, "--max-alloc", what, err);
}

bool
budget_bytes(struct budget *b, uint64_t n, const char *what, struct err *err)
{
    uint64_t sum;
    if (!budget_allows(b, n, what, err))
        return false;
    if (!num_add(&sum, b->bytes, n))
        sum = UINT64_MAX;
    if (sum > b->limits.total)
        return limits_refuse(sum, " bytes in total", b->limits.total, limits_default.total, "--max-total", what, err);
    b->bytes = sum;
    return true;
}

bool
budget_items(struct budget *b, uint64_t n, const char *what, struct err *err)
{
    uint64_t sum;
    if (!num_add(&sum, b->items, n))
        sum = UINT64_MAX;
    if (sum > b->limits.items)
        return limits_refuse(sum, "", b->limits.items, limits_default.items, "--max-items", what, err);
    b->items = sum;
    return true;
}
