/* remarks: what a catalog has to tell about its model, on stderr. */
#ifndef CLI_REMARKS_H
#define CLI_REMARKS_H

#include "catalog/catalog.h"
#include "cli/cli.h"

/* Warnings, and with -v notes. `file`: the model, as messages show it. */
void cli_remarks(const struct cli *cli, const char *file, const struct catalog *catalog);

#endif
