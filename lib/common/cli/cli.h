/* cli: the command-line conventions of all tools: exit statuses, error lines, notes, standard output and options. This layer
 * opens no files and knows no formats. No layer below it prints or exits. Read this header first, then tools.h (the tables
 * of options), options.h (parsing) and progress.h (the progress bar). */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stddef.h>

#include "base/err.h"
#include "base/limits.h"
#include "catalog/catalog.h"
#include "cli/tools.h"

#define CLI_VERSION "0.1.0"

/* Exit statuses. The numbers are part of the interface; 65 to 77 follow sysexits(3). */
enum cli_status {
    CLI_OK = 0,
    CLI_FOUND = 1,                  /* the answer is "no": a scan found something dangerous */
    CLI_USAGE = 2,
    CLI_MALFORMED = 65,
    CLI_OPEN = 66,
    CLI_UNSUPPORTED = 69,
    CLI_BUG = 70,
    CLI_CREATE = 73,
    CLI_IO = 74,
    CLI_LIMIT = 75,                 /* including memory */
    CLI_UNSAFE = 77
};

enum { CLI_GLOBS = 16 };            /* the most values that --allow-unclaimed and --allow-global can have */
enum cli_when { CLI_AUTO, CLI_ALWAYS, CLI_NEVER };
enum cli_form { CLI_BY_TERMINAL, CLI_JSON, CLI_HUMAN };

/* The options that all tools share. Filled by cli_options() and read freely after it. */
struct cli {
    enum cli_tool_id id;
    const char *tool;               /* "amn-remember"; static */
    const char *typed;              /* how the tool was called, such as "amn dequantize"; NULL: by its name */
    bool given[CLI_KEYS];           /* the options that were given, and what follows from them; by enum cli_key or letter */
    unsigned verbose;               /* number of -v options */
    bool quiet;                     /* -q */
    bool json_errors;
    enum cli_when progress;
    enum cli_form form;             /* --json or --human */
    const char *root;               /* --root; borrowed from argv */
    const char *state;              /* --state: one of cli_state_words, or NULL; borrowed from argv */
    const char *allow_global[CLI_GLOBS];        /* --allow-global: nallow_global names; borrowed from argv */
    size_t nallow_global;
    bool strict;                    /* --strict */
    const char *config;             /* --config: a file, "none", or NULL; borrowed from argv */
    const char *fetch;              /* --fetch: the command, or NULL; borrowed from argv */
    uint64_t fetch_window;          /* --fetch-window, or 0 */
    const char *input_scheme;       /* --input-scheme: the name of a scheme, unchecked, or NULL; borrowed from argv */
    const char *allow_unclaimed[CLI_GLOBS];     /* --allow-unclaimed: nallow_unclaimed globs; borrowed from argv */
    size_t nallow_unclaimed;
    const char *old_form, *new_form;    /* a form of an option that was replaced, and what to write instead; or NULL */
    struct limits limits;           /* the built-in limits, lowered by --max-* */
    char *const *argv;              /* the command line, argc words; options come first once it is parsed; borrowed */
    int argc;
    char *const *operands;          /* borrowed from argv */
    size_t noperands;
    bool many;                      /* an option allows any number of operands */
    const char *operand;            /* the first one; NULL means standard input */
    const char *members;            /* further members of the JSON object of a failure, "witness":{...}; or NULL; borrowed */
    struct cli_progress *bar;       /* progress display (progress.h), or NULL; borrowed */
};

/* Prepares the process: catches SIGUSR1 (until then it is fatal), reserves closed standard descriptors, and raises the limit
 * on open files. cli_options() calls it first. */
void cli_start(const char *tool);

/* Returns the name of the tool for people: as it was typed. */
const char *cli_name(const struct cli *cli);

/* Appends the command line as one could type it: the name of the tool as it was typed, and words in quotes where a shell needs them. */
void cli_add_command(struct str *out, const struct cli *cli);

/* Returns the exit status for a kind of failure; CLI_OK for ERR_NONE. */
enum cli_status cli_status(enum err_kind kind);

/* Prints the failure on stderr, as one line or with --json-errors as one JSON object, and returns the exit status. If the
 * failure is a closed pipe (EPIPE), ends the process by SIGPIPE without a message instead. Call it last. */
enum cli_status cli_fail(const struct cli *cli, const struct err *err);

/* Makes running out of memory in jansson end the process with that message and status, after removing incomplete files as on
 * a fatal signal. */
void cli_fail_in_jansson(const struct cli *cli);

/* Prints a note on stderr if -v is given and -q is not: "TOOL: FILE: note: text". `file` may be NULL. Pass names from a file
 * through str_shown(). A format that begins with ERR_TENSOR names a tensor, as in err_set(). */
void cli_note(const struct cli *cli, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Like cli_note(), but does not require -v: for results. */
void cli_say(const struct cli *cli, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns true if a person watches the job: a bar is shown on a terminal. */
bool cli_is_watched(const struct cli *cli);

/* Prints a warning; does not require -v. For an output that may differ from what the user expects. */
void cli_warn(const struct cli *cli, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints the warnings of a catalog from remark `first` on, and its notes if -v is given. `file` is the model's name in messages. */
void cli_remarks(const struct cli *cli, const char *file, const struct catalog *catalog, size_t first);

/* Answers SIGUSR1 with "TOOL: progress: text", even under -q. */
void cli_tell(const struct cli *cli, const char *text);

bool cli_stdin_is_terminal(void);
bool cli_stdout_is_terminal(void);

/* Returns true if a report should be text: with --human, or without --json if stdout is a terminal. */
bool cli_human(const struct cli *cli);

/* Flushes and closes standard output; call it once, after the last byte. Fails with ERR_IO, for example on a full disk. */
bool cli_finish_stdout(struct err *err);

#endif
