/* checkpoint_zip_priv: what both ways through an archive share. */
#ifndef CONTAINER_TORCH_CHECKPOINT_ZIP_PRIV_H
#define CONTAINER_TORCH_CHECKPOINT_ZIP_PRIV_H

#include "container/torch/checkpoint.h"
#include "container/torch/checkpoint_zip.h"

/* An archive as a whole. */
struct archive {
    const struct zip *zip;
    const char *prefix;         /* prefix_len bytes; borrowed */
    size_t prefix_len;
    bool big_endian;
};

/* All that is true of a checkpoint but for its object and storages: one prefix, a known version, the byte order. The
 * members it looks at are read through src. */
bool archive_check(struct archive *a, struct source *src, const struct zip *zip, struct budget *budget, struct err *err);

/* The storage of this key; ERR_MALFORMED when there is none, or when it has other than `nbytes`. */
bool archive_storage(const struct zip_member **m, const struct archive *a, const char *key, size_t key_len,
    uint64_t nbytes, struct err *err);

/* Run the pickle p[0..n), which must be all of it, and find its tensors; `at` is its file offset. Free both also after
 * a failure. */
bool archive_object(struct pickle **pickle, struct checkpoint *checkpoint, const uint8_t *p, size_t n, uint64_t at,
    const struct container_options *options, struct budget *budget, struct err *err);

/* What is known of the file when its tensors are in the catalog. */
void archive_facts(struct catalog *c, bool big_endian, uint64_t header_end, uint64_t file_end);

#endif
