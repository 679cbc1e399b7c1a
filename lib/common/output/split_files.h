/* split_files: a model in several files that say so themselves: NAME-00001-of-0000N.gguf and so on.
 *
 * Each file waits under a temporary name until all are complete. Then they get their names, the first one last: without
 * it the others are no model. After a failure, or a signal before, none is there. */
#ifndef OUTPUT_SPLIT_FILES_H
#define OUTPUT_SPLIT_FILES_H

#include "output/outputs.h"
#include "pipeline/pipeline.h"
#include "plan/shards.h"
#include "writer/writer.h"

struct split_files {
    const char *path;           /* NAME.gguf */
    uint64_t size;              /* bytes of tensor data a file; one tensor may be more */
    const struct writer *writer;
    bool sync;
    enum sink_direct direct;
    struct outputs *outputs;    /* the files of the job; borrowed */
    uint64_t nbytes;            /* out: of all files */
    size_t n;                   /* out: how many */
};

/* Appends "PATH-00001-of-00003.gguf", the name of file i of n, for a path that ends with .gguf or not, also of an only one. */
bool split_files_name(struct str *name, const char *path, size_t i, size_t n, struct err *err);

/* Write them. The pipeline is one for a whole output, but for its pieces, sink and range, as with model_dir_write(). A
 * pipe is spooled first. ERR_CREATE: one of the files is there already. */
bool split_files_write(struct split_files *split, struct pipeline *p, struct choice *choice,
    const struct writer_options *options, struct err *err);

#endif
