/* checkpoint_zip: a PyTorch checkpoint in a ZIP archive, as torch.save() has written it since 1.6:
 *
 *      PREFIX/data.pkl             the object
 *      PREFIX/byteorder            "little" or "big"; absent: little
 *      PREFIX/data/KEY             the bytes of a storage
 *      PREFIX/version              a number; also PREFIX/.data/version
 *      PREFIX/.format_version, .storage_alignment, .data/serialization_id ...
 *
 * All members are of one prefix; what is not known is passed over. Source: torch, serialization.py and
 * caffe2/serialize/inline_container.cc. */
#ifndef CONTAINER_TORCH_CHECKPOINT_ZIP_H
#define CONTAINER_TORCH_CHECKPOINT_ZIP_H

#include "container/container.h"
#include "source/zip.h"

/* Read it from a seekable source. */
bool checkpoint_zip_read(struct catalog *c, struct source *src, struct zip *zip, uint32_t file,
    const struct container_options *options, struct err *err);

/* The same of a source that only goes forward, when the archive lies as torch writes it, so that one pass will do: *done.
 * Where a storage comes is then foretold by the rules of torch's writer; all that lies between the storages is held
 * against that as it passes, and at the end the archive as a whole. !*done: nothing was added; the source has to be made
 * seekable. */
bool checkpoint_zip_forward(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
    bool *done, struct err *err);

#endif
