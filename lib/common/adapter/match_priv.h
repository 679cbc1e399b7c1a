/* match_priv: the steps of matching, in order: each uses those before it. */
#ifndef ADAPTER_MATCH_PRIV_H
#define ADAPTER_MATCH_PRIV_H

#include "adapter/match.h"

/* match_find.c */

/* Finds the tensor of this name, or WEIGHT_NONE. */
bool match_find(struct weight_place *place, struct match_job *m, const struct adapter *a, const char *name, size_t n,
    enum weight_search how, struct err *err);

/* Finds the weight or the bias of a module by its name alone. */
bool match_named(struct weight_place *place, struct match_job *m, const struct adapter *a, const struct adapter_module *module, bool bias,
    struct err *err);

/* Fails for a module without a weight. */
bool match_missing(struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err);

/* Reads the base's config.json; *config, which the caller frees, is NULL without one. */
bool match_config(json_t **config, const struct match_job *m, struct err *err);

/* match_add.c */

/* Appends a tensor to the choice; the name is copied. Sets *index. */
bool match_append(size_t *index, struct match_job *m, const struct chosen *chosen, const char *name, size_t n, struct err *err);

/* Returns the arguments of a form. */
struct arranging match_arranging(const struct match_job *m, const struct adapter *a, const struct adapter_module *module,
    const struct weight_place *place, const struct tensor *t);

/* Adds a step of a module to a place. `t` is the factor that showed its form. */
bool match_add(struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct weight_place *place,
    const struct tensor *t, struct change_step *step, struct err *err);

/* match_experts.c */

/* Finds the weight or the bias of a module, also where the module is one expert and the base stacks them. */
bool match_module(struct weight_place *place, struct match_job *m, const struct adapter *a, const struct adapter_module *module, bool bias,
    struct err *err);

/* Adds the steps of a module that changes experts under another name than its own. *taken: it did. */
bool match_experts(bool *taken, struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err);

/* match_parts.c */

/* Adds the steps of a module that changes parts of weights, or weights stored otherwise than the adapter has them. */
bool match_parts(struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err);

#endif
