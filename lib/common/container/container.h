/* container: how one file format is read: its header, checked, into the catalog. Weights stay untouched.
 * It knows no scheme and no family, and not which files make a model; a new format is one row in container.c and one folder.
 * Begin with container.c, then with a folder: safetensors/, gguf/, numpy/, torch/. */
#ifndef CONTAINER_CONTAINER_H
#define CONTAINER_CONTAINER_H

#include "base/limits.h"
#include "catalog/catalog.h"
#include "source/source.h"

/* How a header is read. */
struct container_options {
    const struct limits *limits;
    const char *root;           /* of a checkpoint, the path of the dictionary that is wanted; "auto"; or NULL: all */
    bool no_verify;             /* checksums are not looked at */
};

struct container {
    const char *name;           /* "safetensors", "GGUF" */
    /* Whether the first n bytes (at least 16, or all) of an input of `size` bytes are this container's. */
    bool (*probe)(const uint8_t *head, size_t n, uint64_t size);
    /* Read the header of src, file number `file` of the model, into the catalog; weights stay untouched.
     * Everything is validated that header and size show. */
    bool (*read)(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
        struct err *err);
    bool tail_ok;               /* bytes may follow the last tensor */
    bool has_configs;           /* config.json and an index may be in its directory */
};

extern const struct container container_safetensors, container_gguf, container_zip, container_npy, container_stacked,
    container_tar_form;

/* The container of an input by its content. ERR_MALFORMED or ERR_UNSUPPORTED, with what it is, when no row fits. */
bool container_detect(const struct container **out, struct source *src, struct err *err);

#endif
