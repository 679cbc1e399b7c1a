/* checkpoint_zip: a PyTorch checkpoint in a ZIP archive, as torch.save() writes it since 1.6:
 *
 *      PREFIX/data.pkl             the object
 *      PREFIX/byteorder            "little" or "big"; absent: little
 *      PREFIX/data/KEY             the bytes of a storage
 *      PREFIX/version              a number; also PREFIX/.data/version
 *      PREFIX/.format_version, .storage_alignment, .data/serialization_id ...
 *
 * All members share one prefix; unknown members are ignored. Source: torch, serialization.py and
 * caffe2/serialize/inline_container.cc.
 */
#ifndef CONTAINER_TORCH_CHECKPOINT_ZIP_H
#define CONTAINER_TORCH_CHECKPOINT_ZIP_H

#include "container/container.h"
#include "source/zip.h"

/* Reads a checkpoint from a seekable source. */
bool checkpoint_zip_read(struct catalog *c, struct source *src, struct zip *zip, uint32_t file,
    const struct container_options *options, struct err *err);

/* Reads a checkpoint from a source that is not seekable. That works in one pass if the archive is laid out as torch writes
 * it (*done): the position of each storage is then predicted from the rules of torch's writer, the bytes between storages
 * are compared with the prediction as they pass, and the whole archive is checked at its end. If !*done, nothing was added,
 * and the caller must make the source seekable. */
bool checkpoint_zip_forward(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
    bool *done, struct err *err);

#endif
