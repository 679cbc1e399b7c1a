/* What the files of a checkpoint share: checkpoint.c (storages, limits, the catalog), checkpoint_walk.c (names),
 * rebuild.c (what the calls of torch's rebuild functions describe). */
#ifndef CONTAINER_TORCH_CHECKPOINT_PRIV_H
#define CONTAINER_TORCH_CHECKPOINT_PRIV_H

#include "container/torch/checkpoint.h"
#include "container/torch/pickle_priv.h"

enum unnamed {
    NAMED,
    UNNAMED_KEY,                /* its key, or one above it, is of a type that makes no name */
    UNNAMED_SURROGATE,          /* or has half of a surrogate pair alone */
    UNNAMED_LONG,
    UNNAMED_SET                 /* it is in a set, where nothing has a name */
};

struct checkpoint_tensor {
    const struct pickle_value *value;
    uint64_t name_at;           /* in checkpoint.names */
    uint32_t name_len;          /* as far as it could be made */
    uint32_t first;             /* bytes of its first key */
    uint8_t depth;              /* keys */
    uint8_t unnamed;
};

/* A tensor as it lies in a storage. */
struct rebuilt {
    const struct torch_type *type;      /* NULL: of no type, since it has a form */
    const char *form;           /* NULL: dense. "sparse_coo", "meta": it has no bytes of its own; static */
    const struct checkpoint_storage *storage;   /* NULL when it has no bytes */
    uint64_t offset, room;      /* elements of its type: of the first one, and bytes of what it may reach into */
    uint64_t numel, nbytes;
    uint32_t rank;
    uint64_t size[LAYOUT_RANK], stride[LAYOUT_RANK];
    uint8_t sign;
};

/* Whether a value describes a tensor. */
bool rebuild_is_tensor(const struct checkpoint *c, const struct pickle_value *v);

/* What it describes; `name`, escaped, for messages. ERR_MALFORMED, ERR_UNSUPPORTED, ERR_LIMIT. */
bool rebuild(const struct checkpoint *c, const struct pickle_value *v, const char *name, struct rebuilt *r,
    struct err *err);

/* Check its size, strides and offset against the `room` bytes it lies in; sets numel and nbytes. */
bool rebuild_check(struct rebuilt *r, const char *name, struct err *err);

/* The storage that a persistent id names. */
struct storage_id {
    char number[24];            /* its key, when that is a number */
    const char *key;            /* NULL: it is `number` */
    uint32_t key_len;
    bool untyped, view;
    const struct torch_type *type;
    uint64_t numel;
    uint64_t view_offset, view_numel;   /* of a part of it, in elements */
};
bool storage_id_read(const struct checkpoint *c, const struct pickle_value *persistent, struct storage_id *id,
    struct err *err);

/* Find all tensors and what they are called: checkpoint.tensor and checkpoint.names. */
bool checkpoint_walk(struct checkpoint *c, const struct pickle_value *root, struct budget *budget, struct err *err);

/* Keep those below checkpoint.options.root. Then every tensor has a name, and no two the same. */
bool checkpoint_choose(struct checkpoint *c, struct err *err);

#endif
