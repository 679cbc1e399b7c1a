/* Finds a manual page next to the tools, in the source tree or installed, perhaps compressed; or else asks man. The
 * installed files include the page as plain text, made when amn was built:
 *
 *      PREFIX/bin/amn      PREFIX/man/amn-inspect.1        PREFIX/share/man/man1/amn-inspect.1.gz
 *                                                          PREFIX/share/amn/amn-inspect.1.txt
 *
 * man shows the page, or mandoc on a terminal; without either, the plain text is shown.
 */
#include "manual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "source/source.h"
#include "verbs.h"

enum { TEXT_MAX = 4 << 20 };

struct manual_page {
    struct str name;            /* "amn-inspect" */
    int section;
    struct str verb;            /* the command whose options the page describes, or empty */
    struct str path;            /* path of the page once found */
    struct str text;            /* path of its plain text */
};

static void
page_clear(struct manual_page *page)
{
    str_clear(&page->name);
    str_clear(&page->verb);
    str_clear(&page->path);
    str_clear(&page->text);
}

/* --- topics ---------------------------------------------------------------------------------------------- */

/* Topics other than tools. amn(7) and amn(1) share a name: "amn" is the overview, amn(7). */
static const struct topic {
    const char *word, *page;
    int section;
    const char *purpose;
} topics[] = {
    { "amn", "amn", 7, "inspect, dequantize, quantize and convert model files" },
    { "formats", "amn-formats", 5, "how real model files deviate from their formats, and what amn does" },
    { "schemes", "amn-schemes", 7, "quantization schemes that the amn tools read and write" },
    { "exact", "amn-exact", 7, "move quantized weights to another scheme without changing a value" },
    { "adapters", "amn-adapters", 7, "LoRA adapters and their kin, merged into a model" },
    { "family", "amn-family", 5, "files that describe model families for amn" },
    { "writers", "amn-writers", 5, "habits of the programs that write model files" },
    { "fetch", "amn", 7, "read a model through a command, such as curl or ssh" },
    { "json", "amn-json", 5, "JSON output of the amn tools" },
    { "memory", "amn-memory", 7, "memory, temporary files, page cache and limits of the amn tools" },
    { "help", "amn", 1, "the command amn itself" },
};
enum { TOPICS = sizeof topics / sizeof *topics };

static bool
manual_unknown(const char *folder, const char *topic, struct err *err)
{
    char shown[STR_SHOWN];
    struct names words = { 0 };
    struct str hint = { 0 };
    bool ok = verbs_all(&words, folder, err);
    for (size_t i = 0; ok && i < TOPICS; i++)
        ok = names_add(&words, topics[i].word, strlen(topics[i].word), err);
    nearest_hint(&hint, "", topic, (const char *const *)words.name, words.n);
    if (ok)
        err_set(err, ERR_USAGE, "no manual page for '%s'%s", str_shown(shown, topic, strlen(topic)),
            str_or(hint.p, "; try 'amn help'"));
    str_clear(&hint);
    names_clear(&words);
    return false;
}

bool
manual_topics(struct err *err)
{
    cli_start("amn");
    for (size_t i = 0; i < TOPICS; i++)
        printf("  amn help %-10s %s\n", topics[i].word, topics[i].purpose);
    return cli_finish_stdout(err);
}

/* Sets name and section of the page for a topic. */
static bool
page_of(struct manual_page *page, const char *folder, const char *topic, struct err *err)
{
    const char *word = topic;
    if (str_begins(topic, "amn-"))
        word = verbs_word(topic);
    const struct cli_tool *tool = verbs_tool(word);
    const struct topic *other = NULL;
    for (size_t i = 0; i < TOPICS; i++)
        if (strcmp(word, topics[i].word) == 0)
            other = &topics[i];
    if (!other && !tool && !verbs_find(&page->path, folder, word, err))
        return err->kind == ERR_NONE && manual_unknown(folder, topic, err);
    page->path.len = 0;
    if (other)
        page->section = other->section;
    else
        page->section = 1;
    if (!other)
        str_text(&page->verb, tool ? verbs_word(tool->name) : word);
    if (other || (tool && !cli_is_program(tool)))
        str_text(&page->name, other ? other->page : "amn");
    else
        str_format(&page->name, "amn-%s", page->verb.p);
    return !page->name.failed || err_memory(err, page->name.room);
}

/* --- finding a page -------------------------------------------------------------------------------------- */

/* Looks for a file of the page in folder `beside`, a sibling of the tools' folder. */
static bool
find_file(struct str *path, const struct manual_page *page, const char *folder, const char *beside, const char *end,
    struct err *err)
{
    const char *last = NULL;
    if (folder)
        last = strrchr(folder, '/');
    if (!last || err->kind != ERR_NONE)
        return false;
    path->len = 0;
    str_format(path, "%.*s/%s/%s.%d%s", (int)(last - folder), folder, beside, page->name.p, page->section, end);
    if (path->failed)
        return err_memory(err, path->room);
    return access(path->p, R_OK) == 0;
}

static bool
find_beside(struct manual_page *page, const char *folder, struct err *err)
{
    char beside[] = "share/man/manN";
    beside[sizeof beside - 2] = (char)('0' + page->section);
    return find_file(&page->path, page, folder, beside, "", err) || find_file(&page->path, page, folder, beside, ".gz", err)
        || find_file(&page->path, page, folder, beside, ".zst", err)
        || find_file(&page->path, page, folder, beside, ".xz", err)
        || find_file(&page->path, page, folder, "man", "", err);
}

/* Asks man for the path of the page. The name contains no shell metacharacters. */
static bool
find_by_man(struct manual_page *page, struct err *err)
{
    struct str command = { 0 };
    char line[4096] = "";
    if (err->kind != ERR_NONE)
        return false;
    str_format(&command, "man -w %d %s 2>/dev/null", page->section, page->name.p);
    FILE *man = NULL;
    if (!command.failed)
        man = popen(command.p, "r");
    if (man) {
        if (!fgets(line, sizeof line, man))
            line[0] = '\0';
        pclose(man);
    }
    str_clear(&command);
    page->path.len = 0;
    str_add(&page->path, line, strcspn(line, "\n"));
    if (page->path.failed)
        return err_memory(err, page->path.room);
    return line[0] == '/' && access(page->path.p, R_OK) == 0;
}

/* Reports why the page cannot be shown. `found`: the page exists, but no program to show it. */
static bool
cannot_show(const struct manual_page *page, const char *folder, bool man, bool found, struct err *err)
{
    char shown[STR_SHOWN];
    const char *end = NULL;
    if (folder)
        end = strrchr(folder, '/');
    struct str why = { 0 };
    str_shown(shown, folder, end ? (size_t)(end - folder) : 0);
    str_text(&why, found ? "cannot be shown: install man or mandoc" : "not found");
    if (!found && end)
        str_format(&why, " in %s/share/man, %s/man", shown, shown);
    if (!found)
        str_text(&why, man ? " or by man" : ", and man is not installed");
    if (page->verb.p)
        str_format(&why, "; for the options, run 'amn %s --help'", page->verb.p);
    err_set(err, ERR_OPEN, "manual page %s(%d) %s", page->name.p, page->section, str_or(why.p, ""));
    str_clear(&why);
    return false;
}

/* --- showing it ------------------------------------------------------------------------------------------ */

/* Returns the pager, chosen as man does, or "" if there is none. */
static const char *
pager(struct err *err)
{
    static const char *const variables[] = { "MANPAGER", "PAGER" }, *const programs[] = { "less", "more" };
    struct str file = { 0 };
    const char *found = NULL;
    for (size_t i = 0; !found && i < 2; i++)
        if (getenv(variables[i]) && *getenv(variables[i]))
            found = getenv(variables[i]);
    for (size_t i = 0; !found && i < 2; i++)
        if (verbs_program(&file, NULL, programs[i], err))
            found = programs[i];
    str_clear(&file);
    if (found)
        return found;
    return "";
}

/* Replaces the process by the pager, or by cat if the pager cannot be run. The shell waits for the pager even if keys such
 * as Ctrl-C are typed. Returns if there is no pager. */
static void
become_pager(const char *text, struct err *err)
{
    const char *shows = pager(err);
    struct str script = { 0 };
    str_format(&script, "trap : INT QUIT; exec <\"$1\"; %s\ncase $? in 126 | 127) exec cat; esac", shows);
    if (*shows && !script.failed)
        execl("/bin/sh", "sh", "-c", script.p, "sh", text, (char *)NULL);
    str_clear(&script);
}

static bool
print_text(const char *text, struct err *err)
{
    struct source *src = NULL;
    const uint8_t *p;
    uint64_t n;
    bool ok = source_open(&src, text, false, NULL, err) && source_head(src, TEXT_MAX, &p, &n, err);
    if (ok)
        fwrite(p, 1, n, stdout);
    source_close(src);
    return ok && cli_finish_stdout(err);
}

bool
manual_show(const char *folder, const char *topic, struct err *err)
{
    struct manual_page page = { 0 };
    struct str man = { 0 }, mandoc = { 0 };
    bool terminal = cli_stdout_is_terminal();
    bool known = page_of(&page, folder, topic, err), has_man = known && verbs_program(&man, NULL, "man", err);
    bool found = known && (find_beside(&page, folder, err) || (has_man && find_by_man(&page, err)));
    setenv("MANROFFOPT", "-Wbreak", false);     /* readers need not know which lines cannot be broken */
    if (found && has_man)
        execl(man.p, "man", page.path.p, (char *)NULL);
    bool text = known && find_file(&page.text, &page, folder, "share/amn", ".txt", err);
    if (found && (terminal || !text) && err->kind == ERR_NONE && verbs_program(&mandoc, NULL, "mandoc", err))
        execl(mandoc.p, "mandoc", "-a", page.path.p, (char *)NULL);
    if (text && terminal)
        become_pager(page.text.p, err);
    cli_start("amn");
    bool ok = known && err->kind == ERR_NONE
        && (text ? print_text(page.text.p, err) : cannot_show(&page, folder, has_man, found, err));
    str_clear(&mandoc);
    str_clear(&man);
    page_clear(&page);
    return ok;
}
