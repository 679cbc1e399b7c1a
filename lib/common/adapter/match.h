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
    struct towers *towers;
    struct change **change;             /* one for each chosen tensor, or NULL; owned by the caller */
    bool *replaced;                     /* likewise */
};

/* Finds what the modules of a single file change by the part of the model that their names start with. Fails with ERR_MALFORMED if the
 * base lacks some of a part that it has, or all. Call it first. */
bool match_towers(const struct match_job *m, const struct adapter *a, struct err *err);

/* Replaces the tensors that the modules of an adapter replace. Call it for all adapters before match_steps(). */
bool match_replace(const struct match_job *m, const struct adapter *a, struct err *err);

/* Appends the steps of an adapter to the changes of its weights. */
bool match_steps(const struct match_job *m, const struct adapter *a, struct err *err);

/* Appends the steps of a module that changes parts of weights, or stored otherwise than the adapter has them. */
bool match_parts(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err);

/* Sets *index to the weight or the bias of a module, or to WEIGHT_NONE. */
enum match_kind { MATCH_WEIGHT, MATCH_BIAS };
bool match_find(size_t *index, const struct match_job *m, const struct adapter *a, const struct adapter_module *module,
    enum match_kind kind, struct err *err);

/* Returns the change of a chosen tensor, making it if necessary. NULL on failure. */
struct change *match_change(const struct match_job *m, size_t index, struct err *err);

/* Sets rows and columns of a tensor as a matrix; one without columns has one. Returns false if it is empty. */
bool match_measure(const struct tensor *t, uint64_t *rows, uint64_t *cols);

/* Fails with ERR_LIMIT if R of this rank and these columns exceeds --max-alloc. */
bool match_fits(const struct match_job *m, const struct adapter_module *module, uint64_t rank, uint64_t cols, struct err *err);

#endif
