/* check_blobs: amn-inspect --check of whole files: those of models in local stores, whose names there are their digests, and those of
 * a list of sha256sum. */
#ifndef COMMAND_CHECK_BLOBS_H
#define COMMAND_CHECK_BLOBS_H

#include "cli/cli.h"
#include "model/manifest.h"

/* Checks the operands, each hf:NAME, ollama:NAME or a directory of such a store. Prints the files that differ, with -v all, and a
 * summary of each operand. Returns CLI_FOUND if one differs or is missing, or a failure status. */
enum cli_status check_blobs_run(struct cli *cli);

/* The same for a list of files, which are looked for in the operands; without an operand, at their own paths. */
enum cli_status check_blobs_list(struct cli *cli, const struct manifest *list);

#endif
