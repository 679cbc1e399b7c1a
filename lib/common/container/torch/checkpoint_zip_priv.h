/* checkpoint_zip_priv: shared by the two ways to read an archive. */
#ifndef CONTAINER_TORCH_CHECKPOINT_ZIP_PRIV_H
#define CONTAINER_TORCH_CHECKPOINT_ZIP_PRIV_H

#include "container/torch/checkpoint.h"
#include "container/torch/checkpoint_zip.h"

/* Properties of an archive as a whole. */
struct archive {
    const struct zip *zip;
    const char *prefix;         /* prefix_len bytes; borrowed */
    size_t prefix_len;
    bool big_endian;
};

/* Checks what every checkpoint has apart from its object and storages: one prefix, a known version, a byte order. Reads the
 * members it needs from src. */
bool archive_check(struct archive *a, struct source *src, const struct zip *zip, struct budget *budget, struct err *err);

/* Finds the storage with this key. Fails with ERR_MALFORMED if there is none, or if its size is not `nbytes`. */
bool archive_storage(const struct zip_member **m, const struct archive *a, const char *key, size_t key_len,
    uint64_t nbytes, struct err *err);

/* Runs the pickle p[0..n), which must end there, and finds its tensors; `at` is its file offset. Free both even after a
 * failure. */
bool archive_object(struct pickle **pickle, struct checkpoint *checkpoint, const uint8_t *p, size_t n, uint64_t at,
    const struct container_options *options, struct budget *budget, struct err *err);

/* Sets the catalog's facts about the file once its tensors have been added. */
void archive_facts(struct catalog *c, bool big_endian, uint64_t header_end, uint64_t file_end);

#endif
