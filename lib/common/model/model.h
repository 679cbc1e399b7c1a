/* model: what the user named, opened: its files, and one catalog over all of them. A file, a pipe, a directory, an index of
 * sharded safetensors, or a model of a local store. It knows no scheme and no output.
 * Begin with model.c; candidates.c chooses in a directory, store.c finds models by name, configs.c reads what is beside. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "container/container.h"

struct model {
    struct source **src;        /* nsrc files; owned */
    uint32_t nsrc, nfiles;      /* all that it has; fewer are open after a failure */
    struct catalog *catalog;    /* sealed; owned */
    const struct container *container;
    struct inputs inputs;       /* every regular file that was opened for it: shards, index, config.json, manifest */
    char *name;                 /* the operand as messages show it; owned */
    char *folder;               /* the directory that it names, or whose index it is; else NULL. Owned */
    char *stored;               /* of a store, the path that its operand stands for, as far as it was found; owned, or NULL */
    struct container_options how;       /* its headers were read; limits and root are borrowed for the opening */
    bool no_spool;              /* a temporary file is refused: ERR_LIMIT */
    struct meter *meter;        /* of the job; borrowed, or NULL */
};

struct model_options {
    const struct limits *limits;
    const char *config;         /* the one config to read, "none", or NULL: what lies beside the model */
    const char *root;           /* container.h */
    bool no_spool, no_verify;
    bool warns;                 /* the job describes the model: files of its directory that cannot be read are a warning */
    struct meter *meter;        /* told what is read of headers and spooled; borrowed as long as the model lives, or NULL */
};

/* Open an operand: a path, a name that store.h resolves, "-" or NULL for standard input. Clear the model also after a
 * failure. Options are borrowed for the call. */
bool model_open(struct model *m, const char *operand, const struct model_options *options, struct err *err);
void model_clear(struct model *m);

/* For a conversion: whether all of the model is there. One part of a split model alone is ERR_UNSUPPORTED; a
 * pipe that ends within a MiB of its header is checked whole before anything is made of it. */
bool model_complete(struct model *m, struct err *err);

/* The names of its files, in their order, for messages: the array is the caller's to free. NULL on failure. */
const char **model_files(const struct model *m, struct err *err);

/* The end of the job: no file of src has changed since it was opened, else ERR_IO. */
bool model_unchanged(const struct model *m, struct err *err);

/* Checks that standard output does not go into a file of the model; else ERR_CREATE. */
bool model_check_overwrite(const struct model *m, struct err *err);

/* The same of all operands, for a job that writes about one before it opens the next: asked before it writes. What
 * cannot be opened has no say; a pipe is left alone. */
bool model_list_check_overwrite(char *const *operands, size_t n, const struct model_options *options, struct err *err);

/* Where the data of one of its files lie: [*from, *to), empty when it has none. */
void model_data(const struct model *m, uint32_t file, uint64_t *from, uint64_t *to);

/* Where header and data end: of a model of one file, as a pipe is. */
uint64_t model_end(const struct model *m);

/* Make what only goes forward, a pipe or what is deflated, seekable through a temporary file; the end of a pipe is checked
 * then. Does nothing for other files. */
bool model_spool(struct model *m, struct err *err);

/* Bytes [from, from + n) of a tensor as its elements come row-major, in the byte order of the file. Of what only goes
 * forward: as source_read(), and no tensor with a layout. */
bool model_bytes(const struct model *m, const struct tensor *t, uint64_t from, void *buf, size_t n, struct err *err);

/* All bytes of a tensor of the catalog into buf. A pipe is spooled first. */
bool model_read(struct model *m, const struct tensor *t, void *buf, struct err *err);

/* The end of a job on one input: it must reach where header and data end, and no further unless tail_ok. A pipe
 * is read to its end. The files of a model of several were checked with their headers. */
bool model_finish(const struct model *m, struct err *err);

#endif
