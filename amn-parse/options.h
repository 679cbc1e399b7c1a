/* options: the command line of amn-parse. */
#ifndef AMN_PARSE_OPTIONS_H
#define AMN_PARSE_OPTIONS_H

#include "cli/cli.h"

struct options {
    struct cli cli;
};

/* Ends the process after --help, --version and usage errors. */
void options_parse(struct options *opt, int argc, char **argv);

#endif
