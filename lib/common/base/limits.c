#include "base/limits.h"

#include <inttypes.h>

const struct limits limits_default = {
    .alloc = UINT64_C(1) << 30,
    .total = UINT64_C(2) << 30,
    .items = 1000000,
    .ratio = 1100,
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
