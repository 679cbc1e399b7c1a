/* container: reads the header of one file format, checks it, and adds the tensors to the catalog. Tensor data is not read.
 * It knows neither schemes nor model families, nor which files form a model. A new format is one row in container.c and one
 * folder. Begin with container.c, then with a folder: safetensors/, gguf/, numpy/, torch/, ggml/. Layouts: doc/gguf.md,
 * doc/checkpoints.md; what is refused: doc/untrusted-input.md. */
#ifndef CONTAINER_CONTAINER_H
#define CONTAINER_CONTAINER_H

#include "base/limits.h"
#include "catalog/catalog.h"
#include "source/source.h"

/* Options for reading a header. */
struct container_options {
    const struct limits *limits;
    const char *root;           /* checkpoints: path of the dictionary to read; "auto"; or NULL for all */
    bool no_verify;             /* skip checksums */
    bool slices;                /* safetensors: accept parts of tensors */
    const char *state;          /* checkpoints of a training job: "model", "master" or "all"; NULL: not given */
    bool hf;                    /* likewise: with the names and rows of Hugging Face, if the format has others */
    const char *const *allowed; /* nallowed names that pickles of such a checkpoint may have in addition, as MODULE.NAME */
    size_t nallowed;
};

struct container {
    const char *name;           /* "safetensors", "GGUF" */
    /* Returns true if the first n bytes (at least 16, or all) of an input of `size` bytes belong to this format. */
    bool (*probe)(const uint8_t *head, size_t n, uint64_t size);
    /* Reads the header of src, file number `file` of the model, into the catalog, and validates everything that can be
     * checked with the header and the size alone. */
    bool (*read)(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
        struct err *err);
    bool tail_ok;               /* bytes may follow the last tensor */
    bool has_configs;           /* its directory may hold config.json and an index */
};

extern const struct container container_safetensors, container_gguf, container_zip, container_npy, container_stacked,
    container_tar_form, container_ggml;

/* Finds the files in a seekable source that no container reads: an archive of files (ZIP, also at the end of a program; tar). Their
 * names are those below the folder that all of them are in. `path` is that of the source. b->path is NULL if it is no such archive, or
 * one that a container reads. */
bool archive_bundle(struct bundle *b, struct source *src, const char *path, struct budget *budget, struct err *err);

/* Finds the container of an input from its content. Fails with ERR_MALFORMED or ERR_UNSUPPORTED, naming what the input is,
 * if no row matches. */
bool container_detect(const struct container **out, struct source *src, struct err *err);

#endif
