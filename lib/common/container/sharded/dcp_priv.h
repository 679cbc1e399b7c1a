/* dcp_priv: shared by dcp.c (.metadata and chunks) and dcp_select.c (which tensors are the model, and their names). */
#ifndef CONTAINER_SHARDED_DCP_PRIV_H
#define CONTAINER_SHARDED_DCP_PRIV_H

#include "container/sharded/sharded_priv.h"

/* An entry of state_dict_metadata. */
struct dcp_key {
    const struct pickle_value *name, *path;     /* path: a tuple, or NULL: the name alone */
    const struct pickle_value *meta;    /* NULL: bytes */
    bool selected;
};

/* Where a chunk is stored. */
struct dcp_place {
    uint32_t key, file;         /* file: of dcp.files; UINT32_MAX: its name is none */
    const struct pickle_value *offset, *info;
};

struct dcp {
    struct sharded *s;
    struct err *err;
    char file[ERR_FILE];        /* .metadata, for messages */
    struct torch_file f;        /* its pickle */
    struct dcp_key *key;        /* nkeys, in the order of the file; owned */
    size_t nkeys, room_keys;
    struct table table;         /* of their names */
    struct dcp_place *place;    /* nplaces; owned */
    size_t nplaces, room_places;
    struct names files;         /* that storage_data names, also for tensors that are not selected */
    struct table by_name;       /* of these */
    uint32_t cut;               /* components of a path that are not part of the name */
    size_t root;                /* bytes of the name that --root removes */
    bool full;                  /* the name is the key */
};

/* Selects the tensors to write, and notes the others. Fails with ERR_UNSUPPORTED if there are none, ERR_USAGE if none is under --root. */
bool dcp_select(struct dcp *d);

/* Returns the size of a tensor, 0 if its metadata do not tell. */
uint64_t dcp_nbytes(const struct dcp *d, const struct dcp_key *key);

/* Appends the output name of a selected tensor. */
void dcp_name(const struct dcp *d, const struct dcp_key *key, struct str *name);

#endif
