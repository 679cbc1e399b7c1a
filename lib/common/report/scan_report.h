/* scan_report: what the pickles of a file would do when loaded, as JSON and as text. */
#ifndef REPORT_SCAN_REPORT_H
#define REPORT_SCAN_REPORT_H

#include <stdio.h>

#include "scan/pickles.h"
#include "report/ndjson.h"

/* Text lines of one kind: the first ones, and how many there were. */
struct scan_report_lines {
    struct str text;
    uint64_t count;
};

/* Result of a scan. Clean: every byte that a loader could execute was read, and only allowed names are referenced. Found:
 * something dangerous. Unknown: something could not be read, or references names that are not known to be harmless. */
enum scan_report_outcome { SCAN_REPORT_CLEAN, SCAN_REPORT_FOUND, SCAN_REPORT_UNKNOWN, SCAN_REPORT_OUTCOMES };

struct scan_report {
    const char *file;           /* as named by the user, or a file of that directory; any bytes. Borrowed */
    const char *heading;        /* above the text, escaped; NULL: no heading. Borrowed */
    bool human, first;          /* human: write text; first: no report precedes this one */
    struct page page;
    bool begun;                 /* something has been written */
    uint64_t verdicts[VERDICTS], unresolved;        /* counts over all pickles */
    enum scan_report_outcome outcome;  /* set by scan_report_end() */
    struct scan_report_lines lines[VERDICTS], odd;
};

/* Starts a report. Set file, heading, human and first, and zero the rest. */
void scan_report_begin(struct scan_report *r, FILE *out);

/* Implements struct pickles_callback. */
bool scan_report_pickle(void *of, const struct pickle_found *found, struct err *err);

/* Writes the end and the verdict, and frees what the report holds. `failure` is what ended the scan early, or ERR_NONE. */
bool scan_report_end(struct scan_report *r, const struct pickles *pickles, const struct err *failure, struct err *err);

#endif
