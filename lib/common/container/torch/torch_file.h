/* torch_file: one file that torch.save() wrote, opened for a reader of a checkpoint of several: the object that its pickle describes,
 * and where the tensors in it lie in the file. Only the names of pickle_globals.h are accepted, and those that the user adds. */
#ifndef CONTAINER_TORCH_TORCH_FILE_H
#define CONTAINER_TORCH_TORCH_FILE_H

#include "container/container.h"
#include "container/torch/checkpoint_priv.h"

/* Empty when zero-initialized. */
struct torch_file {
    struct source *src;         /* borrowed */
    struct pickle *pickle;      /* owned */
    const struct pickle_value *root;
    struct checkpoint storages; /* owned; its tensors are not searched for */
    uint8_t *bytes;             /* of the pickle; owned */
    bool big_endian;
};

/* A tensor of the file. */
struct torch_tensor {
    enum dtype dtype;
    uint32_t rank;
    uint64_t shape[LAYOUT_RANK];        /* elements of dtype */
    uint64_t at, nbytes;        /* offset of its first element in the file */
    struct layout layout;       /* may be plain */
};

/* Opens a file, whose source must be seekable and outlive it. Fails with ERR_MALFORMED, ERR_UNSAFE, ERR_UNSUPPORTED or ERR_LIMIT.
 * Clear it after a failure, too. */
bool torch_file_open(struct torch_file *f, struct source *src, const struct container_options *how, struct budget *budget,
    struct err *err);
void torch_file_clear(struct torch_file *f);

/* Runs the bare pickle p[0..n), which must end there. Call torch_file_clear() even after a failure. */
bool torch_file_bare(struct torch_file *f, const uint8_t *p, size_t n, const struct container_options *how, struct budget *budget,
    struct err *err);

/* Runs the bare pickle that a file consists of, with a taker, and keeps no part of the file in memory. Call
 * torch_file_clear() even after a failure. */
bool torch_file_taken(struct torch_file *f, struct source *src, const struct container_options *how, const struct pickle_taker *taker,
    struct budget *budget, struct err *err);

/* Adds the checksums of its storages to a catalog, for bytes that begin at offset `base` of file number `file`. */
bool torch_file_checks(const struct torch_file *f, struct catalog *catalog, uint32_t file, uint64_t base, struct err *err);

/* Describes a tensor in the file; `name`, escaped, is for messages. Fails with ERR_UNSUPPORTED for one without data or whose type has
 * no name in safetensors, and ERR_MALFORMED. */
bool torch_file_tensor(const struct torch_file *f, const struct pickle_value *v, const char *name, struct torch_tensor *t,
    struct err *err);

/* Returns true if a value is a tensor, with data or without. */
bool torch_file_is_tensor(const struct torch_file *f, const struct pickle_value *v);

#endif
