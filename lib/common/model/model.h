/* model: the input that an operand names, opened: its files, and one catalog over all of them. An operand is a file, a pipe,
 * a directory, a safetensors index, or a model in a local store. This layer knows neither schemes nor outputs.
 * Begin with model.c; candidates.c chooses the model file of a directory, store.c finds models by name, configs.c reads the
 * configs next to the model. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "container/sharded/sharded.h"

struct model {
    struct source **src;        /* nsrc files; owned */
    uint32_t nsrc, nfiles;      /* files of the whole model; src has fewer after a failure */
    uint32_t nmore;             /* files of other models after these in src, read along with it: see model_join() */
    struct catalog *catalog;    /* sealed; owned */
    const struct container *container;
    struct inputs inputs;       /* every regular file opened for it: shards, index, config.json, manifest */
    char *name;                 /* the operand as messages show it; owned */
    char *folder;               /* the model's directory, for folder_path(), if the operand is a directory or an index, else NULL;
                                 * owned */
    char *stored;               /* for a store operand: its path, as far as it could be resolved; owned, or NULL */
    struct container_options how;       /* how headers are read; limits and root are borrowed until model_open() returns */
    bool strict;                /* refuse tensors that an index does not list */
    bool no_spool;              /* fail rather than spool to a temporary file */
    const char *twice;          /* see source_forbid_spool() */
    struct meter *meter;        /* progress of the job; borrowed, or NULL */
    bool trained;               /* the folder also has files of a training job, which are not the model's */
    struct sharded *sharded;    /* the checkpoint of a training job that the directory holds, whose files are in src, followed by the
                                 * one with its tensors; owned, or NULL */
};

struct model_options {
    const struct limits *limits;
    const char *config;         /* path of the only config to read, "none", or NULL for those next to the model */
    const char *root, *state;   /* see container.h */
    const char *const *allowed;
    size_t nallowed;
    bool hf;                    /* see container.h */
    bool no_spool, no_verify;
    bool strict;                /* refuse tensors that an index does not list */
    const char *twice;          /* the option with which the job reads its input twice, static; or NULL */
    struct fetch *fetch;        /* fetches the files of the operand (source/fetch.h), or NULL; borrowed for the model's lifetime */
    bool warns;                 /* the job describes the model: unreadable files in its directory cause a warning */
    struct meter *meter;        /* progress of header reads and spooling; borrowed for the model's lifetime, or NULL */
};

/* Returns true if an operand that is fetched names a directory: it ends with a slash, or is ".". */
bool model_is_fetched_directory(const char *path);

/* Opens an operand: a path, a name that store.h resolves, "-" or NULL for standard input. Clear the model after a failure,
 * too. Borrows options for the call. */
bool model_open(struct model *m, const char *operand, const struct model_options *options, struct err *err);
void model_clear(struct model *m);

/* Seals the catalog of a model of several files. If two of them have a tensor of the same name, fails with ERR_MALFORMED, both
 * file names and the advice. */
bool model_seal(const struct model *m, const char *advice, struct err *err);

/* Checks that the model is complete enough to convert. Fails with ERR_UNSUPPORTED if it is one part of a split model. A pipe
 * that ends within 1 MiB of its header is checked to its end before any output is produced. */
bool model_complete(struct model *m, struct err *err);

/* Returns true if the option `hf` gave the tensors the names of Hugging Face. */
bool model_has_hf_names(const struct model *m);

/* Returns the names of the model's files, in order, for messages. The caller frees the array; the names are the model's.
 * Returns NULL on failure. */
const char **model_files(const struct model *m, struct err *err);

/* Moves the files of another model, which are regular files, to the end of m->src, so that tensors whose extent.file counts
 * from *first on are read through m. The catalog of `other` stays where it is. Call it after m is open. Fails with
 * ERR_MEMORY. */
bool model_join(struct model *m, struct model *other, uint32_t *first, struct err *err);

/* Call at the end of a job. Fails with ERR_IO if a file of src has changed since it was opened. */
bool model_unchanged(const struct model *m, struct err *err);

/* Fails with ERR_CREATE if standard output would overwrite a file of the model. */
bool model_check_overwrite(const struct model *m, struct err *err);

/* Runs model_check_overwrite() on every operand. For a job that writes about one operand before it opens the next; call it
 * before the first write. Operands that cannot be opened are ignored, and pipes are not read. */
bool model_list_check_overwrite(char *const *operands, size_t n, const struct model_options *options, struct err *err);

/* Sets [*from, *to) to the byte range that holds the tensor data of a file; the range is empty if the file has none. */
void model_data(const struct model *m, uint32_t file, uint64_t *from, uint64_t *to);

/* Makes pipes and deflated members seekable by copying them to a temporary file, and checks the end of a pipe. Does nothing
 * for other files. */
bool model_spool(struct model *m, struct err *err);

/* Reads bytes [from, from + n) of a tensor, elements in row-major order, in the byte order of the file. A source that is not
 * seekable is subject to the rules of source_read() and cannot supply tensors with a layout. */
bool model_bytes(const struct model *m, const struct tensor *t, uint64_t from, void *buf, size_t n, struct err *err);

/* Reads all bytes of a tensor of the catalog into buf. Spools a pipe first unless the tensor is close to the header. */
bool model_read(struct model *m, const struct tensor *t, void *buf, struct err *err);

/* Sets *same if type, shape and all bytes of two tensors are equal, read as by model_bytes(). */
bool model_same(bool *same, const struct model *m, const struct tensor *a, const struct tensor *b, struct err *err);

/* Ends a job on one input. Reads a pipe to its end. Fails if the input ends before the end of header and data, or after it
 * unless the container sets tail_ok. Does nothing for models of several files, which were checked with their headers. */
bool model_finish(const struct model *m, struct err *err);

#endif
