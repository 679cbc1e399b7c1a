/* conflicts: options that cannot be combined, or that require another one: one table for all tools, beside the table of options.
 * Checks that need more than which options were given, such as the output format, are not here. */
#ifndef CLI_CONFLICTS_H
#define CLI_CONFLICTS_H

#include "cli/cli.h"

/* Fails with ERR_USAGE for the first row of the table that cli->given breaks. A tool sets those CLI_FACT_... that hold before. */
bool conflicts_check(const struct cli *cli, struct err *err);

/* Returns the name of the first option of a list of keys, which ends with 0, that was given; or NULL. */
const char *conflicts_first(const struct cli *cli, const int *keys);

#endif
