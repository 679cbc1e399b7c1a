/* manifest_file: --manifest: the digests of the output, as amn-parse --hash prints them for it. They are computed while the
 * output passes; only the values of quantized weights are read again, from the complete files. */
#ifndef COMMAND_MANIFEST_FILE_H
#define COMMAND_MANIFEST_FILE_H

#include "command/command_priv.h"
#include "pipeline/output_digests.h"

/* Set the first member, and zero the rest. */
struct manifest_file {
    struct job *job;                    /* borrowed */
    struct sink *sink;                  /* NULL: no --manifest */
    struct sha256_library library;
    struct output_digests digests;
    struct hook hook;
};

/* Opens the file and adds a hook to the pipeline, with --manifest. Fails with ERR_USAGE if the options exclude it. */
bool manifest_file_open(struct manifest_file *m, struct err *err);

/* Writes the manifest. The output is complete by then, so failures are ERR_IO and say so. */
bool manifest_file_commit(struct manifest_file *m, struct err *err);

void manifest_file_close(struct manifest_file *m);

#endif
