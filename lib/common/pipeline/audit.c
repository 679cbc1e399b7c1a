#include "pipeline/audit.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/num.h"

enum { STEP = 16 << 10 };

static bool
count(struct nonfinite *sum, const struct model *model, const struct tensor *t, uint8_t buf[STEP], struct err *err)
{
    size_t size = nonfinite_size(t->dtype);
    for (uint64_t done = 0; size != 0 && done < t->extent.nbytes;) {
        size_t n = (size_t)num_min(STEP, t->extent.nbytes - done);
        if (!model_bytes(model, t, done, buf, n, err))
            return false;
        if (t->big_endian)
            bytes_swap(buf, size, n / size);
        nonfinite_add(sum, t->dtype, buf, n / size);
        done += n;
    }
    return true;
}

bool
audit_scales(struct nonfinite *sum, const struct model *model, const struct roles *roles, struct err *err)
{
    uint8_t *buf = malloc(STEP);
    bool ok = buf || err_memory(err, STEP);
    *sum = (struct nonfinite){ 0 };
    for (size_t i = 0; ok && i < roles_weight_count(roles); i++)
        for (unsigned p = 1; ok && p < SCHEME_PARTS; p++) {
            const struct tensor *t = roles_weight(roles, i)->part[p];
            ok = !t || count(sum, model, t, buf, err);
        }
    free(buf);
    return ok;
}
