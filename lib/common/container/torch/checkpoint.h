/* torch: checkpoints of PyTorch, by a pickle that is read and never executed. It knows no other container's format.
 * checkpoint_zip.c, stacked.c and tar_form.c are the three forms of files; pickle.c runs the pickle that all of them have.
 * Begin with checkpoint.c and its storages, then checkpoint_walk.c (names) and rebuild.c (geometry).
 *
 * checkpoint: the tensors of a PyTorch checkpoint, from the object that its pickle builds: names from nested
 * dictionaries and lists (the path of keys, joined by dots), storages by key, geometry.
 *
 * Knows nothing of how the storages lie in a file: zip, stacked pickles and tar tell it where each one is. */
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
    uint64_t numel;             /* elements of the storage class, bytes of an untyped one: what stacked pickles count */
    uint64_t nbytes;            /* what it must have */
    uint64_t at;                /* set by whoever knows: file offset of its first byte */
};

struct checkpoint_tensor;       /* checkpoint_priv.h */
struct rebuilt;

struct checkpoint_options {
    const char *root;           /* NULL: all; "auto"; or a path of keys, whose tensors come without it */
    bool stacked;               /* persistent ids of the legacy form, of six fields */
    /* For the tar form, whose persistent ids name tensors: what `id` names, or false. NULL: ids are storages. */
    bool (*tensor_of)(const void *of, const struct pickle_value *id, struct rebuilt *r);
    const void *of;
};

/* Zeroed: empty. */
struct checkpoint {
    struct checkpoint_storage *storage;         /* nstorages in the order in which the pickle names them; owned */
    size_t nstorages, room_storages;
    struct checkpoint_tensor *tensor;           /* in the order of the walk; owned */
    size_t ntensors, room_tensors;
    uint64_t others;            /* values that are no tensors */
    /* for its own files */
    struct checkpoint_options options;
    const struct pickle *pickle;
    const struct budget *budget;
    struct table keys;          /* of the storages */
    struct names numbers;       /* keys that are numbers in the pickle */
    struct str names;           /* of all tensors */
};

/* The tensors of what the pickle builds, which is borrowed for good, as is what the options point to. ERR_MALFORMED,
 * ERR_LIMIT (walk, expansion, sharing), ERR_UNSUPPORTED (names that collide, a set with a tensor in it), ERR_USAGE
 * (nothing lies under options->root). A tensor whose dtype is known by name only is listed as DTYPE_UNKNOWN with its
 * type_name, and so is one without data: "meta", "sparse_coo". Clear it also after a failure. */
bool checkpoint_read(struct checkpoint *c, const struct pickle *pickle, const struct checkpoint_options *options,
    struct budget *budget, struct err *err);
void checkpoint_clear(struct checkpoint *c);

/* The storage of this key, or NULL; one hash. */
struct checkpoint_storage *checkpoint_find(const struct checkpoint *c, const char *key, size_t n);

/* Put the tensors into the catalog, when the `at` of each storage is set. */
bool checkpoint_add(const struct checkpoint *c, struct catalog *catalog, uint32_t file, bool big_endian, struct err *err);

#endif
