/* options: the command line. A tool lists its own options in a table; parsing and the text of --help both
 * come from it and from the table of the options that all tools share.
 *
 *     enum { OPT_SIZE = CLI_LONG, OPT_PLAN };
 *     static const struct cli_option table[] = {
 *         { 'o',      "output", "FILE", "write to FILE, which appears when it is complete" },
 *         { OPT_SIZE, "size",   NULL,   "print the length of the output, write nothing" },
 *         { 0 }
 *     };
 *     static bool take(void *own, const struct cli_option *option, const char *arg, struct err *err);
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/cli.h"

enum { CLI_LONG = 256 };        /* keys from here on have no short letter; below CLI_LONG_COMMON */
enum { CLI_LONG_COMMON = 4096 };

struct cli_option {
    int key;                    /* the short letter, or CLI_LONG + n; unique in the tool */
    const char *name;           /* the long name without dashes */
    const char *arg;            /* name of the required argument: "SIZE"; NULL when it takes none */
    const char *help;           /* one line, without a full stop */
};

struct cli_spec {
    const char *tool;                       /* "amn-inspect" */
    const char *operands;                   /* how --help shows them: "[FILE]" */
    const char *summary;                    /* one sentence */
    const struct cli_option *options;       /* ends with a row without a name; NULL: none of its own */
    /* One of the tool's own options was given; `arg` (argv's, lives for ever) is NULL when it takes none.
     * False with ERR_USAGE ends parsing. */
    bool (*take)(void *own, const struct cli_option *option, const char *arg, struct err *err);
    size_t max_operands;                    /* 1 for most tools */
    bool forms;                             /* the tool has --json and --human */
};

/* Parse the command line into *cli and, through take(), into the tool's own options. Options may follow
 * operands. --help, --version (status 0) and usage errors (status 2) end the process here; so does having
 * no operand while standard input is a terminal. */
void cli_options(struct cli *cli, const struct cli_spec *spec, void *own, int argc, char **argv);

/* Arguments for take(): each sets *out, or returns false with an ERR_USAGE that names option and argument. */
bool cli_size(uint64_t *out, const struct cli_option *option, const char *arg, struct err *err);
bool cli_number(uint64_t *out, const struct cli_option *option, const char *arg, uint64_t min, uint64_t max,
    struct err *err);
/* The index of `arg` in a NULL-terminated list of words. */
bool cli_choice(unsigned *out, const struct cli_option *option, const char *arg, const char *const words[],
    struct err *err);

#endif
