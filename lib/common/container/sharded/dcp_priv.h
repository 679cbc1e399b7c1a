/* dcp_priv: shared by dcp.c (.metadata and chunks), dcp_take.c (its objects) and dcp_select.c (which tensors are the model, and their names). */
#ifndef CONTAINER_SHARDED_DCP_PRIV_H
#define CONTAINER_SHARDED_DCP_PRIV_H

#include "container/sharded/sharded_priv.h"

/* .metadata is read twice. The first pass finds the tensors, of which some are selected; the second one keeps the chunks of these, as
 * tiles of the mosaic, and where they are stored. */

/* An entry of state_dict_metadata. */
struct dcp_key {
    const struct pickle_value *name, *path;     /* until the second pass; path: a tuple, or NULL: the name alone */
    const char *full, *output, *shown;  /* if it is selected: full_len bytes, the key; output_len bytes, its name in the output; the key,
                                         * escaped */
    size_t full_len, output_len;
    size_t tensor;              /* index in dcp.tensor; DCP_BYTES */
    uint32_t placed;            /* its number in the mosaic, if it is selected; DCP_NOWHERE until its chunks are there */
    bool selected;
};
#define DCP_BYTES SIZE_MAX
#define DCP_NOWHERE UINT32_MAX

/* What the metadata tell about a tensor. */
struct dcp_tensor {
    const struct torch_type *type;
    const char *bad, *unknown;  /* bad: what is wrong with it, static; unknown: its type, which amn does not know; NULL */
    uint32_t rank, key;         /* key: the selected one that it belongs to, or DCP_NOWHERE */
    size_t shape;               /* where its dimensions begin in dcp.word */
    size_t nchunks;
};

/* A _StorageInfo. */
struct dcp_info {
    uint64_t at, nbytes;
    uint32_t file;              /* of dcp.files, or one of these */
    bool paired;
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

/* The chunks of the tensor that is being built: for each one, its first indices, then their numbers. */
struct dcp_chunks {
    uint64_t *box;              /* owned */
    size_t nbox, room, n, listed;       /* n: chunks; listed: of these, those in the list of the tensor */
    uint32_t rank;
    bool bad;                   /* they do not have one rank, or are not listed in order */
};

struct dcp {
    struct sharded *s;
    struct err *err;
    char file[ERR_FILE];        /* .metadata, for messages */
    bool second;                /* the pass */
    struct torch_file f;        /* its pickle */
    struct dcp_key *key;        /* nkeys, in the order of the file; owned */
    size_t nkeys, room_keys;
    struct table table;         /* of their names, or of the selected ones in the second pass */
    struct dcp_tensor *tensor;  /* ntensors; owned */
    size_t ntensors, room_tensors, tensors_read;
    uint64_t *word;             /* nwords; owned */
    size_t nwords, room_words;
    struct dcp_chunks chunks;
    struct dcp_info *info;      /* ninfos, of which infos_left are not in a pair yet; the first is number infos_gone; owned */
    size_t ninfos, room_infos, infos_left, infos_gone;
    char transform[PICKLE_SHOWN];       /* of a chunk that has one */
    uint64_t others;            /* entries that are not tensors */
    struct names files;         /* that storage_data names, also for tensors that are not selected */
    struct table by_name;       /* of these */
    bool *used;                 /* files with selected chunks; room_used; owned */
    size_t room_used;
    uint32_t placed;            /* tensors in the mosaic */
    uint32_t cut;               /* components of a path that are not part of the name */
    size_t root;                /* bytes of the name that --root removes */
    bool full;                  /* the name is the key */
};

/* Fails because of the metadata, or of one tensor in a file, NULL for the metadata. */
bool dcp_bad(const struct dcp *d, const char *what);
bool dcp_bad_tensor(const struct dcp *d, const char *key, const struct source *src, const char *what);

/* Returns the key of this name, or NULL. */
struct dcp_key *dcp_find_key(const struct dcp *d, const uint8_t *name, size_t n);

/* Selects the tensors to write, and notes the others. Fails with ERR_UNSUPPORTED if there are none, ERR_USAGE if none is under --root. */
bool dcp_select(struct dcp *d);

/* Implement struct pickle_taker: objects of .metadata become numbers in struct dcp. */
bool dcp_take_object(void *of, const struct pickle *k, const struct pickle_value *object, int64_t *number, bool *taken, struct err *err);
bool dcp_take_pair(void *of, const struct pickle_value *key, const struct pickle_value *value, struct err *err);
bool dcp_take_item(void *of, const struct pickle_value *item, struct err *err);
/* Finds a file that storage_data names. */
bool dcp_file_find(const struct dcp *d, const char *name, uint32_t *file);
/* Frees what they filled. */
void dcp_clear(struct dcp *d);

/* Returns the size of a tensor, 0 if its metadata do not tell. */
uint64_t dcp_nbytes(const struct dcp *d, const struct dcp_key *key);

/* Appends the output name of a selected tensor. */
void dcp_name(const struct dcp *d, const struct dcp_key *key, struct str *name);

#endif
