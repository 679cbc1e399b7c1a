#include "command/hash.h"

#include <stdlib.h>

#include "pipeline/digest.h"

enum { HASH_JOBS_MAX = 256 };

bool
hash_take(struct hash *hash, const struct cli_option *option, const char *arg, struct err *err)
{
    uint64_t n;
    if (option->key == CLI_OPT_HASH)
        return hash->wanted = true;
    if (option->key == CLI_OPT_STORED)
        return hash->stored = true;
    if (option->key != 'j')
        return true;
    if (!cli_number(&n, option, arg, 0, HASH_JOBS_MAX, err))
        return false;
    hash->jobs = (unsigned)n;
    return true;
}

bool
hash_operand(struct digests *d, const struct operand *operand, unsigned which, enum dtype to, unsigned jobs, struct err *err)
{
    const struct kernels *kernels = kernels_values(getenv("AMN_CPU"), err);
    *d = (struct digests){ 0 };
    if (!kernels || !digests_init(d, operand->model->catalog, operand->roles, which, err))
        return false;
    d->to = to;
    bool ok = digest_model(d, operand->model, kernels, jobs, err);
    meter_phase(operand->model->meter, "writing", 0);
    return ok;
}
