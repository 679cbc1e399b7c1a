/* options: the command line. Parsing and --help both use the tables of cli/tools.h. Options that several tools share go to
 * struct cli, the others to the tool. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/cli.h"
#include "cli/tools.h"

/* Handles one of the tool's own options. `arg` is NULL if the option takes none; it points into argv and stays valid.
 * Returns false with ERR_USAGE if the argument is invalid. */
typedef bool cli_take(void *own, const struct cli_option *option, const char *arg, struct err *err);

/* Starts the tool and parses its command line into *cli and, through take(), into the tool's own options. `take` is NULL for
 * a tool without options of its own. Options may follow operands. A long option may be abbreviated to a prefix that is
 * unique among the options of all tools. Ends the process after --help and --version (status 0), after a usage error (status
 * 2), and if there is no operand and standard input is a terminal (status 2). */
void cli_options(struct cli *cli, enum cli_tool_id tool, cli_take *take, void *own, int argc, char **argv);

/* Parse an argument for take(): set *out, or return false with an ERR_USAGE that names the option and its argument. */
bool cli_size(uint64_t *out, const struct cli_option *option, const char *arg, struct err *err);
bool cli_number(uint64_t *out, const struct cli_option *option, const char *arg, uint64_t min, uint64_t max,
    struct err *err);
/* Sets *out to the index of `arg` among the option's words, ignoring case. */
bool cli_choice(unsigned *out, const struct cli_option *option, const char *arg, struct err *err);

#endif
