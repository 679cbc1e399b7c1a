/* scan: amn-inspect --scan. */
#ifndef AMN_INSPECT_SCAN_H
#define AMN_INSPECT_SCAN_H

#include "base/err.h"
#include "base/meter.h"
#include "options.h"

struct scan {
    const struct options *opt;
    struct meter *meter;
    bool begun;                 /* a file was reported before */
    bool dangerous;             /* something was found */
    bool suspicious;            /* a suspicious global was named */
    int status;                 /* the highest of the faults that were told and not returned */
};

/* Report what the pickles of an operand would do: for cli_each(). What is wrong with a file that could be reported is
 * told at once, and kept in ->status. */
bool scan_operand(void *own, const char *operand, struct err *err);

/* The exit status of the cmd, which ended with `status`. */
int scan_status(const struct scan *scan, int status);

#endif
