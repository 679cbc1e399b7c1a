/* digest: amn-inspect --hash. */
#ifndef AMN_INSPECT_DIGEST_H
#define AMN_INSPECT_DIGEST_H

#include "command/hash.h"

/* Prints the digest of each operand as sha256sum does, or with --json as the last line of amn-parse --hash. Returns the
 * highest failure status. */
enum cli_status digest_operands(struct cli *cli, const struct hash *hash);

#endif
