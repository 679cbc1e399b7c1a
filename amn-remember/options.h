/* The command line of amn-remember. */
#ifndef AMN_REMEMBER_OPTIONS_H
#define AMN_REMEMBER_OPTIONS_H

#include "cli/options.h"
#include "pipeline/model_dir.h"
#include "plan/cut.h"
#include "sink/sink.h"
#include "writer/writer.h"

/* What is wanted instead of the output: a number or a text, or only that the output is made. */
enum instead { INSTEAD_NOTHING, INSTEAD_SIZE, INSTEAD_PARTS, INSTEAD_PLAN, INSTEAD_TEST };

struct options {
    struct cli cli;
    enum dtype to;                  /* of recovered weights: BF16, F16 or F32 */
    struct writer_options writer;
    struct sink_options output;
    struct model_dir dir;           /* -o DIR/; no path: the output is one file */
    struct cut cut;                 /* the bytes that are wanted */
    unsigned jobs;                  /* 0: as many as pay */
    bool no_verify;             /* checksums of the input are not looked at */
    bool no_spool;
    enum instead instead;
};

/* Whether the options go together, as far as only all of them tell; else ERR_USAGE. */
bool options_check(const struct options *opt, struct err *err);

/* Parse the command line; ends the process for --help, --version and usage errors. */
void options_parse(struct options *opt, int argc, char **argv);

#endif
