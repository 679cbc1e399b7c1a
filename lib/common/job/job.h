/* job: one model in, one output out: what the tools that write are made of. A tool sets what is its own, and leaves the rest
 * to job_take() and job_run().
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "cli/options.h"
#include "pipeline/model_dir.h"
#include "plan/cut.h"
#include "plan/naming.h"
#include "plan/reduction.h"
#include "sink/sink.h"
#include "writer/writer.h"

/* What is wanted instead of the output: a number or a text, or only that the output is made. */
enum job_instead { JOB_OUTPUT, JOB_SIZE, JOB_PARTS, JOB_PLAN, JOB_TEST };

/* Set by options; strings are borrowed from argv. */
struct job {
    struct cli cli;
    const struct writer *writer;    /* of one file; NULL: as the scheme or the extension of the output has it */
    const char *scheme;             /* that weights are encoded by, or NULL; borrowed */
    const char *input_scheme;       /* while the options of amn-forget are read: that of the input, or NULL */
    bool forgets;                   /* without a scheme there is nothing to do */
    struct writer_options layout;
    enum dtype to;                  /* of recovered weights: BF16, F16 or F32 */
    bool cast;                      /* and of all other floats */
    struct reduction reduction;     /* what becomes of weights; without an encoder nothing is encoded */
    bool nonfinite_ok;              /* NaN and infinity are encoded */
    struct naming naming;           /* which tensors, under which names; owned */
    struct sink_options output;
    struct model_dir dir;           /* a directory; no path: the output is one file */
    struct cut cut;                 /* the bytes that are wanted */
    unsigned jobs;                  /* workers; 0: as many as pay */
    bool no_verify;                 /* checksums of the input are not looked at */
    bool no_spool;
    enum job_instead instead;
};

/* struct cli_take, of a struct job: the options that all tools that write have. */
bool job_take(void *job, const struct cli_option *option, const char *arg, struct err *err);

/* --to: a format, or a scheme too. */
bool job_take_format(struct job *job, const struct cli_option *option, const char *arg, struct err *err);

/* Whether the options go together, as far as only all of them tell; else ERR_USAGE. */
bool job_check(const struct job *job, struct err *err);

/* Do it, with all that is said meanwhile, and free what the job owns. Returns the exit status. */
int job_run(struct job *job);

#endif
