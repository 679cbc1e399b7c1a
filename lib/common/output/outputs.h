/* Layer output: where bytes go: one file, the files of a split model, a model directory with its index, side files and journal.
 * Knows no scheme, no kernel and no layout of a header; what a directory has to contain comes from hf.
 * Begin with model_dir.h; outputs are the files of a job, whatever their kind. */

/* outputs: the files that a job writes, whatever is in them. None of them is an input, and no two are one file.
 *
 * Files are told apart by identity, not by name: by device and inode, or before the file exists by those of its folder
 * and the name in it. Each is added before work begins. It is looked at again when it gets its name, because names and
 * links can change meanwhile. */
#ifndef OUTPUT_OUTPUTS_H
#define OUTPUT_OUTPUTS_H

#include "base/table.h"
#include "output/sink/sink.h"
#include "source/inputs.h"

struct output;

/* Zeroed but for `inputs`: none. Clear it with outputs_clear(). */
struct outputs {
    const struct inputs *inputs;    /* of the job; borrowed */
    struct output *list;            /* n of them; owned */
    size_t n, room;
    struct table places;            /* folder and name, to the place in the list */
    bool compares;                  /* outputs_open() compares with what is there, and nothing is written */
    void (*made)(void *of);         /* NULL, or called by outputs_made() */
    void *of;
};

/* Adds the file at `path`, or standard output when it is NULL. ERR_CREATE: it is an input or another output. */
bool outputs_add(struct outputs *outputs, const char *path, struct err *err);

/* Checks all of them against the inputs again, when more of these were opened. ERR_CREATE. */
bool outputs_check(const struct outputs *outputs, struct err *err);

/* Removes the temporary files that jobs which were killed left beside these files, for these files, and nobody has open. */
void outputs_sweep(const struct outputs *outputs);

/* Opens a file that was added: sink_open(), or sink_compare(). */
bool outputs_open(struct outputs *outputs, struct sink **sink, const struct sink_options *options, struct err *err);

/* Calls `made`: all bytes of the outputs are made, and the last file gets its name next. */
void outputs_made(const struct outputs *outputs);

/* Checks that the name which a file is about to get is still no input and no other output, then commits the sink. */
bool outputs_commit(struct outputs *outputs, struct sink *sink, struct err *err);

void outputs_clear(struct outputs *outputs);

#endif
