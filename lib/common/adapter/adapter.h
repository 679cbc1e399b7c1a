/* Layer adapter: low-rank adapters and their kin, added to the weights of a model while they are read. It finds out which weight
 * each factor belongs to and how it changes the weight, and leaves the rest to plan/delta.h: no other layer knows adapters.
 * Start here; then adapter_priv.h, and change.c, where each kind of change is a row. */

/* adapter: the adapters of one job. */
#ifndef ADAPTER_ADAPTER_H
#define ADAPTER_ADAPTER_H

#include "model/model.h"
#include "plan/choice.h"
#include "plan/delta.h"
#include "plan/naming.h"

/* An --adapter option. */
struct adapter_argument {
    char *path;                 /* owned */
    double scale;               /* multiple of the change */
};

/* In the order of the command line; empty when zero-initialized. */
struct adapter_arguments {
    struct adapter_argument *list;      /* n of them; owned */
    size_t n, room;
};

/* Appends PATH[:SCALE]; `arg` is PATH if such a file exists. Fails with ERR_USAGE for an empty path or a scale that is not
 * a finite decimal number. */
bool adapter_argument_add(struct adapter_arguments *args, const char *arg, struct err *err);
void adapter_arguments_clear(struct adapter_arguments *args);

struct adapters;

/* How the adapters are applied. */
struct adapter_job {
    struct model *model;                /* borrowed; receives the adapters' files, and warnings */
    const struct kernels *kernels;
    const struct limits *limits;
    enum dtype element;                 /* type of dequantized weights in the output */
    bool dir;                           /* the output is a directory with config.json and a tokenizer */
    bool gguf;                          /* the output is GGUF, converted from a directory */
    const struct naming *which;         /* the tensors that change; borrowed. NULL: all */
};

/* What the files beside the weights have to say about a merged model. */
struct adapter_effects {
    bool untied;                        /* the head is no longer tied to the embedding */
    uint64_t vocabulary;                /* rows of a replaced embedding; 0: as before */
    const char *tokenizer;              /* directory with the tokenizer of the last adapter that has one, or NULL; borrowed from
                                         * the adapters */
};

/* Opens the adapters and changes the chosen tensors of a model: those that a module belongs to get a delta, replaced ones
 * become tensors of the adapter. Reads headers and configs, and no factors. Call it after choice_make() and before tensors
 * are renamed. *out is NULL without arguments; the caller frees it after the output is complete, also after a failure.
 *
 * Fails with ERR_OPEN if the file does not exist, ERR_MALFORMED if an adapter contradicts itself or the model,
 * ERR_UNSUPPORTED for a form that is not merged, ERR_LIMIT, or ERR_USAGE. */
bool adapters_apply(struct adapters **out, const struct adapter_arguments *args, const struct adapter_job *job,
    struct choice *choice, struct err *err);
void adapters_free(struct adapters *a);         /* accepts NULL */

/* Has the elements that change read more than once, so that a pipe is spooled; accepts NULL. */
void adapters_read_again(struct adapters *a);

/* Returns the changes of tensors of the choice, *n of them, by number; accepts NULL. Borrowed. */
const struct delta *const *adapters_deltas(const struct adapters *a, size_t *n);

/* Returns what adapters_apply() found; accepts NULL. */
struct adapter_effects adapters_effects(const struct adapters *a);

#endif
