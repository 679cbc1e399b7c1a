/* check: amn-inspect --check: compares models with a manifest. */
#ifndef COMMAND_CHECK_H
#define COMMAND_CHECK_H

#include "cli/cli.h"
#include "command/hash.h"
#include "model/manifest.h"
#include "plan/naming.h"

/* Compares each operand after the first with the manifest that the first one names. Prints the tensors that differ, with -v
 * all, and a summary. Returns CLI_FOUND if one differs, or a failure status. */
enum cli_status check_run(struct cli *cli, const struct hash *hash, const struct naming *naming);

/* --- check_blobs.c */

/* Checks the operands, each hf:NAME, ollama:NAME or a directory of such a store. Prints the files that differ, with -v all, and a
 * summary of each operand. Returns CLI_FOUND if one differs or is missing, or a failure status. */
enum cli_status check_blobs_run(struct cli *cli);

/* The same for a list of files, which are looked for in the operands; without an operand, at their own paths. */
enum cli_status check_blobs_list(struct cli *cli, const struct manifest *list);

#endif
