#include "cli/options.h"

#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/matcher.h"
#include "base/nearest.h"
#include "base/num.h"
#include "base/str.h"
#include "cli/conflicts.h"
#include "cli/foreign_names.h"

enum { FETCH_WINDOW_MAX = 1 << 30 };
enum { OPTIONS_MAX = 160 };     /* at least the number of table rows */

/* Returns the option of a tool with this key, or NULL. */
static const struct cli_option *
options_find(enum cli_tool_id tool, int key)
{
    const struct cli_option *o = cli_options_of_all;
    while (o->name && (o->key != key || !cli_has(tool, o)))
        o++;
    if (o->name)
        return o;
    return NULL;
}

/* Returns the option of the tool, or else the option of another tool. */
static const struct cli_option *
find_anywhere(enum cli_tool_id tool, int key)
{
    const struct cli_option *o = options_find(tool, key);
    for (unsigned i = 0; !o && i < CLI_TOOLS; i++)
        o = options_find(i, key);
    return o;
}

/* Returns the option with this name, of the tool or else of another; or NULL. */
static const struct cli_option *
find_named(enum cli_tool_id tool, const char *name)
{
    const struct cli_option *found = NULL;
    for (const struct cli_option *o = cli_options_of_all; o->name; o++)
        if (strcmp(o->name, name) == 0 && (!found || (cli_has(tool, o) && !cli_has(tool, found))))
            found = o;
    return found;
}

/* ---- help ---- */

/* The widest option that moves the column of the descriptions. A longer one moves only its own. */
enum { HELP_WIDEST = 19 };

static int
help_width(const struct cli_option *o)
{
    return (int)strlen(o->name) + (o->arg ? 1 + (int)strlen(o->arg) : 0) + 2 * cli_is_optional(o);
}

static void
print_option(const struct cli_option *o, int width)
{
    if (o->key < CLI_LONG)
        printf("  -%c, ", o->key);
    else
        printf("      ");
    printf("--%s", o->name);
    if (o->arg)
        printf(cli_is_optional(o) ? "[=%s]" : "=%s", o->arg);
    printf("%*s  %s\n", width > help_width(o) ? width - help_width(o) : 0, "", o->help);
}

/* Returns the form that was given before --help, or NULL. */
static const struct cli_verb *
form_of(const struct cli *cli)
{
    const struct cli_verb *form = cli_verbs;
    while (form->verb && !cli->given[form->key])
        form++;
    if (cli->id == CLI_INSPECT && form->verb)
        return form;
    return NULL;
}

/* Returns true if the help shows an option: not one that the form excludes, or is. */
static bool
is_shown(const struct cli *cli, const struct cli_option *o, bool all)
{
    const struct cli_verb *form = form_of(cli);
    struct err err;
    err_init(&err);
    bool rare = o->rare >> cli->id & 1 && !(form && o->group == CLI_GROUP_REPORT);
    if (!cli_offers(cli->id, o) || (rare && !all))
        return false;
    if (!form)
        return true;
    struct cli with = *cli;
    with.given[o->key] = true;
    return !cli->given[o->key] && conflicts_check(&with, with.given, &err);
}

static void
print_group(const struct cli *cli, enum cli_group group, bool all, int width)
{
    bool begun = false;
    for (const struct cli_option *o = cli_options_of_all; o->name; o++)
        if (o->group == group && is_shown(cli, o, all)) {
            if (!begun)
                printf("\n%s:\n", cli_groups[group]);
            begun = true;
            print_option(o, width);
        }
}

/* Prints the help; `all` includes the rare options, which the short help leaves out to fit a screen. */
static void
print_help(const struct cli *cli, bool all)
{
    const struct cli_tool *tool = &cli_tools[cli->id];
    const struct cli_verb *form = form_of(cli);
    int width = 0;
    for (const struct cli_option *o = cli_options_of_all; o->name; o++)
        if (is_shown(cli, o, all) && help_width(o) > width && help_width(o) <= HELP_WIDEST)
            width = help_width(o);

    printf("Usage: %s [OPTION]... %s\n", cli_name(cli), form ? form->operands : tool->operands);
    if (form) {
        const char *what = cli_verb_purpose(form);
        printf("%c%s.\n", toupper((unsigned char)*what), what + 1);
    } else {
        puts(tool->summary);
    }
    if (tool->reads_stdin)
        puts("FILE: model file, directory, hf:NAME or ollama:NAME (default: standard input).");
    for (unsigned group = 0; group < CLI_GROUPS; group++)
        print_group(cli, group, all, width);
    if (all)
        printf("\nA SIZE may end in K, M, G or T, powers of 1024. Manual: amn help %s\n", tool->name + strlen("amn-"));
    else
        printf("\nAll options: %s --help=all. Manual: amn help %s\n", cli_name(cli), tool->name + strlen("amn-"));
}

/* ---- one option ---- */

bool
cli_size(uint64_t *out, const struct cli_option *option, const char *arg, struct err *err)
{
    char shown[STR_SHOWN];
    if (str_to_size(out, arg))
        return true;
    return err_set(err, ERR_USAGE, "--%s: '%s' is not a size such as 4096, 64K, 16M or 4.5G",
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
    return err_set(err, ERR_USAGE, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64,
        option->name, str_shown(shown, arg, strlen(arg)), min, max);
}

/* Finds the index of a word in a list, ignoring case. On failure appends a hint with the nearest or all words. */
static bool
find_word(unsigned *out, const char *const words[], const char *typed, struct str *hint)
{
    unsigned n = 0;
    for (; words[n]; n++)
        if (strcasecmp(typed, words[n]) == 0) {
            *out = n;
            return true;
        }
    nearest_or_all(hint, typed, words, n);
    return false;
}

bool
cli_choice(unsigned *out, const struct cli_option *option, const char *arg, struct err *err)
{
    char shown[STR_SHOWN];
    struct str hint = { 0 };
    bool found = find_word(out, option->words, option->words == dtype_targets ? foreign_names_type(arg) : arg, &hint);
    if (!found)
        err_set(err, ERR_USAGE, "--%s: unknown value '%s'%s%s", option->name, str_shown(shown, arg, strlen(arg)),
            hint.p ? hint.p : "", option->words == dtype_targets ? "; any other type is a scheme: amn quantize --scheme NAME" : "");
    str_clear(&hint);
    return found;
}

/* Lowers a limit; a larger value has no effect. */
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
    unsigned when;
    if (!cli_choice(&when, option, arg, err))
        return false;
    cli->progress = (enum cli_when)when;
    return true;
}

static bool
take_glob(struct cli *cli, const struct cli_option *option, const char *arg, struct err *err)
{
    struct matcher glob;
    if (cli->nallow_unclaimed == CLI_GLOBS)
        return err_set(err, ERR_USAGE, "--%s: use at most %d", option->name, CLI_GLOBS);
    cli->allow_unclaimed[cli->nallow_unclaimed++] = arg;
    return matcher_read(&glob, arg, strlen(arg), true)
        || err_set(err, ERR_USAGE, "--%s: invalid or too long pattern '%s': expected * ? [a-z] or [!a-z]",
            option->name, arg);
}

static bool
take_state(struct cli *cli, const struct cli_option *option, const char *arg, struct err *err)
{
    unsigned i;
    if (!cli_choice(&i, option, arg, err))
        return false;
    cli->state = cli_state_words[i];
    return true;
}

/* Takes the name of a class, MODULE.NAME. */
static bool
take_global(struct cli *cli, const struct cli_option *option, const char *arg, struct err *err)
{
    const char *dot = strrchr(arg, '.');
    if (cli->nallow_global == CLI_GLOBS)
        return err_set(err, ERR_USAGE, "--%s: use at most %d", option->name, CLI_GLOBS);
    cli->allow_global[cli->nallow_global++] = arg;
    return (dot && dot != arg && dot[1] != '\0') || err_set(err, ERR_USAGE, "--%s: '%s' is not MODULE.NAME", option->name, arg);
}

/* Handles an option that several tools share; sets *other if the tool itself has to handle it. */
static bool
take_common(struct cli *cli, const struct cli_option *option, const char *arg, bool *other, struct err *err)
{
    *other = false;
    switch (option->key) {
    case 'q':                 cli->quiet = true; return true;
    case 'v':                 cli->verbose++; return true;
    case CLI_OPT_CONFIG:
        cli->config = arg;
        return *arg != '\0' || err_set(err, ERR_USAGE, "--config: empty file name");
    case CLI_OPT_ROOT:
        cli->root = arg;
        return *arg != '\0' || err_set(err, ERR_USAGE, "--root: empty path");
    case CLI_OPT_STATE:       return take_state(cli, option, arg, err);
    case CLI_OPT_ALLOW_GLOBAL: return take_global(cli, option, arg, err);
    case CLI_OPT_STRICT:      cli->strict = true; return true;
    case CLI_OPT_FETCH:
        cli->fetch = arg;
        return *arg != '\0' || err_set(err, ERR_USAGE, "--fetch: empty command");
    case CLI_OPT_FETCH_WINDOW:
        return cli_size(&cli->fetch_window, option, arg, err) && (cli->fetch_window - 1 < FETCH_WINDOW_MAX || err_set(err,
            ERR_USAGE, "--fetch-window: '%s' is not a size from 1 to 1G", arg));
    case CLI_OPT_INPUT_SCHEME: cli->input_scheme = arg; return true;
    case CLI_OPT_ALLOW_UNCLAIMED: return take_glob(cli, option, arg, err);
    case CLI_OPT_JSON_ERRORS: cli->json_errors = true; return true;
    case CLI_OPT_JSON:        cli->form = CLI_JSON; return true;
    case CLI_OPT_HUMAN:       cli->form = CLI_HUMAN; return true;
    case CLI_OPT_PROGRESS:    return take_progress(cli, option, arg, err);
    case CLI_OPT_MAX_ALLOC:   return tighten_size(&cli->limits.alloc, option, arg, err);
    case CLI_OPT_MAX_TOTAL:   return tighten_size(&cli->limits.total, option, arg, err);
    case CLI_OPT_MAX_ITEMS:   return tighten_number(&cli->limits.items, option, arg, err);
    case CLI_OPT_MAX_RATIO:   return tighten_number(&cli->limits.ratio, option, arg, err);
    default:              return *other = true;
    }
}

/* ---- the command line ---- */

/* The options of a tool as getopt_long() reads them. */
struct getopt_form {
    struct option *longs;       /* n elements, owned */
    size_t n;
    struct str shorts;          /* short options of this tool */
};

static bool
getopt_form_make(struct getopt_form *form, enum cli_tool_id tool)
{
    size_t rows = 1;
    for (const struct cli_option *o = cli_options_of_all; o->name; o++)
        rows++;
    *form = (struct getopt_form){ .longs = calloc(rows, sizeof *form->longs) };
    if (!form->longs)
        return false;
    str_text(&form->shorts, ":");       /* makes getopt return ':' for a missing argument */
    for (const struct cli_option *o = cli_options_of_all; o->name; o++) {
        if (!cli_has(tool, o))
            continue;
        int argument;
        if (o->key == 'h' || cli_is_optional(o))
            argument = optional_argument;
        else if (o->arg)
            argument = required_argument;
        else
            argument = no_argument;
        form->longs[form->n++] = (struct option){ o->name, argument, NULL, o->key };
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

/* ---- usage errors ---- */

/* Copies "part" from "--part=3", cut off at NAME_MAX_BYTES. Returns the length. */
enum { NAME_MAX_BYTES = 64 };
static size_t
long_name(char name[NAME_MAX_BYTES], const char *arg)
{
    snprintf(name, NAME_MAX_BYTES, "%s", arg + strspn(arg, "-"));
    name[strcspn(name, "=")] = '\0';
    return strlen(name);
}

/* Collects the options that begin with the word. Returns their number. */
static size_t
candidates(const char *found[], const struct getopt_form *form, const char *word, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; len != 0 && i < form->n; i++)
        if (strncmp(form->longs[i].name, word, len) == 0)
            found[n++] = form->longs[i].name;
    return n;
}

/* Collects the names of the tool's options that begin with `word`. Returns their number. */
static size_t
names_of(const char *names[], enum cli_tool_id tool, const char *word)
{
    size_t n = 0;
    for (const struct cli_option *o = cli_options_of_all; o->name; o++)
        if (cli_offers(tool, o) && str_begins(o->name, word))
            names[n++] = o->name;
    return n;
}

static bool complain_of_tool(const struct cli *cli, const struct cli_option *option, struct err *err);

/* Reports a long option that the tool does not have, or an ambiguous abbreviation, listing the options that it could mean. */
static bool
complain_of_name(const struct cli *cli, const struct getopt_form *form, const char *arg, struct err *err)
{
    char word[NAME_MAX_BYTES], shown[STR_SHOWN];
    const char *names[OPTIONS_MAX];
    struct str hint = { 0 };
    bool ambiguous = candidates(names, form, word, long_name(word, arg)) > 1;
    const struct cli_option *other = NULL;
    if (!ambiguous)
        other = find_named(cli->id, word);
    if (other)
        return complain_of_tool(cli, other, err);
    size_t n = 0;
    if (ambiguous)
        n = names_of(names, cli->id, word);
    const char *here = foreign_names_option(word);
    if (n == 0 && here)
        str_text(&hint, here);
    else if (n == 0)
        nearest_hint(&hint, "--", word, names, names_of(names, cli->id, ""));
    for (size_t i = 0; i < n; i++)
        str_format(&hint, "%s--%s", i == 0 ? ": " : nearest_separator(i, n), names[i]);
    if (hint.len == 0)
        str_format(&hint, "; try '%s --help'", cli_name(cli));
    str_shown(shown, arg, ambiguous ? strcspn(arg, "=") : strlen(arg));
    err_set(err, ERR_USAGE, "%s option '%s'%s", n != 0 ? "ambiguous" : "unknown", shown, str_or(hint.p, ""));
    str_clear(&hint);
    return false;
}

/* Options that users may expect in a tool that has another option for the purpose. */
static const struct substitute {
    enum cli_tool_id tool;
    int key;
    const char *use;
} substitutes[] = {
    { CLI_INSPECT, 'l', "amn-parse" },
    { CLI_REMEMBER, CLI_OPT_TENSOR, "--only" },
};

/* Reports an option that only other tools have. */
static bool
complain_of_tool(const struct cli *cli, const struct cli_option *option, struct err *err)
{
    enum cli_tool_id tool = cli->id;
    struct str others = { 0 };
    size_t n = 0, said = 0;
    for (size_t i = 0; i < sizeof substitutes / sizeof *substitutes; i++)
        if (substitutes[i].tool == tool && substitutes[i].key == option->key)
            return err_set(err, ERR_USAGE, "%s has no option --%s; use %s", cli_name(cli), option->name,
                substitutes[i].use);
    for (unsigned i = 0; i < CLI_TOOLS; i++)
        n += options_find(i, option->key) != NULL;
    for (unsigned i = 0; i < CLI_TOOLS; i++)
        if (options_find(i, option->key))
            str_format(&others, "%s%s", nearest_separator(said++, n), cli_tools[i].name);
    err_set(err, ERR_USAGE, "%s has no option --%s; it belongs to %s", cli_name(cli), option->name,
        str_or(others.p, ""));
    str_clear(&others);
    return false;
}

/* Reports what getopt_long() rejected: optopt is the key of a misused option, an unknown letter, or 0. */
static bool
complain(const struct cli *cli, const struct getopt_form *form, int result, char **argv, struct err *err)
{
    char shown[STR_SHOWN];
    char letter = (char)optopt;
    const struct cli_option *o = NULL;
    if (optopt)
        o = find_anywhere(cli->id, optopt);
    if (o && !cli_has(cli->id, o))
        return complain_of_tool(cli, o, err);
    if (o && result == ':')
        return err_set(err, ERR_USAGE, "option --%s requires an argument: --%s=%s", o->name, o->name, o->arg);
    if (o)
        return err_set(err, ERR_USAGE, "option --%s takes no argument", o->name);
    if (optopt)
        return err_set(err, ERR_USAGE, "unknown option '-%s'; try '%s --help'", str_shown(shown, &letter, 1),
            cli_name(cli));
    return complain_of_name(cli, form, argv[optind - 1], err);
}

static _Noreturn void
options_finish(const struct cli *cli)
{
    struct err err;
    err_init(&err);
    exit(cli_finish_stdout(&err) ? CLI_OK : cli_fail(cli, &err));
}

static bool
take_option(struct cli *cli, cli_take *take, void *own, const struct cli_option *option, struct err *err)
{
    char shown[STR_SHOWN];
    int key = option->key;
    bool other;
    if (option->group == CLI_GROUP_SYNONYMS && *option->help) {
        cli->old_form = option->name;
        cli->new_form = option->help;
    }
    if (key == 'h') {
        if (optarg && strcasecmp(optarg, "all") != 0)
            return err_set(err, ERR_USAGE, "invalid argument '%s' (did you mean --help=all?)",
                str_shown(shown, optarg, strlen(optarg)));
        print_help(cli, optarg != NULL);
        options_finish(cli);
    }
    if (key == 'V') {
        printf("%s %s\n", cli->tool, CLI_VERSION);
        options_finish(cli);
    }
    cli->given[key] = true;
    const bool to_stdout = (key == CLI_OPT_REPORT || key == CLI_OPT_MANIFEST) && strcmp(optarg, "-") == 0;
    const char *arg = optarg;
    if (to_stdout)
        arg = "/dev/stdout";
    cli->given[CLI_FACT_STDOUT] = cli->given[CLI_FACT_STDOUT] || to_stdout;
    return take_common(cli, option, arg, &other, err) && (!other || !take || take(own, option, arg, err));
}

static bool
check_operand(const struct cli_tool *tool, const char *operand, struct err *err)
{
    char shown[STR_SHOWN];
    struct str hint = { 0 };
    struct stat st;
    unsigned n;
    bool found = find_word(&n, tool->words, operand, &hint)
        || (tool->folders && stat(operand, &st) == 0 && S_ISDIR(st.st_mode));
    if (!found)
        err_set(err, ERR_USAGE, "unknown argument '%s'%s%s", str_shown(shown, operand, strlen(operand)),
            str_or(hint.p, ""), tool->folders ? ", or a directory" : "");
    str_clear(&hint);
    return found;
}

/* Returns the first operand that may be meant as a scheme, a plain word that is not an existing file; or NULL. */
static const char *
find_scheme(const struct cli *cli)
{
    for (size_t i = 0; i < cli->noperands; i++) {
        const char *word = cli->operands[i];
        if (*word && !strpbrk(word, "./:") && strcmp(word, "-") != 0 && access(word, F_OK) != 0)
            return word;
    }
    return NULL;
}

/* Reports a surplus operand, with a guess at what was meant: a scheme, the output, or another model. */
static bool
complain_of_operand(const struct cli *cli, enum cli_tool_id tool, struct err *err)
{
    char shown[STR_SHOWN];
    const char *scheme = NULL;
    if (tool == CLI_FORGET)
        scheme = find_scheme(cli);
    const char *extra = scheme;
    if (!scheme)
        extra = cli->operands[cli_tools[tool].max_operands];
    str_shown(shown, extra, strlen(extra));
    if (extra[0] != '\0' && extra[strspn(extra, "0123456789")] == '\0')
        return err_set(err, ERR_USAGE, "unexpected argument '%s' (threads are given with -j %s; -t is --test)", shown, shown);
    for (size_t i = 0; scheme && cli_exact_words[i]; i++)
        if (strcasecmp(scheme, cli_exact_words[i]) == 0)
            return err_set(err, ERR_USAGE, "unexpected argument '%s' (did you mean %s%s?)", shown,
                cli->given[CLI_OPT_EXACT] ? "--exact=" : "amn convert --dtype ", cli_exact_words[i]);
    if (scheme)
        return err_set(err, ERR_USAGE, "unexpected argument '%s' (did you mean --scheme %s?)", shown, shown);
    if (access(extra, F_OK) != 0)
        return err_set(err, ERR_USAGE, "unexpected argument '%s' (the output is given with -o)", shown);
    return err_set(err, ERR_USAGE, "unexpected argument '%s': %s takes one model; convert several with "
        "--output-dir DIR, merge them with amn-convert", shown, cli_name(cli));
}

static bool
take_operands(struct cli *cli, enum cli_tool_id id, int argc, char **argv, struct err *err)
{
    const struct cli_tool *tool = &cli_tools[id];
    cli->operands = argv + optind;
    cli->noperands = (size_t)(argc - optind);
    if (cli->noperands)
        cli->operand = cli->operands[0];
    else
        cli->operand = NULL;
    if (cli->noperands > tool->max_operands && !cli->many)
        return complain_of_operand(cli, id, err);
    if (!cli->operand && tool->reads_stdin && cli_stdin_is_terminal())
        return err_set(err, ERR_USAGE,
            "no input: give a FILE or pipe one in (standard input is a terminal)");
    const bool names = tool->names_after && cli->operand && strcasecmp(cli->operand, tool->names_after) == 0;
    for (size_t i = 0; tool->words && !names && i < cli->noperands; i++)
        if (!check_operand(tool, cli->operands[i], err))
            return false;
    return true;
}

/* Returns the name by which the tool was called, if it is not its own: "amn diff", which `amn` passes, or "amn-info". */
static const char *
typed_name(const struct cli_tool *tool, const char *argv0)
{
    if (!argv0 || str_begins(argv0, "amn "))
        return argv0;
    if (tool->also && strcmp(folder_name(argv0), tool->also) == 0)
        return tool->also;
    return NULL;
}

/* Parses on after a usage error, so that a later --json-errors still takes effect; the first error is kept. */
void
cli_options(struct cli *cli, enum cli_tool_id tool, cli_take *take, void *own, int argc, char **argv)
{
    struct getopt_form form;
    struct err err;
    cli_start(cli_tools[tool].name);
    err_init(&err);
    *cli = (struct cli){ .id = tool, .tool = cli_tools[tool].name, .typed = typed_name(&cli_tools[tool], argv[0]), .argv = argv, .argc = argc,
        .limits = limits_default };
    cli_fail_in_jansson(cli);
#ifdef M_MMAP_THRESHOLD
    /* Large blocks come from mmap, so that they grow without being copied and return to the system when freed. Without this
     * call, glibc raises the threshold when the first large block is freed. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif

    if (!getopt_form_make(&form, tool)) {
        err_memory(&err, sizeof form);
        exit(cli_fail(cli, &err));
    }
    opterr = 0;
    for (int key, at = -1; (key = getopt_long(argc, argv, form.shorts.p, form.longs, &at)) != -1; at = -1) {
        if (key == '?' || key == ':')
            complain(cli, &form, key, argv, &err);
        else
            take_option(cli, take, own, at < 0 ? options_find(tool, key) : find_named(tool, form.longs[at].name), &err);
    }
    getopt_form_clear(&form);

    if (err.kind != ERR_NONE || !take_operands(cli, tool, argc, argv, &err))
        exit(cli_fail(cli, &err));
    if (cli->old_form)
        cli_say(cli, NULL, "--%s is now called --%s", cli->old_form, cli->new_form);
}
