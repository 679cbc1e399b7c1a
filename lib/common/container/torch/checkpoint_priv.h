/* Shared by the files of a checkpoint: checkpoint.c (storages, limits, the catalog), checkpoint_walk.c (names) and rebuild.c
 * (the tensors that calls of torch's rebuild functions describe). */
#ifndef CONTAINER_TORCH_CHECKPOINT_PRIV_H
#define CONTAINER_TORCH_CHECKPOINT_PRIV_H

#include "container/torch/checkpoint.h"
#include "container/torch/pickle_priv.h"

enum unnamed {
    NAMED,
    UNNAMED_KEY,                /* a key on its path is neither text nor an integer */
    UNNAMED_SURROGATE,          /* a key on its path has half of a surrogate pair */
    UNNAMED_LONG,
    UNNAMED_SET,                /* it is in a set, whose items have no names */
    UNNAMED_ARRAY,              /* it is an array of NumPy, which is left out */
    UNNAMED_OBJECT              /* it is an object that holds tensors, a tensor that holds objects, or a class */
};

struct checkpoint_tensor {
    const struct pickle_value *value;
    uint64_t name_at;           /* in checkpoint.names */
    uint32_t name_len;          /* the part that could be made */
    uint32_t first;             /* bytes of its first key */
    uint8_t depth;              /* keys */
    uint8_t unnamed;
};

/* A tensor and its place in a storage. */
struct rebuilt {
    const struct torch_type *type;      /* NULL: none, because it has a form */
    const char *form;           /* NULL: dense; "sparse_coo" or "meta": it has no data; static */
    const struct checkpoint_storage *storage;   /* NULL if it has no data */
    uint64_t offset, room;      /* offset of the first element, in elements; bytes that it may use */
    uint64_t numel, nbytes;
    uint32_t rank;
    uint64_t size[LAYOUT_RANK], stride[LAYOUT_RANK];
    uint8_t sign;
};

/* Returns true if a value describes a tensor. */
bool rebuild_is_tensor(const struct checkpoint *c, const struct pickle_value *v);

/* Reads the tensor that a value describes; `name`, escaped, is for messages. Fails with ERR_MALFORMED, ERR_UNSUPPORTED,
 * ERR_LIMIT. */
bool rebuild(const struct checkpoint *c, const struct pickle_value *v, const char *name, struct rebuilt *r,
    struct err *err);

/* Checks size, strides and offset against the `room` bytes that the tensor may use; sets numel and nbytes. */
bool rebuild_check(struct rebuilt *r, const char *name, struct err *err);

/* The storage that a persistent id names. */
struct storage_id {
    char number[24];            /* the key as text, if the pickle has a number */
    const char *key;            /* NULL: use `number` */
    uint32_t key_len;
    bool untyped, view;
    const struct torch_type *type;
    uint64_t numel;
    uint64_t view_offset, view_numel;   /* of a view of it, in elements */
};
bool storage_id_read(const struct checkpoint *c, const struct pickle_value *persistent, struct storage_id *id,
    struct err *err);

/* Finds the storages only, without any tensor. */
bool checkpoint_storages(struct checkpoint *c, const struct pickle *pickle, struct budget *budget, struct err *err);

/* Finds all tensors and their names: checkpoint.tensor and checkpoint.names. */
bool checkpoint_walk(struct checkpoint *c, const struct pickle_value *root, struct budget *budget, struct err *err);

/* Keeps only those under checkpoint.options.root, then checks that every tensor has a name and no two share one. */
bool checkpoint_choose(struct checkpoint *c, struct err *err);

#endif
