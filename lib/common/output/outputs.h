/* output: destinations of bytes: a single file, the files of a split model, or a model directory with index, side files and
 * journal. Knows no scheme, kernel or header layout; hf decides what a directory contains. Start with model_dir.h; outputs
 * lists the files of a job, whatever their kind. */

/* outputs: the files that a job writes. None of them may be an input, and no two may be the same file.
 *
 * Files are identified by device and inode or, before a file exists, by device and inode of its directory, and its name.
 * Each file is added before work begins and checked again when it is renamed, because names and links can change meanwhile.
 */
#ifndef OUTPUT_OUTPUTS_H
#define OUTPUT_OUTPUTS_H

#include "base/table.h"
#include "sink/sink.h"
#include "source/inputs.h"

struct output;

/* Zeroed except for `inputs`, the list is empty. Free it with outputs_clear(). */
struct outputs {
    const struct inputs *inputs;    /* of the job; borrowed */
    struct output *list;            /* n of them; owned */
    size_t n, room;
    struct table places;            /* directory and name, to the index in the list */
    bool compares;                  /* compare with the existing files; write nothing */
    void (*made)(void *of);         /* called by outputs_made(); may be NULL */
    void *of;
};

/* Adds the file at `path`, or standard output if NULL. Fails with ERR_CREATE if it is an input or another output. */
bool outputs_add(struct outputs *outputs, const char *path, struct err *err);

/* Checks all outputs against the inputs again, after more inputs were opened. Fails with ERR_CREATE. */
bool outputs_check(const struct outputs *outputs, struct err *err);

/* Removes temporary files that killed jobs left for these outputs, unless a process has them open. */
void outputs_sweep(const struct outputs *outputs);

/* Opens an added file with sink_open() or sink_compare(). */
bool outputs_open(struct outputs *outputs, struct sink **sink, const struct sink_options *options, struct err *err);

/* Calls `made` when all bytes are generated and only the final renames remain. */
void outputs_made(const struct outputs *outputs);

/* Checks that the final name is still neither an input nor another output, then commits the sink. */
bool outputs_commit(struct outputs *outputs, struct sink *sink, struct err *err);

void outputs_clear(struct outputs *outputs);

#endif
