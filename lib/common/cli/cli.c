#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/screen.h"
#include "base/signals.h"
#include "base/str.h"
#include "base/tree.h"
#include "base/version.h"
#include "cli/progress.h"

enum { LINE_MAX_BYTES = 2048 };         /* for one message */
#define JSON_EXACT (UINT64_C(1) << 53)   /* larger integers become strings in JSON */

/* One line on stderr. */
struct remark {
    const char *file, *tensor, *json;   /* "" if absent; json may be NULL */
    const char *kind, *word, *text;     /* the kind as text and as a JSON value */
    enum cli_status status;             /* CLI_OK: a note or a warning */
    bool warns;                         /* a warning */
    uint64_t at;                        /* or ERR_NO_OFFSET */
};

enum cli_status
cli_status(enum err_kind kind)
{
    static const enum cli_status statuses[ERR_KINDS] = {
        [ERR_NONE] = CLI_OK, [ERR_USAGE] = CLI_USAGE, [ERR_MALFORMED] = CLI_MALFORMED, [ERR_OPEN] = CLI_OPEN,
        [ERR_UNSUPPORTED] = CLI_UNSUPPORTED, [ERR_BUG] = CLI_BUG, [ERR_CREATE] = CLI_CREATE, [ERR_IO] = CLI_IO,
        [ERR_LIMIT] = CLI_LIMIT, [ERR_MEMORY] = CLI_LIMIT, [ERR_UNSAFE] = CLI_UNSAFE, [ERR_INEXACT] = CLI_UNSUPPORTED,
    };
    if (kind < ERR_KINDS)
        return statuses[kind];
    return statuses[ERR_BUG];
}

/* Appends null if the value is NULL or empty. */
static void
cli_add_member(struct str *s, const char *name, const char *value)
{
    str_format(s, ",\"%s\":", name);
    if (!value || !value[0]) {
        str_text(s, "null");
        return;
    }
    str_text(s, "\"");
    str_add_json(s, value, strlen(value), true);
    str_text(s, "\"");
}

static void
add_json(struct str *s, const struct cli *cli, const struct remark *r)
{
    str_format(s, "{\"report\":%d", VERSION_REPORT);
    cli_add_member(s, "tool", cli->tool);
    cli_add_member(s, "kind", r->word);
    if (r->status == CLI_OK)
        str_text(s, ",\"status\":null");
    else
        str_format(s, ",\"status\":%d", r->status);
    cli_add_member(s, "file", r->file);
    cli_add_member(s, "tensor", r->tensor);
    cli_add_member(s, "message", r->text);
    if (r->json && r->json[0])
        str_format(s, ",%s", r->json);
    if (r->at == ERR_NO_OFFSET)
        str_text(s, ",\"offset\":null}");
    else if (r->at > JSON_EXACT)
        str_format(s, ",\"offset\":\"%" PRIu64 "\"}", r->at);
    else
        str_format(s, ",\"offset\":%" PRIu64 "}", r->at);
}

const char *
cli_name(const struct cli *cli)
{
    if (cli->typed)
        return cli->typed;
    return cli->tool;
}

/* Appends a word for a shell. */
static void
add_word(struct str *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,@%+";
    if (*word && word[strspn(word, plain)] == '\0') {
        str_text(out, word);
        return;
    }
    str_text(out, "'");
    for (; *word; word++)
        if (*word == '\'')
            str_text(out, "'\\''");
        else
            str_add(out, word, 1);
    str_text(out, "'");
}

void
cli_add_command(struct str *out, const struct cli *cli)
{
    const char *verb = strchr(cli_name(cli), ' ');
    str_text(out, cli_name(cli));
    for (int i = 1; i < cli->argc; i++) {
        if (verb && str_begins(cli->argv[i], "--") && strcmp(cli->argv[i] + 2, verb + 1) == 0)
            continue;                   /* amn diff is amn-inspect --diff */
        str_text(out, " ");
        add_word(out, cli->argv[i]);
    }
}

/* Escapes the texts again: a text may have been cut inside a character. Escaping what is already escaped changes nothing. */
static void
cli_add_line(struct str *s, const struct cli *cli, const struct remark *r)
{
    char at[48] = "";
    if (r->at != ERR_NO_OFFSET)
        snprintf(at, sizeof at, " [at byte %" PRIu64 "]", r->at);

    str_format(s, "%s: ", cli_name(cli));
    if (r->file[0]) {
        str_add_escaped(s, r->file, strlen(r->file));
        str_text(s, ": ");
    }
    const struct screen screen = screen_of(STDERR_FILENO);
    enum screen_style style = SCREEN_PLAIN;
    if (r->status != CLI_OK)
        style = SCREEN_BAD;
    else if (r->warns)
        style = SCREEN_WARNING;
    screen_begin(s, &screen, style);
    str_format(s, "%s:", r->kind);
    screen_end(s, &screen, style);
    str_text(s, " ");
    str_add_escaped(s, r->text, strlen(r->text));

    size_t room = LINE_MAX_BYTES - strlen(at);
    if (s->len > room) {
        while (((unsigned char)s->p[room] & 0xC0) == 0x80)
            room--;
        s->len = room;
        s->p[room] = '\0';
    }
    str_text(s, at);
}

static void
say(const struct cli *cli, const struct remark *r)
{
    struct str s = { 0 };
    if (cli->json_errors)
        add_json(&s, cli, r);
    else
        cli_add_line(&s, cli, r);
    str_text(&s, "\n");
    cli_progress_hold(cli->bar);
    if (s.failed)
        fprintf(stderr, "%s: %s\n", cli_name(cli), r->kind);
    else
        fwrite(s.p, 1, s.len, stderr);
    cli_progress_release(cli->bar);
    str_clear(&s);
}

/* Ends the process as a broken pipe does by default, even if SIGPIPE was ignored. */
static void
die_of_sigpipe(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGPIPE);
}

bool
cli_is_watched(const struct cli *cli)
{
    return cli->bar && cli_progress_is_seen(cli->bar);
}

enum cli_status
cli_fail(const struct cli *cli, const struct err *err)
{
    if (err->kind == ERR_IO && err->sys == EPIPE)
        die_of_sigpipe();
    const struct remark r = {
        .file = err->file, .tensor = err->tensor, .kind = err_kind_name(err->kind), .word = err_kind_word(err->kind),
        .text = err->text, .json = cli->members, .status = cli_status(err->kind), .at = err->at,
    };
    say(cli, &r);
    return r.status;
}

static const struct cli *failing;           /* reports that memory is exhausted; set once at start-up */

static void
end_without_memory(size_t n)
{
    struct err err;
    err_init(&err);
    err_memory(&err, n);
    signals_end(cli_fail(failing, &err));
}

void
cli_fail_in_jansson(const struct cli *cli)
{
    failing = cli;
    tree_no_memory = end_without_memory;
    tree_guard();
}

static void
vremark(const struct cli *cli, const char *file, const char *kind, const char *format, va_list args)
{
    struct err err;                     /* not a failure, but err_vset() splits off the tensor name */
    err_init(&err);
    err_vset(&err, ERR_USAGE, ERR_NO_OFFSET, "", format, args);
    const struct remark r = { .file = str_or(file, ""), .tensor = err.tensor, .kind = kind, .word = kind,
        .text = err.text, .at = ERR_NO_OFFSET, .warns = strcmp(kind, "warning") == 0 };
    say(cli, &r);
}

void
cli_note(const struct cli *cli, const char *file, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!cli->quiet && cli->verbose != 0)
        vremark(cli, file, "note", format, args);
    va_end(args);
}

void
cli_say(const struct cli *cli, const char *file, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!cli->quiet)
        vremark(cli, file, "note", format, args);
    va_end(args);
}

void
cli_warn(const struct cli *cli, const char *file, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!cli->quiet)
        vremark(cli, file, "warning", format, args);
    va_end(args);
}

void
cli_remarks(const struct cli *cli, const char *file, const struct catalog *catalog, size_t first)
{
    for (size_t i = first; i < catalog_remark_count(catalog); i++) {
        const struct catalog_remark *r = catalog_remark_at(catalog, i);
        (r->warning ? cli_warn : r->told ? cli_say : cli_note)(cli, file, "%s", r->text);
    }
}

void
cli_tell(const struct cli *cli, const char *text)
{
    const struct remark r = { .file = "", .tensor = "", .kind = "progress", .word = "progress", .text = text,
        .at = ERR_NO_OFFSET };
    say(cli, &r);
}

/* Opens /dev/null in place of closed standard descriptors, with the wrong access mode: no file opened later can then get
 * their numbers and receive output meant for them, and using them still fails. FD_CLOEXEC tells the sink that the descriptor
 * was not inherited. */
static void
fill_standard(const char *tool)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_CLOEXEC | (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY)) < 0) {
            /* The lowest free number is fd, so open() cannot return another one; without it no file may be opened. */
            fprintf(stderr, "%s: input/output: descriptor %d is closed, and /dev/null cannot be opened: %s\n", tool, fd,
                strerror(errno));
            _exit(CLI_IO);
        }
}

/* Raises the soft limit on open files to the hard one: a model can have thousands of files, all open at once. */
static void
raise_file_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);       /* on failure, opening a file reports the limit */
    }
}

void
cli_start(const char *tool)
{
    cli_progress_catch();
    signal(SIGXFSZ, SIG_IGN);       /* exceeding the file size limit is then an error, as a full disk is */
    fill_standard(tool);
    raise_file_limit();
}

bool
cli_stdin_is_terminal(void)
{
    return isatty(STDIN_FILENO);
}

bool
cli_stdout_is_terminal(void)
{
    return isatty(STDOUT_FILENO);
}

bool
cli_human(const struct cli *cli)
{
    return cli->form == CLI_HUMAN || (cli->form == CLI_BY_TERMINAL && cli_stdout_is_terminal());
}

bool
cli_finish_stdout(struct err *err)
{
    bool bad = ferror(stdout);
    errno = 0;
    if (fclose(stdout) != 0 || bad)
        return err_sys(err, ERR_IO, errno ? errno : EIO, "write failed"), err_in_file(err, "(standard output)");
    return true;
}
