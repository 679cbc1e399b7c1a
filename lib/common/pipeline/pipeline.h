/* pipeline: the only loop that moves weight bytes. Generates an output in blocks and passes them to a sink in order. Knows
 * no file format, no scheme or encoder by name, and not how many files an output has. Start here, with pipeline_run(); then
 * block.h, which generates any range of bytes. */

/* pipeline: generates the pieces of an output block by block.
 *
 * The output is divided at multiples of the block size, counted from the first byte written, so that every write to a file
 * is page aligned. A block depends only on its offset: each worker takes the next one, reads and decodes into its own
 * buffers, and writes in turn, or, to a direct sink, after its turn. The bytes depend neither on the number of workers nor
 * on the range that is requested.
 */
#ifndef PIPELINE_PIPELINE_H
#define PIPELINE_PIPELINE_H

#include "base/cache.h"
#include "base/err.h"
#include "model/model.h"
#include "kernel/kernels.h"
#include "plan/pieces.h"
#include "plan/shifts.h"
#include "sink/sink.h"

/* Output bytes per block. A block and its input fit into the L2 cache of a core. Measured with two workers relative to cat
 * (lower is better), to a file and to /dev/null: 64 KiB 0.52 and 0.82, 256 KiB 0.43 and 0.68, 512 KiB 0.40 and 0.64. */
enum { PIPELINE_BLOCK = 512 << 10 };

/* Default number of workers: writing is serial, and two keep it busy. One is enough for a pipe. */
enum { PIPELINE_JOBS = 2 };

/* Output bytes per block and workers for a direct sink, where a worker waits for the disk, not for its turn. CPU seconds for
 * 4.3 GB with a cold input, medians of five on a busy machine: 512 KiB and 4 workers 2.0, 1 MiB and 3 1.7, 2 MiB and 3 1.8,
 * 4 MiB and 2 1.5; the last was also among the two fastest. */
enum { PIPELINE_DIRECT_BLOCK = 4 << 20, PIPELINE_DIRECT_JOBS = 2 };

/* Infinite and NaN elements of weights with a delta. */
struct changed_values {
    uint64_t n;
    const struct tensor *first; /* the source of one of them: the first in the input */
};

struct reading;             /* block.h */

/* How encoded weights are made. */
struct pipeline_encoder {
    /* Generates bytes [from, to) of an ENCODE piece; y may be unaligned. */
    bool (*bytes)(const struct reading *how, const struct piece *piece, uint64_t from, uint64_t to, uint8_t *y, struct err *err);
    /* Generates the bytes of a panel of a weight whose encoder has panel(). */
    bool (*panel)(const struct reading *how, const struct encoded *of, const struct encode_panel *panel, struct err *err);
};

struct pipeline {
    struct model *model;                /* source of all reads; a pipe may be spooled */
    const struct pieces *pieces;        /* the output */
    const struct kernels *kernels;
    const struct pipeline_encoder *encode;      /* &encoder, or NULL for pieces without ENCODE: such programs lack encoders */
    struct sink *sink;
    uint64_t from, to;                  /* range of output bytes to write */
    bool one_of_many;                   /* one output of a job: the caller has started the progress meter for all of them */
    unsigned jobs;                      /* workers; 0: automatic */
    size_t panel_bytes;                 /* size of the panels; 0: PANELS_BYTES */
    bool no_verify;                     /* do not verify the checksums of the input */
    bool nonfinite_ok;                  /* encode NaN and infinity as the reference does */
    struct losses *losses;              /* accumulates the quantization error, or NULL; borrowed */
    struct shifts *shifts;              /* accumulates how deltas show in the output, or NULL; borrowed */
    struct verify *verify;              /* set during a run */
    struct cache *facts;                /* set during a run, for quantizing: encoder_facts() */
    struct cache *bare_facts;           /* set during a run, for values without their deltas, if shifts_again() */
    const struct hook *hooks;           /* nhooks, at most PIECES_HOOKS, in addition to the pieces' own */
    size_t nhooks;
    struct changed_values changed;      /* out: values of changed weights that are NaN or infinite */
    uint64_t infinite;                  /* out: number of values that became infinite by rounding to a narrower type */
};

/* Writes the range. Fails with ERR_IO if an input changed meanwhile. If several blocks fail, the error of the lowest one is
 * reported, independent of timing. */
bool pipeline_run(struct pipeline *p, struct err *err);

/* For jobs that write no output: prepares the input, calls make(), which makes the whole range with block_make(), in any order
 * if the input is seekable, and then checks the input as pipeline_run() does. Sets a sink for the time of the call. */
bool pipeline_around(struct pipeline *p, bool (*make)(struct pipeline *p, void *of, struct err *err), void *of, struct err *err);

#endif
