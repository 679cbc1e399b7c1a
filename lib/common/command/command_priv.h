/* Declarations shared within this layer. */
#ifndef COMMAND_COMMAND_PRIV_H
#define COMMAND_COMMAND_PRIV_H

#include "command/command.h"
#include "family/back.h"
#include "family/image.h"
#include "hf/config_text.h"
#include "hf/quantization.h"
#include "output/model_dir.h"
#include "output/outputs.h"
#include "output/split_files.h"
#include "pipeline/checksum.h"
#include "pipeline/scan.h"
#include "encode/losses.h"
#include "scheme/roles.h"

enum { COMMAND_CANDIDATES = 32 };

/* One output: what is decided for it, and what comes of it. */
struct job {
    const struct command *cmd;          /* what the user said; borrowed */
    const struct writer *writer;        /* format of the files */
    const char *scheme;                 /* the user's, or the first candidate; or NULL */
    const struct encoder *candidates[COMMAND_CANDIDATES];   /* of --target-size and --target-bpw; ncandidates elements */
    size_t ncandidates;
    bool is_exact;                      /* --exact, or amn-convert to GGUF */
    struct sink_options output;
    struct model model;
    struct roles *roles;                /* owned */
    struct choice choice;
    struct pipeline p;
    struct reduction reduction;         /* how weights are encoded; rules and names are the command's. No encoder: none is */
    struct exact_job exact;             /* if is_exact; takes the globs of the command */
    struct hf_model_options hf;         /* this and the next two: the command's, with what this model needs */
    struct keys_given given;
    struct writer_options layout;
    struct hf_model to_gguf;            /* the Hugging Face side, in one of the two directions */
    struct model_family *image_given;   /* --family of an image model, or NULL; owned */
    bool image_none;                    /* --family none: a GGUF file without the rules of a family */
    struct image_model image;           /* an image model that becomes GGUF */
    bool to_hf;                         /* a GGUF model becomes a Hugging Face model */
    struct back_options back_options;   /* then, as the next */
    struct back_model back;
    struct adapters *adapters;          /* owned, or NULL */
    struct adapter_job adapting;
    char *adapter_file;                 /* the file in an operand that is an adapter's directory; owned, or NULL */
    struct adapter_arguments recast_from;       /* the adapters that become another one; owned */
    struct recast recast;               /* an adapter that becomes another one */
    struct recast_job recasting;        /* `to` RECAST_NONE: nothing of the kind */
    struct catalog *nothing;            /* the catalog of `roles` then; owned, or NULL */
    struct hf_config_changes changes;   /* of config.json, by adapters */
    struct hf_quantization quantization;
    struct loss_uniform *uniform;       /* nuniform of them: the candidates of a target, each for all weights; owned */
    size_t nuniform;
    struct keys keys;                   /* metadata of the output */
    struct keys imatrix;                /* what `keys` has about the importance matrix */
    struct outputs outputs;             /* files */
    struct model_dir dir;               /* path NULL: the output is not a directory */
    struct split_files split;           /* size 0: the output is one file */
};

/* Decides on format, encoder and kind of the output from all options together. Fails with ERR_USAGE if options cannot be combined
 * or do not match. */
bool command_settle(struct job *job, struct err *err);

/* Checks options with the output format, which is settled. Fails with ERR_USAGE. */
bool command_check(const struct job *job, struct err *err);

/* Returns how the output holds quantized weights; blocks, unless the format, which may be NULL, has codes. */
enum keeps command_held(const struct writer *writer);

enum { COMMAND_SCHEME = 64 };           /* room for the name of a scheme */

/* Copies the next name of a list with commas, cut if it is longer than names of schemes are, and moves *list to the one after it.
 * Returns false at the end. */
bool command_next_scheme(char name[COMMAND_SCHEME], const char **list);

/* Returns the format that an encoder is written in. */
const struct writer *command_format_of(const struct encoder *encoder);

/* Fails with ERR_USAGE for an unknown scheme, with the name that was meant. `formats`: a format was possible as well. */
bool command_unknown_scheme(const char *option, const char *arg, bool formats, struct err *err);

/* Returns a quantization error in words, at `text` or static. */
enum { COMMAND_ERROR_TEXT = 96 };
const char *command_error_text(char text[COMMAND_ERROR_TEXT], const struct loss *l);

/* Prints what --size, --parts, --plan or --dry-run ask for, for an output of one file. */
bool command_print(const struct job *job, struct err *err);

/* Prints the --dry-run of an output of several files. */
bool command_preview_files(const struct job *job, struct err *err);

/* Says how many quantized weights amn-convert dequantizes because the output cannot hold them. With --keep-quantized, fails with
 * ERR_UNSUPPORTED if there is one. */
bool command_tell_dequantized(const struct job *job, struct err *err);

/* After the output is written: says what its readers cannot do with it, and what to do instead. */
void command_tell_readers(const struct job *job);

/* Warns if weights that are quantized already are quantized again, and says how many are only dequantized. */
void command_warn_again(const struct job *job);

/* Reads the family that the user named, if it is one of image models. */
bool command_image_family(struct job *job, struct err *err);

/* Chooses the tensors and keys of an image model that becomes GGUF, if the input is one. */
bool command_image_choose(struct job *job, struct err *err);

/* Fails for an option that concerns only model directories. */
bool command_no_hf(const char *option, struct err *err);

/* Makes the metadata of an output with these tensors. Clear *keys even after a failure. */
bool command_keys_make(struct keys *keys, struct job *job, const struct choice *choice, struct err *err);

/* Reads the types that --gguf-kv values have in the input, and the files that metadata options name. */
bool command_keys_read(struct job *job, struct err *err);

/* Makes the metadata for the final layout; -v notes what is missing or left out. */
bool command_keys(struct job *job, struct err *err);

/* Opens the input, and finds out whether it is an adapter that becomes another adapter. */
bool command_open(struct job *job, const struct model_options *how, struct err *err);

/* Chooses the tensors of the adapter that it becomes. */
bool command_recast(struct job *job, struct err *err);

/* Returns true if -o names a directory for a GGUF file, and one for the towers if the model has any. */
bool command_is_pair(const struct command *cmd);

/* Returns true if a GGUF file of this operand may have towers beside it: it is a model directory, and no option chooses tensors. */
bool command_has_towers(const struct command *cmd, const char *operand);

/* Runs one job for each operand, with --output-dir or for a pair, and one for the towers of a model. Returns the largest exit
 * status. */
enum cli_status command_run_each(struct command *cmd);

/* Appends the output of an operand: OUTPUT_DIR/NAME.FORMAT, or OUTPUT_DIR/NAME/ for a directory. */
bool command_name_output(struct str *path, const struct command *cmd, const char *operand, struct err *err);

/* Messages after the output is complete; none of them is a failure. In order: tensors with NaN or infinite values; values
 * that overflow the output type; NaN or infinite scales (-v); how adapters show; the quantization error; what was written where, for a person at a terminal; totals (-v). */
/* Warns of a mix whose type no weight has. */
void command_warn_of_mix(const struct command *cmd, const char *file, const struct choice *choice);

void command_warn_of_values(const struct cli *cli, const struct pipeline *p, const struct nonfinite_scan *scan);
void command_warn_of_range(const struct command *cmd, const struct pipeline *p);
void command_note_scales(const struct cli *cli, const struct pipeline *p, const struct roles *roles);
void command_tell_shift(const struct job *job);
void command_tell_error(const struct job *job);
void command_tell_end(const struct job *job, uint64_t nbytes, const char *where);
void command_note_end(const struct command *cmd, const struct pipeline *p, const struct checksum *sum);

/* Writes the output, or prints what was asked for instead. */
bool command_write(struct job *job, struct err *err);

/* Returns the name of an option that concerns the conversion of a model directory, if one was given, else NULL. */
const char *command_hf_option(const struct command *cmd);

#endif
