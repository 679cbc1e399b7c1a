/* match: gives each module of the adapters to the weights that it changes. */
#ifndef ADAPTER_MATCH_H
#define ADAPTER_MATCH_H

#include "adapter/adapter_priv.h"
#include "adapter/change.h"
#include "adapter/names.h"

struct match_job {
    const struct adapter_job *job;
    struct choice *choice;
    const struct weight_names *names;
    const struct change_owner *owner;
    struct change **change;             /* one for each chosen tensor, or NULL; owned by the caller */
    bool *replaced;                     /* likewise */
};

/* Replaces the tensors that the modules of an adapter replace. Call it for all adapters before match_steps(). */
bool match_replace(const struct match_job *m, const struct adapter *a, struct err *err);

/* Appends the steps of an adapter to the changes of its weights. */
bool match_steps(const struct match_job *m, const struct adapter *a, struct err *err);

#endif
