/* match: gives each module of the adapters to the weights that it changes. */
#ifndef ADAPTER_MATCH_H
#define ADAPTER_MATCH_H

#include "adapter/form.h"
#include "adapter/translate.h"

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

/* --- internal to matching */

/* Finds the tensor of this name, or WEIGHT_NONE. */
bool match_find(struct weight_place *place, struct match_job *m, const struct adapter *a, const char *name, size_t n,
    enum weight_search how, struct err *err);

/* Finds the weight or the bias of a module. */
bool match_module(struct weight_place *place, struct match_job *m, const struct adapter *a, const struct adapter_module *module, bool bias,
    struct err *err);

/* Appends a tensor to the choice; the name is copied. Sets *index. */
bool match_append(size_t *index, struct match_job *m, const struct chosen *chosen, const char *name, size_t n, struct err *err);

/* Adds a step of a module to a place. `t` is the factor that showed its form. */
bool match_add(struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct weight_place *place,
    const struct tensor *t, struct change_step *step, struct err *err);

/* Returns the arguments of a form. */
struct arranging match_arranging(const struct match_job *m, const struct adapter *a, const struct adapter_module *module,
    const struct weight_place *place, const struct tensor *t);

/* Fails for a module without a weight. */
bool match_missing(struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err);

/* Adds the steps of a module that changes experts under another name than its own. *taken: it did. */
bool match_experts(bool *taken, struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err);

/* Adds the steps of a module that changes parts of weights, or weights stored otherwise than the adapter has them. */
bool match_parts(struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err);

/* Finds the part of a stacked tensor that is the weight of a module of one expert; *place is unchanged if no expert has it. */
bool match_expert(struct weight_place *place, struct match_job *m, const struct adapter *a, const struct adapter_module *module,
    struct err *err);

/* Reads the base's config.json; *config, which the caller frees, is NULL without one. */
bool match_config(json_t **config, const struct match_job *m, struct err *err);

/* Checks that two tensors of adapters have the same bytes; sets *same. */
bool match_same(bool *same, const struct match_job *m, const struct tensor *a, const struct tensor *b, struct err *err);

#endif
