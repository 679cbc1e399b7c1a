#include "hf/same.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

bool
hf_same_bytes(bool *same, struct model *model, const struct tensor *a, const struct tensor *b, struct err *err)
{
    enum { STEP = 1 << 20 };
    uint64_t size = a->extent.nbytes, n;
    *same = a->dtype == b->dtype && a->shape.rank == b->shape.rank && shape_same(&a->shape, &b->shape, a->shape.rank);
    if (!*same)
        return true;
    uint8_t *buf = malloc(2 * STEP);
    bool ok = (buf || err_memory(err, 2 * STEP)) && model_spool(model, err);
    for (uint64_t at = 0; ok && *same && at < size; at += n) {
        n = num_min(STEP, size - at);
        ok = model_bytes(model, a, at, buf, (size_t)n, err) && model_bytes(model, b, at, buf + STEP, (size_t)n, err);
        *same = ok && memcmp(buf, buf + STEP, (size_t)n) == 0;
    }
    free(buf);
    return ok;
}
