/* dcp_priv: shared by dcp.c (.metadata and chunks), dcp_take.c (its objects) and dcp_select.c (which tensors are the model, and their names). */
#ifndef CONTAINER_SHARDED_DCP_PRIV_H
#define CONTAINER_SHARDED_DCP_PRIV_H

#include "container/sharded/sharded_priv.h"

/* An entry of state_dict_metadata. */
struct dcp_key {
    const struct pickle_value *name, *path;     /* until the pickle is freed; path: a tuple, or NULL: the name alone */
    const char *output, *shown; /* if it is selected: output_len bytes, its name in the output; the key, escaped */
    size_t output_len;
    size_t tensor;              /* index in dcp.tensor; DCP_BYTES */
    bool selected;
};
#define DCP_BYTES SIZE_MAX
#define DCP_NOWHERE UINT32_MAX

/* What the metadata tell about a tensor. Numbers are in dcp.word. */
struct dcp_tensor {
    const struct torch_type *type;
    const char *bad, *unknown;  /* bad: what is wrong with it, static; unknown: its type, which amn does not know; NULL */
    uint32_t rank;
    size_t shape;               /* where its dimensions begin */
    size_t chunks, nchunks;     /* where its chunks begin: the first index in each dimension, then their numbers */
};

/* Where a chunk is stored. */
struct dcp_place {
    const uint8_t *name;        /* of its tensor, name_len bytes in the pickle; NULL: malformed */
    uint32_t name_len, key;     /* key: set by selection */
    uint32_t info, rank;        /* info: in dcp.info; DCP_NOWHERE: it is not a key of storage_data */
    union {
        size_t words;           /* where its offsets begin */
        const uint64_t *offset; /* the same, once all are there */
    };
};

struct dcp_info {
    uint64_t at, nbytes;
    uint32_t file;              /* of dcp.files, or one of these */
};
enum { DCP_NO_FILE = 0x7FFFFFFE, DCP_TRANSFORMED };

/* Objects that became numbers: the kind, and an index times DCP_KINDS. */
enum dcp_kind { DCP_CHUNK, DCP_TENSOR, DCP_INDEX, DCP_INFO, DCP_PLAN, DCP_KINDS };

static inline bool
dcp_is(const struct pickle_value *v, enum dcp_kind kind)
{
    return pickle_is_taken(v) && v->of.integer % DCP_KINDS == kind;
}

static inline size_t
dcp_index(const struct pickle_value *v)
{
    return (size_t)v->of.integer / DCP_KINDS;
}

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
    struct dcp_tensor *tensor;  /* ntensors; owned */
    size_t ntensors, room_tensors;
    uint64_t *word;             /* nwords; owned */
    size_t nwords, room_words;
    struct dcp_info *info;      /* ninfos; owned */
    size_t ninfos, room_infos;
    char transform[PICKLE_SHOWN];       /* of a chunk that has one */
    uint64_t others;            /* entries that are not tensors */
    struct names files;         /* that storage_data names, also for tensors that are not selected */
    struct table by_name;       /* of these */
    uint32_t cut;               /* components of a path that are not part of the name */
    size_t root;                /* bytes of the name that --root removes */
    bool full;                  /* the name is the key */
};

/* Selects the tensors to write, and notes the others. Fails with ERR_UNSUPPORTED if there are none, ERR_USAGE if none is under --root. */
bool dcp_select(struct dcp *d);

/* Implement struct pickle_taker: objects of .metadata become numbers in struct dcp. */
bool dcp_take_object(void *of, const struct pickle *k, const struct pickle_value *object, int64_t *number, bool *taken, struct err *err);
bool dcp_take_pair(void *of, const struct pickle_value *key, const struct pickle_value *value, struct err *err);
/* Finds a file that storage_data names. */
bool dcp_file_find(const struct dcp *d, const char *name, uint32_t *file);
/* Frees what they filled. */
void dcp_clear(struct dcp *d);

/* Returns the size of a tensor, 0 if its metadata do not tell. */
uint64_t dcp_nbytes(const struct dcp *d, const struct dcp_key *key);

/* Appends the output name of a selected tensor. */
void dcp_name(const struct dcp *d, const struct dcp_key *key, struct str *name);

#endif
