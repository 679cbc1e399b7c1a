/* conflicts: options that cannot be combined, or that require another one: one table for all tools, beside the table of options.
 * Checks that need more than which options were given, such as the output format, are not here. */
#ifndef CLI_CONFLICTS_H
#define CLI_CONFLICTS_H

#include "cli/cli.h"

/* Fails with ERR_USAGE for the first row of the table that the given options break. `given` is cli->given or, if a tool adds those
 * CLI_FACT_... that hold, a copy of it. */
bool conflicts_check(const struct cli *cli, const bool given[CLI_KEYS], struct err *err);

/* Returns the name of the first option of a list of keys, which ends with 0, that was given; or NULL. */
const char *conflicts_first(const struct cli *cli, const int *keys);

#endif
