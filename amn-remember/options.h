/* The command line of amn-remember. */
#ifndef AMN_REMEMBER_OPTIONS_H
#define AMN_REMEMBER_OPTIONS_H

#include "cli/options.h"
#include "plan/plan.h"
#include "sink/sink.h"

struct options {
    struct cli cli;
    struct plan_options plan;
    struct sink_options output;
    unsigned jobs;                  /* 0: as many as pay */
    bool no_spool;
    bool size;                      /* print the length of the output, write nothing */
    bool range;                     /* write a part of the output: */
    bool has_first, has_last;       /* --range A-B, A-, -LAST_N */
    uint64_t first, last;
};

/* Parse the command line; ends the process for --help, --version and usage errors. */
void options_parse(struct options *opt, int argc, char **argv);

/* The bytes [*from, *to) of an output of `size` bytes that are wanted: all without --range. False when the
 * range begins behind the end: ERR_USAGE. */
bool options_range(const struct options *opt, uint64_t size, uint64_t *from, uint64_t *to, struct err *err);

#endif
