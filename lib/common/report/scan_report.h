/* scan_report: what the pickles of a file would do to whoever loads them, for programs and for people. */
#ifndef REPORT_SCAN_REPORT_H
#define REPORT_SCAN_REPORT_H

#include <stdio.h>

#include "scan/pickles.h"
#include "report/ndjson.h"

/* A kind of lines in the text: the first of them, and how many there were. */
struct scan_report_lines {
    struct str text;
    uint64_t count;
};

/* What a scan comes to. Clean: every byte that a loader could execute was read, and names only what tensors need. Found:
 * something dangerous. Unknown: something was not read, or names what is not known to be harmless. */
enum scan_report_outcome { SCAN_REPORT_CLEAN, SCAN_REPORT_FOUND, SCAN_REPORT_UNKNOWN };

struct scan_report {
    const char *file;           /* what the user named, or a file of that directory; any bytes. Borrowed */
    const char *heading;        /* over the text, escaped; NULL: none. Borrowed */
    bool human, first;          /* text; no other stands before it */
    struct page page;
    struct ndjson json;
    bool begun;                 /* something was told of */
    uint64_t verdicts[VERDICTS], unresolved;        /* findings of all pickles */
    enum scan_report_outcome outcome;  /* known from scan_report_end() on */
    struct scan_report_lines lines[VERDICTS], odd;
};

/* Zeroed but for file, heading, human and first. */
void scan_report_begin(struct scan_report *r, FILE *out);

/* struct pickles_callback. */
bool scan_report_pickle(void *of, const struct pickle_found *found, struct err *err);

/* Writes the end, and the verdict on all of it. `failure`: what ended the scan early, or ERR_NONE. Gives back what the report
 * holds. */
bool scan_report_end(struct scan_report *r, const struct pickles *pickles, const struct err *failure, struct err *err);

#endif
