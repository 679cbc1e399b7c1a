/* options: the command line. Parsing and the text of --help both come from the tables of cli/tools.h. A tool takes what is
 * its own; what several tools have alike goes to struct cli. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/cli.h"
#include "cli/tools.h"

/* One of the tool's own options was given; `arg` (argv's, lives for ever) is NULL when it takes none. False with ERR_USAGE
 * when that is wrong. */
typedef bool cli_take(void *own, const struct cli_option *option, const char *arg, struct err *err);

/* Start the tool, and parse its command line into *cli and, through take(), into the tool's own options. Options may follow
 * operands. A long option may be shortened as long as no tool has another one that begins so. --help, --version (status 0) and usage errors
 * (status 2) end the process here; so does having no operand while standard input is a terminal. `take` is NULL for a tool
 * without options of its own. */
void cli_options(struct cli *cli, enum cli_tool_id tool, cli_take *take, void *own, int argc, char **argv);

/* Arguments for take(): each sets *out, or returns false with an ERR_USAGE that names option and argument. */
bool cli_size(uint64_t *out, const struct cli_option *option, const char *arg, struct err *err);
bool cli_number(uint64_t *out, const struct cli_option *option, const char *arg, uint64_t min, uint64_t max,
    struct err *err);
/* The index of `arg` in the words of the option; case is no difference. */
bool cli_choice(unsigned *out, const struct cli_option *option, const char *arg, struct err *err);

#endif
