/* deepspeed_priv: shared by deepspeed.c (the files of a tag, and what is written from where), deepspeed_masters.c (the flat vectors of
 * the optimizer) and deepspeed_universal.c. Source: DeepSpeed, runtime/engine.py, utils/zero_to_fp32.py. */
#ifndef CONTAINER_SHARDED_DEEPSPEED_PRIV_H
#define CONTAINER_SHARDED_DEEPSPEED_PRIV_H

#include "container/sharded/sharded_priv.h"

/* A dictionary of texts, by name. Empty when zero-initialized. */
struct ds_names {
    const struct pickle_value **name, **value;  /* n; owned */
    size_t n, room, room_values;
    struct table table;
};

/* Adds all items of a dictionary, or of a list, whose values are NULL; nothing for any other value. Fails with ERR_MALFORMED if a name is
 * no text. */
bool ds_names_add(struct ds_names *names, const struct pickle *k, const struct pickle_value *of, struct err *err);
/* Sets *i to the number of a name; false if it is not there. */
bool ds_names_find(const struct ds_names *names, const struct pickle_value *name, uint32_t *i);
void ds_names_clear(struct ds_names *names);

/* A parameter in the flat vectors. */
struct ds_param {
    uint64_t at, numel;         /* its first element in the vector of its group; stage 3: in that of each rank */
    uint32_t group;
};

/* One flat vector of the optimizer in one file. */
struct ds_vector {
    uint32_t file, group;
    uint64_t at, n;             /* offset in the file; elements */
};

struct deepspeed {
    struct sharded *s;
    struct err *err;
    struct torch_file states;   /* the model states of rank 0 */
    uint32_t states_file;
    unsigned stage;             /* 0: no optimizer states are read */
    uint64_t world;             /* ranks */
    uint64_t zero_stage;        /* as the optimizer states of rank 0 say */
    struct ds_names module, buffers, shared, frozen, fragments, params;
    struct ds_param *param;     /* one for each of params; owned */
    uint32_t ngroups;
    struct ds_vector *vector;   /* those of rank r: [first[r], first[r + 1]); owned */
    size_t nvectors, room_vectors, *first;
};

/* Fails with ERR_MALFORMED, naming the file. */
bool ds_bad(const struct deepspeed *d, uint32_t file, const char *what);

/* Opens the optimizer files of all ranks, finds their vectors, and places all parameters in them. */
bool ds_masters_read(struct deepspeed *d);

/* Writes parameter i under a name, which is escaped in `shown`. */
bool ds_masters_add(struct deepspeed *d, uint32_t i, const struct str *name, const char *shown);

/* Adds run [from, from + n) of a vector as elements [to, to + n) of the tensor. */
bool ds_add_run(struct deepspeed *d, uint32_t file, uint64_t at, uint64_t to, uint64_t n);

#endif
