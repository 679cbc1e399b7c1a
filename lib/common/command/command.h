/* Layer command: what the writing tools share, from their options to the last line they print. It calls the other layers in
 * order and knows no file formats. No layer includes it. Start here with command_run(); write.c then reads from top to
 * bottom. */

/* command: turns one model into one output. A tool sets its own members and leaves the rest to command_take() and
 * command_run(). */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "adapter/recast.h"
#include "cli/options.h"
#include "exact/exact_job.h"
#include "family/hf_model.h"
#include "plan/byte_range.h"
#include "plan/naming.h"
#include "plan/reduction.h"
#include "scheme/scheme.h"
#include "sink/sink.h"
#include "writer/writer.h"

/* What to produce instead of the output. */
enum command_instead { COMMAND_OUTPUT, COMMAND_SIZE, COMMAND_PARTS, COMMAND_PLAN, COMMAND_DRY_RUN, COMMAND_TEST };

/* What the user said, set by options. struct job has what is decided from all of them together. Strings are borrowed from argv. */
struct command {
    struct cli cli;
    const struct writer *format;    /* --to; NULL: follows from the scheme or the file extension */
    const char *scheme;             /* name of the scheme to encode with, or NULL; borrowed */
    bool needs_scheme;              /* a scheme is mandatory */
    bool dequantizes;               /* amn-remember: writes safetensors only */
    bool to_hf;                     /* --to hf or --names hf: a GGUF model becomes a Hugging Face model, also as one file */
    bool keeps_names;               /* --names gguf: a directory gets the tensors of a GGUF model under their names there */
    struct writer_options layout;
    enum dtype to;                  /* type of dequantized weights: BF16, F16 or F32 */
    bool cast;                      /* --dtype: convert all other floats, too */
    struct reduction reduction;     /* how weights are encoded; without an encoder nothing is */
    uint64_t target_size;           /* --target-size in bytes, or 0; each weight gets one of the candidates */
    double target_bpw;              /* --target-bpw, bits per element of the model, or 0 */
    const char *candidate_names;    /* comma-separated; borrowed, or NULL */
    bool is_exact;                  /* --exact */
    struct exact_job exact;         /* then: level and globs */
    const char *imatrix;            /* path of an importance matrix, or NULL; borrowed */
    struct adapter_arguments adapters;      /* --adapter, in order; owned */
    enum recast_form recast;        /* --to peft and others: an adapter becomes another adapter */
    const char *base;               /* --base: its base model, or NULL; borrowed */
    const char *report;             /* path for the error of each weight, or NULL; borrowed */
    const char *manifest;           /* path for the digests of the output, or NULL; borrowed */
    bool keep_shapes;               /* image models keep the shapes of their convolutions */
    bool nonfinite_ok;              /* encode NaN and infinity instead of failing */
    bool keep_quantized;            /* fail rather than dequantize a weight */
    bool dequantize;                /* dequantize every weight, also those that the output format holds as they are */
    struct naming naming;           /* selects the tensors that are written, and renames them; owned. reduction.which selects those
                                     * that change */
    struct naming types;            /* tensors that get a type by name; owned */
    struct hf_model_options hf;     /* how a Hugging Face model directory is converted */
    struct keys_given keys;         /* metadata given by the user; owned */
    bool in_place;                  /* --in-place: the header of the input is replaced */
    const char *output_dir;         /* --output-dir: folder for the output of each operand, or NULL; borrowed */
    bool one_of_several;            /* this job is for one of several operands */
    struct sink_options output;
    uint64_t shard_size;            /* --shard-size in bytes, or 0 */
    bool resume;
    struct byte_range cut;                 /* range or part of the output to write */
    unsigned jobs;                  /* worker threads; 0: choose */
    bool no_verify;                 /* do not verify checksums of the input */
    bool no_mmproj;                 /* no second file with the towers of a model */
    bool no_spool;
    enum command_instead instead;
};

/* Implements cli_take for a struct command: handles the options that all writing tools have. */
bool command_take(void *cmd, const struct cli_option *option, const char *arg, struct err *err);

/* Returns true if the word names an output format. */
bool command_is_format(const char *word);

/* Handles --to: a format; or, an old form, a scheme. */
bool command_take_format(struct command *cmd, const struct cli_option *option, const char *arg, struct err *err);

/* Runs the job, prints its messages, and frees what the command owns. Returns the exit status. */
enum cli_status command_run(struct command *cmd);

#endif
