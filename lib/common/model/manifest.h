/* manifest: digests as a file: of the tensors of a model, as amn-parse --hash prints them, of whole models, as amn hash does, or of
 * files, as sha256sum does. */
#ifndef MODEL_MANIFEST_H
#define MODEL_MANIFEST_H

#include "base/limits.h"
#include "base/sha256.h"
#include "base/table.h"
#include "catalog/tensor.h"

/* Returns how a line of amn hash begins, before the name of the model: "AMN-VALUES-BF16 (". `to`: the type that values were rounded to,
 * BF16 or F16; F32: none. */
const char *manifest_model_head(bool stored, enum dtype to);

/* One line. Names are as in JSON: a byte that is not UTF-8 is the text \xHH. */
struct manifest_entry {
    char *name, *shape;                 /* of the stored tensor; shape as "2,3"; owned */
    char *values_name, *values_shape;   /* of its values; NULL for a companion of a weight; owned */
    bool has_stored, has_values;        /* the line has this digest */
    uint8_t stored[SHA256_BYTES], values[SHA256_BYTES];
    uint64_t line;                      /* its number, from 1 */
};

/* A line of amn hash. */
struct manifest_model {
    char *name;                         /* of the operand; owned */
    bool stored;                        /* the digest is of the stored bytes */
    enum dtype to;                      /* the type that values were rounded to; F32: none */
    uint8_t digest[SHA256_BYTES];
};

/* Zeroed: empty. Clear it even after a failure. Only one of entry, model and files is not empty. */
struct manifest {
    char *path;                         /* as messages show it; owned */
    struct manifest_entry *entry;       /* n of them; owned */
    size_t n, room;
    struct table stored, values;        /* by name */
    struct manifest_model *model;       /* nmodels of them; owned */
    size_t nmodels, models_room;
    char *files;                        /* the text of a list of digests of files, nfiles bytes, for blobs_read(); owned */
    size_t nfiles;
};

/* Reads a manifest, which may be compressed; `path` NULL is standard input. `values`: each tensor must have the digest of its
 * values, otherwise the digest of its stored bytes. Fails with ERR_MALFORMED for a line that is not like the first one, naming
 * it. */
bool manifest_read(struct manifest *m, const char *path, bool values, const struct limits *limits, struct err *err);
void manifest_clear(struct manifest *m);

/* Returns the entry of the stored tensor or the values with this name, or NULL. The name is as in JSON. */
const struct manifest_entry *manifest_find(const struct manifest *m, bool values, const char *name, size_t n);

#endif
