/* match: gives each module of the adapters to the weights that it changes. */
#ifndef ADAPTER_MATCH_H
#define ADAPTER_MATCH_H

#include "adapter/form.h"
#include "adapter/translation.h"

struct match_job {
    const struct adapter_job *job;
    struct choice *choice;
    struct weight_names *names;
    struct translation *translation;    /* of a GGUF base, once it was needed; or NULL */
    bool looked;                        /* whether it was looked for */
    struct towers *towers;
    const struct change_owner *owner;
    const struct adapter *list;         /* n of them */
    size_t n;
    struct change **change;             /* one for each chosen tensor, or NULL; owned by the caller */
    bool *replaced;                     /* for each chosen tensor; owned by the caller */
    size_t head;                        /* the head that was parted from the embedding, or WEIGHT_NONE */
    struct adapter_effects *effects;
    bool warned;                        /* about square experts */
};

/* Run in this order, all but the second for each adapter. match_towers() finds what the modules of a single file change by the
 * part of the model that their names start with. It fails with ERR_MALFORMED if the base lacks some modules of a component it
 * contains, or every module. match_tied() parts a head that is tied to the embedding if an adapter changes them differently;
 * match_replace() replaces tensors; match_steps() appends steps to the changes of weights. */
bool match_towers(struct match_job *m, const struct adapter *a, struct err *err);
bool match_tied(struct match_job *m, struct err *err);
bool match_replace(struct match_job *m, const struct adapter *a, struct err *err);
bool match_steps(struct match_job *m, const struct adapter *a, struct err *err);

#endif
