/* dora: scales a weight that a low-rank step has changed so that its rows, or its columns, have the norms of the adapter. */
#ifndef ADAPTER_DORA_H
#define ADAPTER_DORA_H

#include <stdatomic.h>

#include "adapter/change.h"

/* Norm of the row that a block boundary cuts; the next block needs it again. A worker may overwrite it; owned by the
 * catalog. */
struct dora_last {
    atomic_flag busy;
    uint64_t row;               /* or UINT64_MAX */
    double norm;
};

struct dora {
    const struct tensor *m;             /* one value for each row, or for `each` adjacent columns */
    bool columns;
    uint64_t each;
    struct dora_last *last;             /* of rows */
    double epsilon;                     /* is added to each norm */
    double c;                           /* 1; else the result is between the weight (0) and the scaled one (1), or beyond */
};

/* Applies a step with norms to a part of a run. For the norms it reads the other elements of a row, or once the whole weight. */
bool dora_apply(const struct change *c, const struct change_step *step, const struct delta_run *run,
    const struct product_part *part, struct err *err);

/* Mixes into the fingerprint of a change. */
void dora_mix(const struct dora *dora, uint64_t *hash);

#endif
