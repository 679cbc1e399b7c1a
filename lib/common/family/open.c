/* Family files of the command line. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "family/builtin.h"
#include "family/read_priv.h"
#include "source/small_file.h"

enum { FILES = 64 };            /* fragments that one family file includes from its folder */

/* The files that are open, whose texts the reader borrows. */
struct open_files {
    const char *path;           /* of the family */
    struct source *src[FILES];
    size_t n;
    struct budget budget;
    struct inputs inputs;
};

static bool
read_file(struct open_files *files, const char *path, const char **text, size_t *n, struct err *err)
{
    if (!limits_check(files->n + 1, FILES, "files of a family", err))
        return false;
    struct source **src = &files->src[files->n++];
    bool ok = small_file_open(src, path, false, FAMILY_TEXT, &files->budget, path, text, n, &files->inputs, err);
    if (ok && !*text)
        *text = "";
    return ok;
}

/* Provides a fragment from the folder of the family, or a built-in one. */
static bool
include(void *of, const char *name, const char **text, size_t *n, struct err *err)
{
    struct open_files *files = of;
    const char *slash = strrchr(files->path, '/');
    const struct family_text_file *found = family_builtin_text(name);
    struct str path = { 0 };
    str_format(&path, "%.*s%s.family", slash ? (int)(slash + 1 - files->path) : 0, files->path, name);
    bool there = !path.failed && access(path.p, F_OK) == 0;
    bool ok;
    if (path.failed)
        ok = err_memory(err, path.room);
    else
        ok = !there || read_file(files, path.p, text, n, err);
    str_clear(&path);
    if (ok && !there && found) {
        *text = found->text;
        *n = found->n;
    }
    return ok;
}

bool
family_has_arch(const struct model_family *family, const char *arch, size_t n)
{
    bool has = str_is(arch, n, family->arch);
    for (size_t i = 0; i < family->archs.n; i++)
        has = has || str_is(arch, n, family->archs.at[i]);
    return has;
}

void
family_take_arch(struct model_family *family, const char *arch, size_t n)
{
    for (size_t i = 0; i < family->variants.n; i++)
        if (str_is(arch, n, family->variants.at[i].arch))
            family->arch = family->variants.at[i].arch;
}

/* Reads a family from a file. Fragments come from its folder, then from the built-in ones. Fails with ERR_OPEN too. */
static bool
family_open(struct model_family **family, const char *path, struct err *err)
{
    struct open_files *files = calloc(1, sizeof *files);
    const char *text = NULL;
    size_t n = 0;
    *family = NULL;
    if (!files)
        return err_memory(err, sizeof *files);
    files->path = path;
    files->budget.limits = limits_default;
    bool ok = read_file(files, path, &text, &n, err) && family_read(family, path, text, n, include, files, err);
    while (files->n != 0)
        source_close(files->src[--files->n]);
    inputs_clear(&files->inputs);
    free(files);
    return ok;
}

bool
family_has_tokenizer(const struct model_family *family)
{
    return family->vocab.n == 0 || strcmp(family->vocab.at[0], "none") != 0;
}

/* Returns the built-in family of a name or of a class, or NULL. */
static const char *
builtin_of(const char *arg)
{
    const char *name;
    for (size_t i = 0; (name = family_name_at(i)) != NULL; i++)
        if (strcmp(name, arg) == 0 || (family_builtin_kind(name) == FAMILY_LANGUAGE
                && family_has_class(family_builtin_text(name)->text, arg, strlen(arg))))
            return name;
    return NULL;
}

bool
family_is_builtin(const char *arg)
{
    struct stat st;             /* a directory is not a family: models have such names */
    return (stat(arg, &st) != 0 || S_ISDIR(st.st_mode)) && builtin_of(arg);
}

/* Fails for a word that is neither a file nor a built-in family. */
static bool
unknown_family(const char *arg, struct err *err)
{
    char shown[STR_SHOWN];
    struct names known = { 0 };
    struct str hint = { 0 };
    bool ok = family_classes(&known, err);
    const char *name;
    for (size_t i = 0; ok && (name = family_name_at(i)) != NULL; i++)
        ok = names_add(&known, name, strlen(name), err);
    if (ok)
        nearest_hint(&hint, "", arg, (const char *const *)known.name, known.n);
    if (ok)
        err_set(err, ERR_USAGE, "--family: '%s' is neither a file nor a built-in family%s; use a name of amn list families",
            str_shown(shown, arg, strlen(arg)), hint.p && !hint.failed ? hint.p : "");
    names_clear(&known);
    str_clear(&hint);
    return false;
}

bool
family_given(struct model_family **family, const char *arg, struct err *err)
{
    *family = NULL;
    if (family_is_builtin(arg))
        return family_builtin(family, builtin_of(arg), err);
    if (!strpbrk(arg, "./") && access(arg, F_OK) != 0)
        return unknown_family(arg, err);
    return family_open(family, arg, err);
}
