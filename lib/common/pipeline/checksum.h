/* checksum: the CRC-32 of an output, as gzip -lv and unzip -v print it. Each worker computes the CRC-32 of its blocks; they
 * are combined in output order. */
#ifndef PIPELINE_CHECKSUM_H
#define PIPELINE_CHECKSUM_H

#include "kernel/kernels.h"
#include "plan/pieces.h"

/* Zeroed except for the kernels, it is the checksum of no bytes. */
struct checksum {
    const struct kernels *kernels;      /* borrowed while the hook is in use */
    uint32_t crc;
};

/* Returns the hook that updates the checksum, which is borrowed while the hook is in use. */
struct hook checksum_hook(struct checksum *checksum);

#endif
