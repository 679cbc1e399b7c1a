/* cli: what all tools have in common: exit statuses, the error line, notes, standard output, and their options.
 * It opens nothing and knows no formats: only how a tool is called and how it speaks. No layer below prints or exits.
 * Begin with this header, then tools.h (the tables of all options), options.h (how they are parsed), progress.h (the bar). */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stddef.h>

#include "base/err.h"
#include "base/limits.h"
#include "catalog/catalog.h"

#define CLI_VERSION "0.1.0"

/* What a tool ends with. The numbers are a contract; 65 to 77 are those of sysexits(3). */
enum cli_status {
    CLI_OK = 0,
    CLI_FOUND = 1,                  /* the answer is "no": a scan found something */
    CLI_USAGE = 2,
    CLI_MALFORMED = 65,
    CLI_OPEN = 66,
    CLI_UNSUPPORTED = 69,
    CLI_BUG = 70,
    CLI_CREATE = 73,
    CLI_IO = 74,
    CLI_LIMIT = 75,                 /* memory is one */
    CLI_UNSAFE = 77
};

enum cli_when { CLI_AUTO, CLI_ALWAYS, CLI_NEVER };
enum cli_form { CLI_BY_TERMINAL, CLI_JSON, CLI_HUMAN };

/* What the options that all tools share have set. Filled by cli_options(); read freely after it. */
struct cli {
    const char *tool;               /* "amn-remember"; borrowed for ever */
    unsigned verbose;               /* -v: how often */
    bool quiet;                     /* -q */
    bool json_errors;
    enum cli_when progress;
    enum cli_form form;             /* --json, --human; only where cli_spec.forms */
    const char *root;               /* --root; borrowed from argv */
    const char *config;             /* --config: a file, "none", or NULL; borrowed from argv */
    const char *scheme;             /* --scheme: the code of one, unchecked, or NULL; borrowed from argv */
    struct limits limits;           /* the built-in ceilings, tightened by --max-* */
    char *const *operands;          /* borrowed from argv */
    size_t noperands;
    const char *operand;            /* the first one, or NULL: standard input */
    struct cli_progress *bar;       /* progress.h: what is shown while the tool runs, or NULL; borrowed */
};

/* Make the process what the rest counts on; until then a SIGUSR1 kills. cli_options() does it first. SIGUSR1
 * asks for progress, standard descriptors that were closed are taken, as many files can be open as are allowed. */
void cli_start(const char *tool);

/* The exit status of a failure; CLI_OK for ERR_NONE. */
enum cli_status cli_status(enum err_kind kind);

/* Say on stderr what failed, as one line or with --json-errors as one JSON object, and return the exit
 * status. A reader that left (EPIPE) ends the process by SIGPIPE instead, without a word. Call it last. */
enum cli_status cli_fail(const struct cli *cli, const struct err *err);

/* Has jansson's lack of memory end the process like that, as a fatal signal would: files that are not whole are removed. */
void cli_fail_in_jansson(const struct cli *cli);

/* A note on stderr under -v: "TOOL: FILE: note: text". `file` may be NULL. Names from a file must come
 * through str_shown(); a format that begins with ERR_TENSOR tells the tensor, as in err_set(). Silent without -v and
 * under -q. */
void cli_note(const struct cli *cli, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same as a result, which needs no -v. */
void cli_say(const struct cli *cli, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same as a warning, which needs no -v: the output is not all that the user may expect. */
void cli_warn(const struct cli *cli, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a catalog has to tell about its model: warnings, and with -v notes. `file`: the model, as messages show it. */
void cli_remarks(const struct cli *cli, const char *file, const struct catalog *catalog);

/* The answer to SIGUSR1: "TOOL: progress: text". Also under -q. */
void cli_tell(const struct cli *cli, const char *text);

bool cli_stdin_is_terminal(void);
bool cli_stdout_is_terminal(void);

/* Whether a report should be text for people: as --human or --json say, else whether stdout is a terminal. */
bool cli_human(const struct cli *cli);

/* Flush and close standard output, once, after the last byte. A full disk shows here: ERR_IO. */
bool cli_finish_stdout(struct err *err);

#endif
