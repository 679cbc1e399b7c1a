/* Layer command: what the tools that write have in common, from their options to what they print at the end.
 * Knows no byte of any format: it calls the other layers in order. No layer includes it.
 * Begin here, with command_run(); write.c is the story. */

/* command: one model in, one output out: what the tools that write are made of. A tool sets what is its own, and leaves the rest
 * to command_take() and command_run().
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "cli/options.h"
#include "output/model_dir.h"
#include "output/split_files.h"
#include "plan/byte_range.h"
#include "plan/naming.h"
#include "plan/reduction.h"
#include "output/sink/sink.h"
#include "writer/writer.h"

/* What is wanted instead of the output: a number or a text, or only that the output is made. */
enum command_instead { COMMAND_OUTPUT, COMMAND_SIZE, COMMAND_PARTS, COMMAND_PLAN, COMMAND_DRY_RUN, COMMAND_TEST };

enum { COMMAND_CANDIDATES = 32 };

/* Set by options; strings are borrowed from argv. */
struct command {
    struct cli cli;
    const struct writer *writer;    /* of one file; NULL: as the scheme or the extension of the output has it */
    const char *scheme;             /* that weights are encoded by, or NULL; borrowed */
    const char *input_scheme;       /* while the options of amn-forget are read: that of the input, or NULL */
    bool forgets;                   /* without a scheme there is nothing to do */
    struct writer_options layout;
    enum dtype to;                  /* of recovered weights: BF16, F16 or F32 */
    bool cast;                      /* and of all other floats, for the user named it */
    struct reduction reduction;     /* what becomes of weights; without an encoder nothing is encoded */
    uint64_t target_size;           /* bytes of the output, or 0; of the encoders of candidates each weight gets one */
    double target_bpw;              /* bits an element of the model instead, or 0 */
    const char *candidate_names;    /* separated by commas; borrowed, or NULL */
    const struct encoder *candidates[COMMAND_CANDIDATES];       /* ncandidates */
    size_t ncandidates;
    const char *imatrix;            /* the file of an importance matrix, or NULL; borrowed */
    const char *report;             /* a file for what encoding took from each weight, or NULL; borrowed */
    bool nonfinite_ok;              /* NaN and infinity are encoded */
    bool keep_quantized;            /* nothing is decoded: what is quantized moves as it is */
    struct naming naming;           /* which tensors, under which names; owned */
    const char *pre;                /* how a tokenizer of BPE cuts text before it merges, as llama.cpp calls it; or NULL */
    struct keys_given keys;         /* what to put into the metadata; owned */
    struct sink_options output;
    struct model_dir dir;           /* a directory; no path: the output is one file, or: */
    struct split_files split;       /* files of a split model; size 0: the output is one file */
    struct outputs *outputs;        /* files of the job, while it runs; borrowed */
    struct byte_range cut;                 /* the bytes that are wanted */
    unsigned jobs;                  /* workers; 0: as many as pay */
    bool no_verify;                 /* checksums of the input are not looked at */
    bool no_spool;
    enum command_instead instead;
};

/* struct cli_take, of a struct command: the options that all tools that write have. */
bool command_take(void *cmd, const struct cli_option *option, const char *arg, struct err *err);

/* --to: a format, or a scheme too. */
bool command_take_format(struct command *cmd, const struct cli_option *option, const char *arg, struct err *err);
/* When all are taken: what the output is, a file, a directory, or standard output. */
void command_take_output(struct command *cmd);

/* Whether the options go together, as far as only all of them tell; else ERR_USAGE. */
bool command_check(const struct command *cmd, struct err *err);

/* Do it, with all that is said meanwhile, and free what the job owns. Returns the exit status. */
enum cli_status command_run(struct command *cmd);

#endif
