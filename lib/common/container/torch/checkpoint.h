/* torch: PyTorch checkpoints. Their pickle is read, never executed. It knows no other container's format. checkpoint_zip.c,
 * stacked.c and tar_form.c read the three file forms; pickle.c interprets the pickle that each of them contains. Begin with
 * checkpoint.c and its storages, then checkpoint_walk.c (names) and rebuild.c (geometry).
 *
 * checkpoint: finds the tensors of a PyTorch checkpoint in the object that its pickle builds: names from nested dictionaries
 * and lists (the path of keys, joined by dots), storages by key, and geometry.
 *
 * It does not know where storages are in a file: the ZIP, stacked and tar readers fill in their offsets.
 */
#ifndef CONTAINER_TORCH_CHECKPOINT_H
#define CONTAINER_TORCH_CHECKPOINT_H

#include "base/names.h"
#include "base/table.h"
#include "catalog/catalog.h"
#include "container/torch/pickle.h"
#include "container/torch/pickle_globals.h"

struct checkpoint_storage {
    const char *key;            /* key_len bytes; borrowed from the pickle or the checkpoint */
    uint32_t key_len;
    bool untyped;
    const struct torch_type *type;      /* of its class */
    uint64_t numel;             /* elements, or bytes if untyped: the count that stacked pickles repeat */
    uint64_t nbytes;            /* its required size */
    uint64_t at;                /* file offset of its first byte; set by the reader of the file form */
    uint32_t crc;               /* of a file opened by torch_file.h: its CRC-32, 0 if it has none */
};

struct checkpoint_tensor;       /* checkpoint_priv.h */
struct rebuilt;

struct checkpoint_options {
    const char *root;           /* NULL: all; "auto"; or a path of keys, which is removed from tensor names */
    bool stacked;               /* persistent ids are of the legacy form, with six fields */
    /* For the tar form, whose persistent ids name tensors: describes the tensor that `id` names, or fails. NULL: ids name
     * storages. */
    bool (*tensor_of)(const void *of, const struct pickle_value *id, struct rebuilt *r);
    const void *of;
};

/* Zeroed: empty. */
struct checkpoint {
    struct checkpoint_storage *storage;         /* nstorages, in order of first use in the pickle; owned */
    size_t nstorages, room_storages;
    struct checkpoint_tensor *tensor;           /* in the order of the walk; owned */
    size_t ntensors, room_tensors;
    uint64_t others;            /* values that are not tensors */
    uint64_t narrays;           /* arrays of NumPy that are left out; `array` is the name of the first one, owned */
    struct str array;
    /* private to this folder */
    struct checkpoint_options options;
    const struct pickle *pickle;
    const struct budget *budget;
    struct table keys;          /* of the storages */
    struct names numbers;       /* storage keys that are numbers in the pickle */
    struct str names;           /* of all tensors */
};

/* Finds the tensors in the object that a pickle builds. The pickle, and everything the options point to, must outlive the
 * checkpoint. Fails with ERR_MALFORMED, ERR_LIMIT (walk, expansion, sharing), ERR_UNSUPPORTED (colliding names, a tensor in
 * a set), ERR_UNSAFE (a tensor in an object that torch does not allow) or ERR_USAGE (no tensor under options->root). A tensor whose dtype amn knows by name only is listed as
 * DTYPE_UNKNOWN with its type_name, as is one without data: "meta", "sparse_coo". Clear the checkpoint even after a failure. */
bool checkpoint_read(struct checkpoint *c, const struct pickle *pickle, const struct checkpoint_options *options,
    struct budget *budget, struct err *err);
void checkpoint_clear(struct checkpoint *c);

/* Returns the storage with this key, or NULL, in constant time. */
struct checkpoint_storage *checkpoint_find(const struct checkpoint *c, const char *key, size_t n);

/* Adds the tensors to the catalog. The `at` of each storage must be set. */
bool checkpoint_add(const struct checkpoint *c, struct catalog *catalog, uint32_t file, bool big_endian, struct err *err);

#endif
