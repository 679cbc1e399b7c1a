#include "container/candidates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "container/beside.h"
#include "container/folder.h"

/* Names, or with '*' in front endings, of one rank: the model is the one file that the first of these finds. */
struct step {
    const char *pattern[5];
    bool rival;                 /* worth telling of when another one is read; else it is mostly the same model once more */
};

static const struct step steps[] = {
    { { "model.safetensors.index.json" }, true },
    { { "model.safetensors" }, true },
    { { "*.safetensors.index.json" }, true },
    { { "*.safetensors" }, true },
    { { "model.safetensors.gz", "model.safetensors.zst", "model.safetensors.xz" }, true },
    { { "*.safetensors.gz", "*.safetensors.zst", "*.safetensors.xz" }, true },
    { { "pytorch_model.bin.index.json" }, false },
    { { "pytorch_model.bin" }, false },
    { { "*.gguf" }, true },
    { { "*.gguf.gz", "*.gguf.zst", "*.gguf.xz" }, true },
    { { "*.bin.index.json" }, false },
    { { "*.npz", "*.npy", "*.pth", "*.pt", "*.bin" }, false },
};
enum { STEPS = sizeof steps / sizeof *steps };

/* What a trainer leaves beside a model. */
static const char *const not_models[] = { "training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.bin", "scheduler.pt",
    "scaler.pt", "rng_state.pth" };

/* Whether a file of a directory is what a step looks for. Of the parts of a split GGUF the first counts. */
static bool
fits(const struct step *step, const char *name)
{
    struct beside_part part;
    if (beside_part(&part, name, ".gguf") && str_ends(name, ".gguf") && part.number != 1)
        return false;
    for (size_t i = 0; i < sizeof not_models / sizeof *not_models; i++)
        if (strcmp(name, not_models[i]) == 0)
            return false;
    for (size_t i = 0; i < sizeof step->pattern / sizeof *step->pattern && step->pattern[i]; i++) {
        const char *pattern = step->pattern[i];
        if (*pattern == '*' ? *name != '.' && str_ends(name, pattern + 1) : strcmp(name, pattern) == 0)
            return true;
    }
    return false;
}

/* The first step that looks for a file, NULL when none does. */
static const struct step *
step_of(const char *name)
{
    for (size_t i = 0; i < STEPS; i++)
        if (fits(&steps[i], name))
            return &steps[i];
    return NULL;
}

bool
candidates_is_model(const char *name)
{
    return step_of(name) != NULL;
}

static bool
list(struct candidates *c, const char *dir, struct err *err)
{
    DIR *d = opendir(dir);
    if (!d)
        return err_sys(err, ERR_OPEN, errno, "the directory cannot be read");
    const char *name;
    bool ok = true;
    while (ok && (name = folder_next(d, err)) != NULL)
        ok = !step_of(name) || names_add(&c->names, name, strlen(name), err);
    closedir(d);
    names_sort(&c->names);
    return ok && err->kind == ERR_NONE;
}

/* --- several --------------------------------------------------------------------------------------------- */

/* Words for a list that is told in the order of its names: "a, b and 5 more". */
enum { TOLD = 4 };

static void
tell(struct str *words, size_t i, const char *name)
{
    char shown[STR_SHOWN];
    if (i < TOLD)
        str_format(words, "%s%s", i ? ", " : "", str_shown(shown, name, strlen(name)));
}

static void
tell_end(struct str *words, size_t n)
{
    if (n > TOLD)
        str_format(words, " and %zu more", n - TOLD);
}

static bool
several(const struct candidates *c, const struct step *step, const char *dir, struct err *err)
{
    struct str words = { 0 };
    struct beside_part part;
    char folder[STR_SHOWN], file[STR_SHOWN];
    const char *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < c->names.n; i++)
        if (step_of(c->names.name[i]) == step) {
            first = first ? first : c->names.name[i];
            tell(&words, n++, c->names.name[i]);
        }
    tell_end(&words, n);
    if (words.failed)
        err_memory(err, words.room);
    else if (beside_part(&part, first, ".safetensors") || beside_part(&part, first, ".bin"))
        err_set(err, ERR_USAGE, ERR_NO_OFFSET, "the directory holds several files (%s) and no index, which tells which "
            "of them are one model: add its .index.json, or name one file", words.p);
    else
        err_set(err, ERR_USAGE, ERR_NO_OFFSET, "the directory holds several models (%s): name one of them, as in "
            "%s%s%s", words.p, str_shown(folder, dir, strlen(dir)), str_ends(dir, "/") ? "" : "/",
            str_shown(file, first, strlen(first)));
    str_clear(&words);
    return false;
}

bool
candidates_choose(struct candidates *c, const char *dir, struct err *err)
{
    char shown[STR_SHOWN];
    const struct step *best = NULL;
    bool ok = list(c, dir, err);
    for (size_t i = 0; ok && i < c->names.n; i++) {
        const struct step *step = step_of(c->names.name[i]);
        if (best && step > best)
            continue;
        c->chosen = step == best ? NULL : c->names.name[i];
        best = step;
    }
    if (ok && !best)
        err_set(err, ERR_OPEN, ERR_NO_OFFSET, "the directory holds no model file, expected model.safetensors, "
            "model.safetensors.index.json, or a .safetensors, .gguf, .pth, .bin or .npz file");
    else if (ok && !c->chosen)
        several(c, best, dir, err);
    return c->chosen || err_in_file(err, str_shown(shown, dir, strlen(dir)));
}

void
candidates_clear(struct candidates *c)
{
    names_clear(&c->names);
    *c = (struct candidates){ 0 };
}

/* --- the others ------------------------------------------------------------------------------------------ */

/* The first `stem` bytes of a name, as the key of its index. */
struct stem {
    const char *name;
    size_t n;
};

static int
compare_index(const void *key, const void *b)
{
    const struct stem *stem = key;
    const char *name = *(char *const *)b;
    int by = strncmp(stem->name, name, stem->n);
    return by ? by : strcmp(".safetensors.index.json", name + stem->n);
}

/* Whether the file is a shard that an index of the directory stands for: X-0000I-of-0000N.safetensors. */
static bool
is_indexed(const struct candidates *c, const char *name)
{
    struct beside_part part;
    if (!beside_part(&part, name, ".safetensors"))
        return false;
    const struct stem stem = { name, part.stem };
    return bsearch(&stem, c->names.name, c->names.n, sizeof *c->names.name, compare_index) != NULL;
}

bool
candidates_other(const struct candidates *c, size_t i)
{
    return c->names.name[i] != c->chosen && step_of(c->names.name[i])->rival && !is_indexed(c, c->names.name[i]);
}

/* *other: the file is there, and none of those that were opened, by whatever name. */
static bool
look(bool *other, const char *dir, const char *name, const struct inputs *inputs, struct err *err)
{
    struct stat st;
    char *path = folder_path(dir, strlen(dir), name, err), shown[STR_SHOWN];
    bool there = path && stat(path, &st) == 0;
    bool ok = path && (there || err_absent(errno)
        || err_sys(err, ERR_OPEN, errno, "%s cannot be examined", str_shown(shown, name, strlen(name))));
    *other = there && !inputs_find(inputs, st.st_dev, st.st_ino);
    free(path);
    return ok;
}

bool
candidates_warn(const struct candidates *c, const char *dir, const struct inputs *inputs, struct catalog *catalog,
    struct err *err)
{
    struct str words = { 0 };
    char shown[STR_SHOWN];
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < c->names.n; i++) {
        bool other = candidates_other(c, i);
        ok = !other || look(&other, dir, c->names.name[i], inputs, err);
        if (other)
            tell(&words, n++, c->names.name[i]);
    }
    tell_end(&words, n);
    ok = ok && (!words.failed || err_memory(err, words.room));
    if (ok && n != 0)
        catalog_warn(catalog, "the directory holds several models: %s is read, not %s; name the file that you want",
            str_shown(shown, c->chosen, strlen(c->chosen)), words.p);
    str_clear(&words);
    return ok;
}
