/* amn: the front end. `amn COMMAND ...` runs `amn-COMMAND ...`, as git does; the list of commands, the manual pages and the
 * list of models are built in. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/foreign_names.h"
#include "list.h"
#include "manual.h"
#include "verbs.h"

enum { LINE = 78 };

/* Prints the installed tools with their second names. */
static bool
print_tools(const char *folder, struct err *err)
{
    struct str file = { 0 }, names = { 0 };
    size_t width = 0;
    for (size_t i = 0; i < CLI_TOOLS; i++) {
        size_t n = strlen(cli_tools[i].name) + (cli_tools[i].also ? strlen(cli_tools[i].also) - 2 : 0);
        if (n > width)
            width = n;
    }
    for (size_t i = 0; i < CLI_TOOLS && err->kind == ERR_NONE; i++) {
        const struct cli_tool *tool = &cli_tools[i];
        if (cli_is_program(tool) && !verbs_find(&file, folder, verbs_word(tool->name), err))
            continue;
        names.len = 0;
        str_format(&names, "amn %s%s%s", verbs_word(tool->name), tool->also ? ", " : "",
            tool->also ? verbs_word(tool->also) : "");
        if (names.failed)
            err_memory(err, names.room);
        else
            printf("  %-*s  %s\n", (int)width, names.p, tool->purpose);
    }
    for (const struct cli_verb *form = cli_verbs; form->verb && !names.failed; form++) {
        names.len = 0;
        str_format(&names, "amn %s", form->verb);
        if (!names.failed)
            printf("  %-*s  %s\n", (int)width, names.p, cli_verb_purpose(form));
    }
    printf("  %-*s  %s\n", (int)width, "amn help", "manual page of a command or topic");
    str_clear(&names);
    str_clear(&file);
    return err->kind == ERR_NONE;
}

static bool
print_others(const char *folder, struct err *err)
{
    struct names others = { 0 };
    bool ok = verbs_others(&others, folder, err);
    size_t column = 0;
    if (ok && others.n != 0)
        column = (size_t)printf("\nOther commands in PATH:");
    for (size_t i = 0; ok && i < others.n; i++) {
        if (column + 1 + strlen(others.name[i]) > LINE)
            column = (size_t)printf("\n ") - 1;
        column += (size_t)printf(" %s", others.name[i]);
    }
    if (ok && others.n != 0)
        putchar('\n');
    names_clear(&others);
    return ok;
}

static bool
print_verbs(const char *folder, struct err *err)
{
    puts("Usage: amn COMMAND [ARGUMENT]...\n");
    if (!print_tools(folder, err) || !print_others(folder, err))
        return false;
    puts("\nOptions of a command: amn COMMAND --help. Overview: amn help amn.\nOther manual pages: amn help topics");
    return cli_finish_stdout(err);
}

static bool
help(const char *folder, char *const *words, struct err *err)
{
    char shown[STR_SHOWN];
    if (!words[0]) {
        cli_start("amn");
        return print_verbs(folder, err);
    }
    if (words[1])
        return err_set(err, ERR_USAGE, "unexpected argument '%s': 'amn help' takes one topic",
            str_shown(shown, words[1], strlen(words[1])));
    if (strcmp(words[0], "topics") == 0)
        return manual_topics(err);
    return manual_show(folder, words[0], err);
}

static bool
print_version(struct err *err)
{
    cli_start("amn");
    printf("amn %s\n", CLI_VERSION);
    return cli_finish_stdout(err);
}

static bool
amn_unknown(const char *folder, const char *word, struct err *err)
{
    static const char *const options[] = { "help", "version" };
    char shown[STR_SHOWN];
    struct names words = { 0 };
    struct str hint = { 0 };
    bool option = *word == '-', ok = option || verbs_all(&words, folder, err);
    const char *here = NULL;
    if (!option)
        here = foreign_names_verb(word);
    str_shown(shown, word, strlen(word));
    if (here)
        str_text(&hint, here);
    else if (!option && access(word, F_OK) == 0)
        str_format(&hint, "; to describe a model: amn inspect %s", shown);
    else if (option)
        nearest_hint(&hint, "--", word + strspn(word, "-"), options, 2);
    else
        nearest_hint(&hint, "", word, (const char *const *)words.name, words.n);
    if (ok)
        err_set(err, ERR_USAGE, "unknown %s '%s'%s", option ? "option" : "command", shown,
            str_or(hint.p, "; try 'amn --help'"));
    str_clear(&hint);
    names_clear(&words);
    return false;
}

/* Replaces this process by the tool, whose messages begin with `amn` and what was typed. Returns only on failure. */
static bool
become(const char *folder, const char *typed, char **words, struct err *err)
{
    struct str file = { 0 }, name = { 0 };
    char shown[STR_SHOWN];
    const struct cli_tool *tool = verbs_tool(words[0]);
    if (verbs_find(&file, folder, words[0], err)) {
        str_format(&name, "amn %s", typed);
        if (tool && !name.failed)
            words[0] = name.p;
        else
            words[0] = file.p;
        execvp(file.p, words);
        err_sys(err, ERR_OPEN, errno, "cannot execute");
        err_in_file(err, str_shown(shown, file.p, file.len));
    } else if (err->kind == ERR_NONE && tool) {
        err_set(err, ERR_OPEN, "%s found neither next to amn nor in PATH; reinstall amn",
            tool->name);
    } else if (err->kind == ERR_NONE) {
        amn_unknown(folder, words[0], err);
    }
    str_clear(&file);
    str_clear(&name);
    return false;
}

static bool
is_option(const char *word, const char *letter, const char *name)
{
    return strcmp(word, letter) == 0 || strcmp(word, name) == 0;
}

/* Runs the tool of a short form, with its option before the other words. */
static bool
become_form(const char *folder, const struct cli_verb *form, char **words, struct err *err)
{
    size_t n = 0;
    while (words[n])
        n++;
    char **all = calloc(n + 2, sizeof *all), *tool = strdup(verbs_word(cli_tools[CLI_INSPECT].name));
    struct str option = { 0 };
    str_format(&option, "--%s", form->verb);
    bool ok = (all && tool && !option.failed) || err_memory(err, n + 2);
    if (ok) {
        all[0] = tool;
        all[1] = option.p;
        memcpy(all + 2, words + 1, (n - 1) * sizeof *all);
        ok = become(folder, words[0], all, err);
    }
    free(all);
    free(tool);
    str_clear(&option);
    return ok;
}

/* Runs the command; `words` ends with NULL. */
static bool
front(const char *folder, char **words, struct err *err)
{
    const char *word = words[0];
    if (!word)
        return help(folder, words, err);
    const struct cli_verb *form = words[1] && !words[2] ? verbs_form(words[1]) : NULL;
    bool helps = strcmp(word, "help") == 0 || is_option(word, "-h", "--help");
    if (helps && form)          /* it has a usage of its own, and no page */
        return become_form(folder, form, (char *[]){ words[1], (char[]){ "--help=all" }, NULL }, err);
    if (helps)
        return help(folder, words + 1, err);
    if (is_option(word, "-V", "--version") || strcmp(word, "version") == 0)
        return print_version(err);
    form = verbs_form(word);
    if (form)
        return become_form(folder, form, words, err);
    return become(folder, word, words, err);
}

int
main(int argc, char **argv)
{
    const struct cli cli = { .tool = "amn" };
    struct err err;
    if (argc > 1 && strcmp(argv[1], verbs_word(cli_tools[CLI_LIST].name)) == 0)
        return list_main(argc - 1, argv + 1);
    err_init(&err);
    char *folder;
    bool ok = verbs_folder(&folder, argc > 0 ? argv[0] : "amn", &err) && front(folder, argv + (argc > 0), &err);
    free(folder);
    if (ok)
        return CLI_OK;
    return cli_fail(&cli, &err);
}
