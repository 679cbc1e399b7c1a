#include "base/limits.h"

#include <inttypes.h>

#include "base/num.h"

const struct limits limits_default = {
    .alloc = UINT64_C(1) << 30,
    .total = UINT64_C(2) << 30,
    .items = 1000000,
    .ratio = 40000,                     /* zstd makes 32768 of zeros, xz 7000, gzip 1032 */
    .ratio_head = 200,
    .window = UINT64_C(128) << 20,      /* what zstd itself takes unasked */
    .rank = 64,
    .json_header = 100000000,
    .json_depth = 127,
    .index_file = 100000000,
    .side_file = 16 << 20,
    .shards = 10000,
    .gguf_key = 65535,
    .gguf_string = 16 << 20,
    .gguf_array = 16000000,
    .gguf_depth = 4,
    .gguf_alignment = 1 << 20,
};

bool
limits_check(uint64_t n, uint64_t max, const char *what, struct err *err)
{
    if (n <= max)
        return true;
    return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "%s: %" PRIu64 " is over the limit of %" PRIu64, what, n, max);
}

bool
budget_bytes(struct budget *b, uint64_t n, const char *what, struct err *err)
{
    uint64_t sum;
    if (!limits_check(n, b->limits.alloc, what, err))
        return false;
    if (!num_add(&sum, b->bytes, n))
        sum = UINT64_MAX;
    if (sum > b->limits.total)
        return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "%s: %" PRIu64 " bytes in all are over the limit of %" PRIu64,
            what, sum, b->limits.total);
    b->bytes = sum;
    return true;
}

bool
budget_items(struct budget *b, uint64_t n, const char *what, struct err *err)
{
    uint64_t sum;
    if (!num_add(&sum, b->items, n))
        sum = UINT64_MAX;
    if (!limits_check(sum, b->limits.items, what, err))
        return false;
    b->items = sum;
    return true;
}
