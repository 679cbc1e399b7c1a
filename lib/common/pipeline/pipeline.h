/* Layer pipeline: the only loop that moves weight bytes; it makes blocks of pieces, and hands them to a sink in turn.
 * Knows no file format, no scheme or encoder by name, and nothing of how many files an output has.
 * Begin here, with pipeline_run(); then block.h, which makes any range of bytes. */

/* pipeline: makes pieces block by block; the only loop that moves weight bytes.
 *
 * The output is cut at multiples of a block, counted from the first byte written, so that every write
 * to a file is page aligned. A block is a pure function of its offset: workers take the next one each, read
 * and decode into their own buffers, and write in turn; to a direct sink behind their turn. Bytes depend neither
 * on the number of workers nor on the range that is asked for.
 */
#ifndef PIPELINE_PIPELINE_H
#define PIPELINE_PIPELINE_H

#include "base/err.h"
#include "model/model.h"
#include "kernel/kernels.h"
#include "plan/pieces.h"
#include "output/sink/sink.h"

/* Output bytes of a block. With its input it stays in a core's L2 cache. Measured with two workers, to a file and
 * to /dev/null, against cat: 64 KiB 0.52 and 0.82, 256 KiB 0.43 and 0.68, 512 KiB 0.40 and 0.64. */
enum { PIPELINE_BLOCK = 512 << 10 };

/* Workers that a job gets by default: the sink is serial, and two keep it busy. Into a pipe one is enough. */
enum { PIPELINE_JOBS = 2 };

/* Output bytes of a block, and workers, for a direct sink: there the disk is what a worker waits for, not its turn. CPU
 * seconds of 4.3 GB with a cold input, medians of five on a busy machine: 512 KiB and 4 workers 2.0, 1 MiB and 3 1.7,
 * 2 MiB and 3 1.8, 4 MiB and 2 1.5; the last was also among the two quickest. */
enum { PIPELINE_DIRECT_BLOCK = 4 << 20, PIPELINE_DIRECT_JOBS = 2 };

struct pipeline {
    struct model *model;                /* its sources are read; a pipe may be spooled */
    const struct pieces *pieces;        /* the output */
    const struct kernels *kernels;
    struct sink *sink;
    uint64_t from, to;                  /* bytes [from, to) of the output are written */
    bool one_of_many;                   /* outputs of a job: its phase of the meter has begun, with all their bytes */
    unsigned jobs;                      /* workers; 0: as many as pay */
    bool no_verify;                     /* the checksums of the input are not looked at */
    bool nonfinite_ok;                  /* NaN and infinity are encoded, as the reference of the encoder does it */
    struct losses *losses;              /* adds up what encoding takes, or NULL; borrowed */
    struct verify *verify;              /* set while it runs */
    struct surveys *surveys;            /* likewise, where something is encoded */
    const struct hook *hooks;           /* nhooks, at most PIECES_HOOKS, besides those of the pieces */
    size_t nhooks;
    uint64_t infinite;                  /* out: values that are infinite in a type of fewer bits */
};

/* Write the range. An input that changed meanwhile is ERR_IO. The error is that of the lowest failing block, whatever the
 * timing. */
bool pipeline_run(struct pipeline *p, struct err *err);

#endif
