/* scan: amn-inspect --scan. */
#ifndef AMN_INSPECT_SCAN_H
#define AMN_INSPECT_SCAN_H

#include "cli/cli.h"

/* Reports what the pickles of each operand would do. Returns CLI_FOUND if something dangerous was found, CLI_UNSAFE if
 * something suspicious was, otherwise the highest failure status. */
enum cli_status scan_operands(struct cli *cli);

#endif
