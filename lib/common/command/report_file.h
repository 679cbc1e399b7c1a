/* report_file: the file of --report. Its failure must not affect the output, which is then complete. */
#ifndef COMMAND_REPORT_FILE_H
#define COMMAND_REPORT_FILE_H

#include "command/command_priv.h"
#include "report/shift_report.h"

/* Writes a whole report, the text of a page in memory, unless `ok` is false; clears the page. Returns false after a failure. */
bool report_file_send(struct sink *sink, struct page *page, bool ok, struct err *err);

/* Set job and adapters, which are borrowed, and zero the rest. Without --report the functions do nothing. */
struct report_file {
    struct job *job;
    const struct shift_report *adapters;        /* or NULL */
    struct sink *sink;          /* owned */
    bool written;               /* completely written under a temporary name */
    struct err err;             /* first failure after report_file_open() */
};

/* Opens the file before work begins. A regular file is written after all bytes of the output, before the output gets its
 * name. Fails with ERR_CREATE. */
bool report_file_open(struct report_file *report, struct err *err);

/* Renames the file to its name; a pipe or a device is written now. The output is complete by then, so failures are ERR_IO
 * and say so. */
bool report_file_commit(struct report_file *report, struct err *err);

/* Writes the report of a job of --exact that refused a weight: the names that were tried until then. Prints a warning if that fails. */
void report_file_refuse(struct job *job);

void report_file_close(struct report_file *report);

#endif
