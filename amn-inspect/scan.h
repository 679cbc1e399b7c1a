/* scan: amn-inspect --scan. */
#ifndef AMN_INSPECT_SCAN_H
#define AMN_INSPECT_SCAN_H

#include "cli/cli.h"

/* Reports what the pickles of each operand would do. Returns CLI_FOUND when something dangerous is among them, CLI_UNSAFE
 * when it cannot be told, else the highest of the failures. */
enum cli_status scan_operands(struct cli *cli);

#endif
