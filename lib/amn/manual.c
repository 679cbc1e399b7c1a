/* A page lies beside the tools, as in the source tree or as installed, perhaps compressed:
 *
 *      PREFIX/bin/amn      PREFIX/man/amn-inspect.1        PREFIX/share/man/man1/amn-inspect.1.gz
 *
 * else man may know it. It is shown by man, else on a terminal by mandoc, else as the text that mdoc.c makes of it. */
#include "manual.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "mdoc.h"
#include "source/source.h"
#include "verbs.h"

enum { PAGE_MAX = 4 << 20 };

struct page {
    struct str name;            /* "amn-inspect" */
    int section;
    struct str verb;            /* whose options the page has; empty: of none */
    struct str path;            /* where it lies; empty: nowhere */
};

static void
page_clear(struct page *page)
{
    str_clear(&page->name);
    str_clear(&page->verb);
    str_clear(&page->path);
}

/* --- which ----------------------------------------------------------------------------------------------- */

/* Topics that are no tool. amn(7) and amn(1) have one name: the overview goes first. */
static const struct topic {
    const char *word, *page;
    int section;
} topics[] = {
    { "amn", "amn", 7 }, { "help", "amn", 1 }, { "formats", "amn-formats", 5 }, { "json", "amn-json", 5 },
};
enum { TOPICS = sizeof topics / sizeof *topics };

static bool
unknown(const char *folder, const char *topic, struct err *err)
{
    char shown[STR_SHOWN];
    struct names words = { 0 };
    struct str hint = { 0 };
    bool ok = verbs_all(&words, folder, err);
    for (size_t i = 0; ok && i < TOPICS; i++)
        ok = names_add(&words, topics[i].word, strlen(topics[i].word), err);
    nearest_hint(&hint, "", topic, (const char *const *)words.name, words.n);
    if (ok)
        err_set(err, ERR_USAGE, ERR_NO_OFFSET, "there is no manual page of '%s'%s", str_shown(shown, topic, strlen(topic)),
            hint.p ? hint.p : "");
    str_clear(&hint);
    names_clear(&words);
    return false;
}

/* The page of a topic: its name and section. */
static bool
page_of(struct page *page, const char *folder, const char *topic, struct err *err)
{
    const char *word = strncmp(topic, "amn-", 4) == 0 ? verbs_word(topic) : topic;
    const struct cli_tool *tool = verbs_tool(word);
    const struct topic *other = NULL;
    for (size_t i = 0; i < TOPICS; i++)
        if (strcmp(word, topics[i].word) == 0)
            other = &topics[i];
    if (!other && !tool && !verbs_find(&page->path, folder, word, err))
        return err->kind == ERR_NONE && unknown(folder, topic, err);
    page->path.len = 0;
    page->section = other ? other->section : 1;
    if (!other)
        str_text(&page->verb, tool ? verbs_word(tool->name) : word);
    if (other || (tool && !cli_is_program(tool)))
        str_text(&page->name, other ? other->page : "amn");
    else
        str_format(&page->name, "amn-%s", page->verb.p);
    return !page->name.failed || err_memory(err, page->name.room);
}

/* --- where ----------------------------------------------------------------------------------------------- */

static bool
try_path(struct page *page, struct err *err)
{
    if (page->path.failed)
        return err_memory(err, page->path.room);
    return access(page->path.p, R_OK) == 0;
}

static bool
find_beside(struct page *page, const char *folder, struct err *err)
{
    static const char *const packed[] = { "", ".gz", ".zst", ".xz" };
    const char *end = folder ? strrchr(folder, '/') : NULL;
    bool found = false;
    for (size_t i = 0; end && !found && err->kind == ERR_NONE && i < sizeof packed / sizeof *packed; i++) {
        page->path.len = 0;
        str_format(&page->path, "%.*s/share/man/man%d/%s.%d%s", (int)(end - folder), folder, page->section, page->name.p,
            page->section, packed[i]);
        found = try_path(page, err);
    }
    if (end && !found && err->kind == ERR_NONE) {
        page->path.len = 0;
        str_format(&page->path, "%.*s/man/%s.%d", (int)(end - folder), folder, page->name.p, page->section);
        found = try_path(page, err);
    }
    return found;
}

/* Ask man, which tells the path of a page. The name has nothing that a shell would read. */
static bool
find_by_man(struct page *page, struct err *err)
{
    struct str command = { 0 };
    char line[4096] = "";
    str_format(&command, "man -w %d %s 2>/dev/null", page->section, page->name.p);
    FILE *man = command.failed ? NULL : popen(command.p, "r");
    if (man) {
        if (!fgets(line, sizeof line, man))
            line[0] = '\0';
        pclose(man);
    }
    str_clear(&command);
    page->path.len = 0;
    str_add(&page->path, line, strcspn(line, "\n"));
    return page->path.len != 0 && line[0] == '/' && try_path(page, err);
}

static bool
not_found(const struct page *page, const char *folder, bool man, struct err *err)
{
    char shown[STR_SHOWN];
    const char *end = folder ? strrchr(folder, '/') : NULL;
    struct str where = { 0 };
    str_shown(shown, folder, end ? (size_t)(end - folder) : 0);
    if (end)
        str_format(&where, "in %s/share/man, %s/man and ", shown, shown);
    str_format(&where, "with man%s", man ? "" : ", which is not in PATH");
    err_set(err, ERR_OPEN, ERR_NO_OFFSET, "the manual page %s(%d) is not there: looked for it %s%s%s%s", page->name.p,
        page->section, where.p ? where.p : "", page->verb.p ? "; the options are shown by: amn " : "",
        page->verb.p ? page->verb.p : "", page->verb.p ? " --help" : "");
    str_clear(&where);
    return false;
}

/* --- how ------------------------------------------------------------------------------------------------- */

/* What shows a text by the screen, "" when there is nothing. As man chooses it. */
static const char *
pager(void)
{
    static const char *const variables[] = { "MANPAGER", "PAGER" }, *const programs[] = { "less", "more" };
    struct str file = { 0 };
    struct err err;
    const char *found = NULL;
    err_init(&err);
    for (size_t i = 0; !found && i < 2; i++)
        if (getenv(variables[i]) && *getenv(variables[i]))
            found = getenv(variables[i]);
    for (size_t i = 0; !found && i < 2; i++)
        if (verbs_program(&file, NULL, programs[i], &err))
            found = programs[i];
    str_clear(&file);
    return found ? found : "";
}

/* False when no pager could be run. It has the terminal until it ends: what is typed there is not for this process. */
static bool
show_by_screen(const struct str *text)
{
    enum { CANNOT_RUN = 126 };
    const char *command = pager();
    fflush(stdout);
    FILE *screen = *command ? popen(command, "w") : NULL;
    if (!screen)
        return false;
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    fwrite(text->p, 1, text->len, screen);
    int status = pclose(screen);
    return status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) >= CANNOT_RUN);
}

static bool
show_text(const struct page *page, struct err *err)
{
    struct source *src = NULL;
    struct str text = { 0 };
    const uint8_t *p;
    uint64_t n;
    bool ok = source_open(&src, page->path.p, false, NULL, err) && source_unpack(src, &limits_default, err)
        && source_head(src, PAGE_MAX + 1, &p, &n, err)
        && (limits_check(n, PAGE_MAX, "bytes of the page", err) || err_in_file(err, source_name(src)));
    if (ok) {
        mdoc_text(&text, (const char *)p, (size_t)n);
        ok = !text.failed || err_memory(err, text.room);
    }
    if (ok && !(cli_stdout_is_terminal() && show_by_screen(&text)))
        fwrite(text.p ? text.p : "", 1, text.len, stdout);
    str_clear(&text);
    source_close(src);
    return ok && cli_finish_stdout(err);
}

bool
manual_show(const char *folder, const char *topic, struct err *err)
{
    struct page page = { 0 };
    struct str man = { 0 }, mandoc = { 0 };
    bool known = page_of(&page, folder, topic, err), has_man = known && verbs_program(&man, NULL, "man", err);
    bool found = known && err->kind == ERR_NONE && (find_beside(&page, folder, err)
        || (err->kind == ERR_NONE && has_man && find_by_man(&page, err)));
    if (found && has_man)
        execl(man.p, "man", page.path.p, (char *)NULL);
    if (found && cli_stdout_is_terminal() && verbs_program(&mandoc, NULL, "mandoc", err))
        execl(mandoc.p, "mandoc", "-a", page.path.p, (char *)NULL);
    cli_start("amn");
    bool ok = found && err->kind == ERR_NONE && show_text(&page, err);
    if (known && !found && err->kind == ERR_NONE)
        not_found(&page, folder, has_man, err);
    str_clear(&mandoc);
    str_clear(&man);
    page_clear(&page);
    return ok;
}
