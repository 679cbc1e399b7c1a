#include "verbs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PREFIX = sizeof "amn-" - 1 };

/* --- programs -------------------------------------------------------------------------------------------- */

/* Checks for an executable file. `ours`: it would be in the folder of this program. Elsewhere in PATH a folder that may not
 * be searched is skipped, as a shell does. */
static bool
is_program(const char *path, bool ours, struct err *err)
{
    struct stat st;
    char shown[STR_SHOWN];
    if (stat(path, &st) == 0)
        return S_ISREG(st.st_mode) && access(path, X_OK) == 0;
    if (!err_absent(errno) && (ours || errno != EACCES))
        err_sys(err, ERR_OPEN, errno, "cannot access %s", str_shown(shown, path, strlen(path)));
    return false;
}

/* Returns the next folder of PATH, *n bytes long, and moves *path past it; NULL at the end. An empty entry is the current
 * folder. */
static const char *
next_folder(const char **path, size_t *n)
{
    const char *p = *path;
    if (!p)
        return NULL;
    *n = strcspn(p, ":");
    if (p[*n])
        *path = p + *n + 1;
    else
        *path = NULL;
    if (*n != 0)
        return p;
    *n = 1;
    return ".";
}

/* Checks whether the folder dir[0..n) contains the program, and sets *file to its path. */
static bool
try_folder(struct str *file, const char *dir, size_t n, const char *name, bool ours, struct err *err)
{
    file->len = 0;
    str_format(file, "%.*s/%s", (int)n, dir, name);
    if (file->failed)
        return err_memory(err, file->room);
    return is_program(file->p, ours, err);
}

bool
verbs_program(struct str *file, const char *folder, const char *name, struct err *err)
{
    const char *path = getenv("PATH"), *dir;
    size_t n;
    bool found = folder && try_folder(file, folder, strlen(folder), name, true, err);
    while (!found && err->kind == ERR_NONE && (dir = next_folder(&path, &n)) != NULL)
        found = try_folder(file, dir, n, name, false, err);
    return found;
}

static bool
is_verb(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    return *word != '\0' && word[strspn(word, letters)] == '\0';
}

bool
verbs_find(struct str *file, const char *folder, const char *verb, struct err *err)
{
    struct str name = { 0 };
    if (!is_verb(verb))
        return false;
    str_format(&name, "amn-%s", verb);
    bool found;
    if (name.failed)
        found = err_memory(err, name.room);
    else
        found = verbs_program(file, folder, name.p, err);
    str_clear(&name);
    return found;
}

bool
verbs_folder(char **folder, const char *argv0, struct err *err)
{
    struct str file = { 0 };
    *folder = NULL;
    if (!strchr(argv0, '/') && verbs_program(&file, NULL, argv0, err))
        argv0 = file.p;
    if (err->kind == ERR_NONE && strchr(argv0, '/')) {
        *folder = realpath(argv0, NULL);
        if (!*folder && errno == ENOMEM)
            err_memory(err, PATH_MAX);
    }
    if (*folder)
        *strrchr(*folder, '/') = '\0';
    str_clear(&file);
    return err->kind == ERR_NONE;
}

/* --- commands -------------------------------------------------------------------------------------------- */

const char *
verbs_word(const char *tool)
{
    return tool + PREFIX;
}

const struct cli_tool *
verbs_tool(const char *verb)
{
    for (size_t i = 0; i < CLI_TOOLS; i++) {
        const struct cli_tool *tool = &cli_tools[i];
        if (strcmp(verb, verbs_word(tool->name)) == 0 || (tool->also && strcmp(verb, verbs_word(tool->also)) == 0))
            return tool;
    }
    return NULL;
}

const struct cli_verb *
verbs_form(const char *verb)
{
    const struct cli_verb *form = cli_verbs;
    while (form->verb && strcmp(verb, form->verb) != 0)
        form++;
    if (form->verb)
        return form;
    return NULL;
}

/* Adds the programs in a folder that could be commands. A folder that cannot be read has none. */
static bool
look_into(struct names *others, const char *dir, size_t n, struct err *err)
{
    struct str path = { 0 };
    const struct dirent *e;
    str_add(&path, dir, n);
    DIR *d = NULL;
    if (!path.failed)
        d = opendir(path.p);
    bool ok = !path.failed || err_memory(err, path.room);
    while (ok && d && (e = readdir(d)) != NULL) {
        if (strncmp(e->d_name, "amn-", PREFIX) != 0)
            continue;
        const char *verb = verbs_word(e->d_name);
        bool other = is_verb(verb) && !verbs_tool(verb) && !verbs_form(verb) && strcmp(verb, "help") != 0;
        if (other && try_folder(&path, dir, n, e->d_name, false, err))
            ok = names_add(others, verb, strlen(verb), err);
        ok = ok && err->kind == ERR_NONE;
    }
    if (d)
        closedir(d);
    str_clear(&path);
    return ok;
}

bool
verbs_others(struct names *others, const char *folder, struct err *err)
{
    const char *path = getenv("PATH"), *dir;
    size_t n;
    bool ok = !folder || look_into(others, folder, strlen(folder), err);
    while (ok && (dir = next_folder(&path, &n)) != NULL)
        ok = look_into(others, dir, n, err);
    names_sort(others);
    return ok;
}

bool
verbs_all(struct names *words, const char *folder, struct err *err)
{
    bool ok = names_add(words, "help", strlen("help"), err);
    for (const struct cli_verb *form = cli_verbs; ok && form->verb; form++)
        ok = names_add(words, form->verb, strlen(form->verb), err);
    for (size_t i = 0; ok && i < CLI_TOOLS; i++) {
        const char *word = verbs_word(cli_tools[i].name), *also = cli_tools[i].also;
        ok = names_add(words, word, strlen(word), err)
            && (!also || names_add(words, verbs_word(also), strlen(verbs_word(also)), err));
    }
    return ok && verbs_others(words, folder, err);
}
