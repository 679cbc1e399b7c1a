/* options: the command line of amn-inspect. */
#ifndef AMN_INSPECT_OPTIONS_H
#define AMN_INSPECT_OPTIONS_H

#include "cli/cli.h"
#include "dtype/dtype.h"

struct options {
    struct cli cli;
    bool metadata;              /* --metadata: all of it in the text too */
    bool scan;                  /* --scan: of the pickles, not of the model */
    bool arrays;                /* --arrays: metadata arrays in full */
    enum dtype to;              /* --to: BF16, F16 or F32 */
    bool size;                  /* it was given: the size of the file is wanted too */
};

/* Ends the process after --help, --version and usage errors. */
void options_parse(struct options *opt, int argc, char **argv);

/* Whether they go together. ERR_USAGE. */
bool options_check(const struct options *opt, struct err *err);

#endif
