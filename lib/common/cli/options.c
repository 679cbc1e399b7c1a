#include "cli/options.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

enum {
    OPT_JSON_ERRORS = CLI_LONG_COMMON, OPT_MAX_ALLOC, OPT_MAX_TOTAL, OPT_MAX_ITEMS, OPT_MAX_RATIO, OPT_PROGRESS,
    OPT_JSON, OPT_HUMAN, OPT_CONFIG, OPT_SCHEME
};

static const struct cli_option form_options[] = {
    { OPT_JSON,        "json",        NULL,   "write JSON, also to a terminal" },
    { OPT_HUMAN,       "human",       NULL,   "write readable text, also to a pipe" },
    { 0, NULL, NULL, NULL }
};

static const struct cli_option common_options[] = {
    { 'q',             "quiet",       NULL,   "no progress bar, no notes" },
    { 'v',             "verbose",     NULL,   "say on standard error what is being done" },
    { OPT_CONFIG,      "config",      "FILE", "read this config.json, not the one beside the model; none: read none" },
    { OPT_SCHEME,      "scheme",      "NAME", "weights that could be of several schemes are of this one" },
    { OPT_PROGRESS,    "progress",    "WHEN", "a bar on standard error: auto, always, never" },
    { OPT_JSON_ERRORS, "json-errors", NULL,   "errors as one JSON object a line" },
    { OPT_MAX_ALLOC,   "max-alloc",   "SIZE", "largest allocation that a header can ask for" },
    { OPT_MAX_TOTAL,   "max-total",   "SIZE", "sum of such allocations" },
    { OPT_MAX_ITEMS,   "max-items",   "N",    "tensors, keys or members" },
    { OPT_MAX_RATIO,   "max-ratio",   "N",    "expansion of a compressed input" },
    { 'h',             "help",        NULL,   "print this help" },
    { 'V',             "version",     NULL,   "print the version" },
    { 0, NULL, NULL, NULL }
};

enum { GROUPS = 3 };

/* The tables that make up one tool's options, its own first. Absent ones are empty. */
struct tables {
    const struct cli_option *group[GROUPS];
};

static struct tables
tables_of(const struct cli_spec *spec)
{
    static const struct cli_option none[] = { { 0, NULL, NULL, NULL } };
    return (struct tables){ {
        spec->options ? spec->options : none, spec->forms ? form_options : none, common_options,
    } };
}

static const struct cli_option *
find_in(const struct cli_option *table, int key)
{
    for (; table->name; table++)
        if (table->key == key)
            return table;
    return NULL;
}

static const struct cli_option *
find(const struct tables *t, int key)
{
    const struct cli_option *option = NULL;
    for (size_t g = 0; !option && g < GROUPS; g++)
        option = find_in(t->group[g], key);
    return option;
}

/* ---- help ---- */

static int
help_width(const struct cli_option *o)
{
    return (int)strlen(o->name) + (o->arg ? 1 + (int)strlen(o->arg) : 0);
}

static void
print_options(const struct cli_option *o, int width)
{
    for (; o->name; o++) {
        if (o->key < CLI_LONG)
            printf("  -%c, ", o->key);
        else
            printf("      ");
        printf("--%s%s%s%*s  %s\n", o->name, o->arg ? "=" : "", o->arg ? o->arg : "",
            width - help_width(o), "", o->help);
    }
}

static void
print_help(const struct cli_spec *spec, const struct tables *t)
{
    int width = 0;
    for (size_t g = 0; g < GROUPS; g++)
        for (const struct cli_option *o = t->group[g]; o->name; o++)
            if (help_width(o) > width)
                width = help_width(o);

    printf("Usage: %s [OPTION]...%s%s\n%s\n\n", spec->tool, spec->operands[0] ? " " : "", spec->operands,
        spec->summary);
    for (size_t g = 0; g < GROUPS; g++)
        print_options(t->group[g], width);
    printf("\nSizes take K, M, G, T. Manual: man %s\n", spec->tool);
}

/* ---- one option ---- */

bool
cli_size(uint64_t *out, const struct cli_option *option, const char *arg, struct err *err)
{
    char shown[STR_SHOWN];
    if (str_to_size(out, arg))
        return true;
    return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--%s: '%s' is not a size such as 4096, 64K, 16M or 2G",
        option->name, str_shown(shown, arg, strlen(arg)));
}

bool
cli_number(uint64_t *out, const struct cli_option *option, const char *arg, uint64_t min, uint64_t max,
    struct err *err)
{
    char shown[STR_SHOWN];
    uint64_t n;
    if (str_to_u64(&n, arg) && n >= min && n <= max) {
        *out = n;
        return true;
    }
    return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64,
        option->name, str_shown(shown, arg, strlen(arg)), min, max);
}

bool
cli_choice(unsigned *out, const struct cli_option *option, const char *arg, const char *const words[],
    struct err *err)
{
    char shown[STR_SHOWN];
    struct str list = { 0 };
    for (unsigned i = 0; words[i]; i++) {
        if (strcmp(arg, words[i]) == 0) {
            str_clear(&list);
            *out = i;
            return true;
        }
        str_format(&list, "%s%s", i ? ", " : "", words[i]);
    }
    err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--%s: '%s' is none of %s", option->name,
        str_shown(shown, arg, strlen(arg)), list.p ? list.p : "");
    str_clear(&list);
    return false;
}

/* A limit can only be lowered. */
static bool
tighten_size(uint64_t *limit, const struct cli_option *option, const char *arg, struct err *err)
{
    uint64_t n;
    if (!cli_size(&n, option, arg, err))
        return false;
    *limit = num_min(*limit, n);
    return true;
}

static bool
tighten_number(uint64_t *limit, const struct cli_option *option, const char *arg, struct err *err)
{
    uint64_t n;
    if (!cli_number(&n, option, arg, 0, UINT64_MAX, err))
        return false;
    *limit = num_min(*limit, n);
    return true;
}

static bool
take_progress(struct cli *cli, const struct cli_option *option, const char *arg, struct err *err)
{
    static const char *const words[] = {
        [CLI_AUTO] = "auto", [CLI_ALWAYS] = "always", [CLI_NEVER] = "never", NULL
    };
    unsigned when;
    if (!cli_choice(&when, option, arg, words, err))
        return false;
    cli->progress = (enum cli_when)when;
    return true;
}

static bool
take_common(struct cli *cli, const struct cli_option *option, const char *arg, struct err *err)
{
    switch (option->key) {
    case 'q':             cli->quiet = true; return true;
    case 'v':             cli->verbose++; return true;
    case OPT_CONFIG:
        cli->config = arg;
        return *arg != '\0' || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--config: the name of a file is empty");
    case OPT_SCHEME:      cli->scheme = arg; return true;
    case OPT_JSON_ERRORS: cli->json_errors = true; return true;
    case OPT_JSON:        cli->form = CLI_JSON; return true;
    case OPT_HUMAN:       cli->form = CLI_HUMAN; return true;
    case OPT_PROGRESS:    return take_progress(cli, option, arg, err);
    case OPT_MAX_ALLOC:   return tighten_size(&cli->limits.alloc, option, arg, err);
    case OPT_MAX_TOTAL:   return tighten_size(&cli->limits.total, option, arg, err);
    case OPT_MAX_ITEMS:   return tighten_number(&cli->limits.items, option, arg, err);
    case OPT_MAX_RATIO:   return tighten_number(&cli->limits.ratio, option, arg, err);
    default:              return err_set(err, ERR_BUG, ERR_NO_OFFSET, "option --%s is not handled", option->name);
    }
}

/* ---- the command line ---- */

/* The tables in the form that getopt_long reads. */
struct getopt_form {
    struct option *longs;       /* owned */
    struct str shorts;
};

static bool
getopt_form_make(struct getopt_form *form, const struct tables *t)
{
    size_t n = 0, i = 0;
    for (size_t g = 0; g < GROUPS; g++)
        for (const struct cli_option *o = t->group[g]; o->name; o++)
            n++;
    form->shorts = (struct str){ 0 };
    form->longs = calloc(n + 1, sizeof *form->longs);
    if (!form->longs)
        return false;
    str_text(&form->shorts, ":");       /* a missing argument is told apart */
    for (size_t g = 0; g < GROUPS; g++)
        for (const struct cli_option *o = t->group[g]; o->name; o++) {
            form->longs[i++] = (struct option){ o->name, o->arg ? required_argument : no_argument, NULL, o->key };
            if (o->key < CLI_LONG)
                str_format(&form->shorts, "%c%s", o->key, o->arg ? ":" : "");
        }
    return !form->shorts.failed;
}

static void
getopt_form_clear(struct getopt_form *form)
{
    free(form->longs);
    str_clear(&form->shorts);
}

/* What getopt_long did not like: optopt is the key of an option misused, else a letter, else 0. */
static bool
complain(const struct tables *t, int result, char **argv, struct err *err)
{
    char shown[STR_SHOWN];
    const struct cli_option *o = optopt ? find(t, optopt) : NULL;
    if (o && result == ':')
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "option --%s needs an argument: %s", o->name, o->arg);
    if (o)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "option --%s takes no argument", o->name);
    if (optopt) {
        char letter = (char)optopt;
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "unknown option '-%s'", str_shown(shown, &letter, 1));
    }
    const char *arg = argv[optind - 1];
    return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "unknown or ambiguous option '%s'",
        str_shown(shown, arg, strlen(arg)));
}

static _Noreturn void
finish(const struct cli *cli)
{
    struct err err;
    err_init(&err);
    exit(cli_finish_stdout(&err) ? 0 : cli_fail(cli, &err));
}

static _Noreturn void
fail_usage(const struct cli *cli, const struct err *err)
{
    int status = cli_fail(cli, err);
    if (err->kind == ERR_USAGE && !cli->json_errors)
        fprintf(stderr, "Try '%s --help'.\n", cli->tool);
    exit(status);
}

static bool
take_option(struct cli *cli, const struct cli_spec *spec, const struct tables *t, void *own, int key,
    struct err *err)
{
    const struct cli_option *option = find(t, key);
    assert(option);
    if (key == 'h') {
        print_help(spec, t);
        finish(cli);
    }
    if (key == 'V') {
        printf("%s %s\n", cli->tool, CLI_VERSION);
        finish(cli);
    }
    if (find_in(t->group[0], key))
        return spec->take(own, option, optarg, err);
    return take_common(cli, option, optarg, err);
}

/* Headers and side files are read into one allocation each. */
static void
tighten_by_alloc(struct limits *limits)
{
    limits->json_header = num_min(limits->json_header, limits->alloc);
    limits->index_file = num_min(limits->index_file, limits->alloc);
    limits->side_file = num_min(limits->side_file, limits->alloc);
}

static bool
take_operands(struct cli *cli, const struct cli_spec *spec, int argc, char **argv, struct err *err)
{
    char shown[STR_SHOWN];
    cli->operands = argv + optind;
    cli->noperands = (size_t)(argc - optind);
    cli->operand = cli->noperands ? cli->operands[0] : NULL;
    if (cli->noperands > spec->max_operands) {
        const char *extra = cli->operands[spec->max_operands];
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "one operand too many: '%s'",
            str_shown(shown, extra, strlen(extra)));
    }
    if (!cli->operand && spec->max_operands != 0 && cli_stdin_is_terminal())
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "no input: name a file, or send one to standard input, which is a terminal");
    return true;
}

/* Goes on behind a usage error, so that a later --json-errors still shapes it; the first one is kept. */
void
cli_options(struct cli *cli, const struct cli_spec *spec, void *own, int argc, char **argv)
{
    struct tables t = tables_of(spec);
    struct getopt_form form;
    struct err err;
    err_init(&err);
    *cli = (struct cli){ .tool = spec->tool, .limits = limits_default };
#ifdef M_MMAP_THRESHOLD
    /* What is large grows without being copied and goes back to the system when it is freed. glibc ends that when the
     * first large piece was freed, unless it is told to go on. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif

    if (!getopt_form_make(&form, &t)) {
        err_memory(&err, sizeof form);
        exit(cli_fail(cli, &err));
    }
    opterr = 0;
    for (int key; (key = getopt_long(argc, argv, form.shorts.p, form.longs, NULL)) != -1;) {
        if (key == '?' || key == ':')
            complain(&t, key, argv, &err);
        else
            take_option(cli, spec, &t, own, key, &err);
    }
    getopt_form_clear(&form);
    tighten_by_alloc(&cli->limits);

    if (err.kind != ERR_NONE || !take_operands(cli, spec, argc, argv, &err))
        fail_usage(cli, &err);
}
