/* checksum: the CRC-32 of an output, as gzip -lv and unzip -v print it. Each block's is computed by the worker that made
 * it; in turn they are only combined. */
#ifndef PIPELINE_CHECKSUM_H
#define PIPELINE_CHECKSUM_H

#include "kernel/kernels.h"
#include "plan/pieces.h"

/* Zeroed but for its kernels: of no bytes. */
struct checksum {
    const struct kernels *kernels;      /* borrowed as long as the hook is called */
    uint32_t crc;
};

/* The hook that keeps it; the checksum is borrowed as long as the hook is called. */
struct hook checksum_hook(struct checksum *checksum);

#endif
