/* What the files of this layer share. */
#ifndef COMMAND_COMMAND_PRIV_H
#define COMMAND_COMMAND_PRIV_H

#include "command/command.h"
#include "pipeline/checksum.h"
#include "pipeline/scan.h"
#include "encode/losses.h"
#include "scheme/roles.h"

/* Find writer and encoder, when all options are known. ERR_USAGE when they do not go together. */
bool command_settle(struct command *cmd, struct err *err);

/* Print what is wanted instead of the output of one file. */
bool command_print(const struct command *cmd, const struct pipeline *p, const struct choice *choice, struct err *err);

/* The same of an output of several files: which these would be. */
bool command_preview_files(const struct command *cmd, const struct pipeline *p, const struct choice *choice,
    const struct writer_options *layout, struct err *err);

/* The metadata of the output, for its writer; clear them after a failure too. */
bool command_keys_make(struct keys *keys, struct command *cmd, struct model *model, const struct choice *choice, struct err *err);

/* The same, for the layout of the output; under -v says what is left out or missing. */
bool command_keys(struct keys *keys, struct command *cmd, struct model *model, const struct choice *choice, struct err *err);

/* What is said when the output is complete, so that nothing is a failure: the tensors that have NaN or infinite values;
 * values beyond the type; odd scales, when asked; and the last line. */
void command_warn_of_values(const struct cli *cli, const struct pipeline *p, const struct nonfinite_scan *scan);
void command_warn_of_range(const struct command *cmd, const struct pipeline *p);
void command_note_scales(const struct cli *cli, const struct pipeline *p, const struct roles *roles);
void command_tell_error(const struct command *cmd, const struct pipeline *p, const struct choice *choice);
void command_note_end(const struct command *cmd, const struct pipeline *p, const struct checksum *sum);

/* Write the output; or what is wanted instead. */
bool command_write(const struct command *cmd, struct pipeline *p, struct choice *choice, const struct roles *roles, struct err *err);

#endif
