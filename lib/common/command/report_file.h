/* report_file: the file of --report, which must not cost the output: when it alone fails, the output is complete. */
#ifndef COMMAND_REPORT_FILE_H
#define COMMAND_REPORT_FILE_H

#include "command/command_priv.h"

/* Zeroed but for cmd, p and choice, which are borrowed. Without --report nothing is done. */
struct report_file {
    const struct command *cmd;
    const struct pipeline *p;
    const struct choice *choice;
    struct sink *sink;          /* owned */
    bool written;               /* all of it, under a temporary name */
    struct err err;             /* the first failure once the work has begun */
};

/* Opens the file before work begins. A regular file is written when all bytes of the output are made, before that gets its
 * name. ERR_CREATE. */
bool report_file_open(struct report_file *report, struct err *err);

/* Gives the file its name. A pipe or a device is written now. The output is complete: a failure is ERR_IO and says so. */
bool report_file_commit(struct report_file *report, struct err *err);
void report_file_close(struct report_file *report);

#endif
