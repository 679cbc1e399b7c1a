/* output_digests: digests of the tensors of an output, while it passes in order. One object serves all files of an output. */
#ifndef PIPELINE_OUTPUT_DIGESTS_H
#define PIPELINE_OUTPUT_DIGESTS_H

#include "base/sha256.h"
#include "base/table.h"
#include "pipeline/pipeline.h"
#include "plan/digests.h"

/* A tensor that has passed. It counts as unquantized: its values are its elements. */
struct output_digest {
    char *name;                         /* owned */
    struct tensor t;                    /* with this name; the shape is borrowed from the choice; extent.at is in its file */
    struct digest_pair digest;
};

struct output_digests {
    const struct pipeline *p;           /* of the job, with the pieces of the current file; borrowed */
    const struct sha256_library *library;       /* borrowed */
    struct output_digest *list;         /* n of them, in the order of the output; owned */
    size_t n, room;
    size_t files;                       /* number of files that have begun */
    size_t piece;                       /* the piece of the next byte */
    bool begun;                         /* the tensor of that piece is list[n - 1] */
    bool wide;                          /* its values are hashed apart */
    struct sha256 stored, values;
    uint8_t tail[2];                    /* first byte of a value that is cut by the end of a block */
    size_t ntail;
    struct table names;                 /* name, to the index in the list */
    struct err err;                     /* first failure to allocate */
};

/* Sets up zeroed digests, and returns the hook that fills them. */
struct hook output_digests_hook(struct output_digests *d, const struct pipeline *p, const struct sha256_library *library);
void output_digests_clear(struct output_digests *d);

/* Returns the digests of the tensor with this name, or NULL. */
const struct output_digest *output_digests_find(const struct output_digests *d, const char *name, size_t n);

#endif
