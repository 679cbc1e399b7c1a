/* split_files: writes a split model: NAME-00001-of-0000N.gguf and so on.
 *
 * All files have temporary names until all are complete. Then they are renamed, the first one last, because without it the
 * others are not a model. A failure or a signal before that leaves no file.
 */
#ifndef OUTPUT_SPLIT_FILES_H
#define OUTPUT_SPLIT_FILES_H

#include "output/outputs.h"
#include "pipeline/pipeline.h"
#include "plan/shards.h"
#include "writer/writer.h"

struct split_files {
    const char *path;           /* NAME.gguf */
    uint64_t size;              /* bytes of tensor data per file; a single tensor may exceed it */
    const struct writer *writer;
    bool sync;
    bool force;                 /* replace files that exist */
    enum sink_direct direct;
    struct outputs *outputs;    /* all files of the job; borrowed */
    uint64_t nbytes;            /* out: total size of the files */
    size_t n;                   /* out: number of files */
};

/* Appends "PATH-00001-of-00003.gguf", the name of file i of n, even if n is 1. `path` may end in .gguf. */
bool split_files_name(struct str *name, const char *path, size_t i, size_t n, struct err *err);

/* Writes the files. Takes a pipeline for a whole output, as model_dir_write() does. A pipe is spooled first. Fails with
 * ERR_CREATE if one of the files exists, unless `force`. */
bool split_files_write(struct split_files *split, struct pipeline *p, struct choice *choice,
    const struct writer_options *options, struct err *err);

#endif
