/* check: amn-inspect --check: compares models with a manifest. */
#ifndef COMMAND_CHECK_H
#define COMMAND_CHECK_H

#include "command/hash.h"
#include "plan/naming.h"

/* Compares each operand after the first with the manifest that the first one names. Prints the tensors that differ, with -v
 * all, and a summary. Returns CLI_FOUND if one differs, or a failure status. */
enum cli_status check_run(struct cli *cli, const struct hash *hash, const struct naming *naming);

#endif
