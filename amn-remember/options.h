/* The command line of amn-remember. */
#ifndef AMN_REMEMBER_OPTIONS_H
#define AMN_REMEMBER_OPTIONS_H

#include "cli/options.h"
#include "plan/cut.h"
#include "sink/sink.h"
#include "writer/writer.h"

/* What is wanted instead of the output. */
enum instead { INSTEAD_NOTHING, INSTEAD_SIZE, INSTEAD_PARTS, INSTEAD_PLAN };

struct options {
    struct cli cli;
    enum dtype to;                  /* of recovered weights: BF16, F16 or F32 */
    struct writer_options writer;
    struct sink_options output;
    struct cut cut;                 /* the bytes that are wanted */
    unsigned jobs;                  /* 0: as many as pay */
    bool no_spool;
    enum instead instead;
};

/* Parse the command line; ends the process for --help, --version and usage errors. */
void options_parse(struct options *opt, int argc, char **argv);

#endif
