#include "container/sharded/sharded_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/folder.h"
#include "base/num.h"
#include "container/torch/dangerous.h"
#include "source/small_file.h"

const struct container container_sharded = { .name = "checkpoint", .tail_ok = true, .has_configs = true };

/* In the order in which they are tried; one that only shows what is missing has no other use. */
static const struct sharded_format *const formats[] = { &sharded_layered, &sharded_dcp, &sharded_dcp_incomplete, &sharded_deepspeed,
    &sharded_universal, &sharded_slices, &sharded_zarr, &sharded_megatron, &sharded_rank_files,
    &sharded_consolidated };
enum { FORMATS = sizeof formats / sizeof *formats };

/* --- the directory */

static int
compare_names(const void *key, const void *item)
{
    return strcmp(key, *(char *const *)item);
}

bool
sharded_has(const struct sharded *s, const char *name)
{
    return s->names.n != 0 && bsearch(name, s->names.name, s->names.n, sizeof *s->names.name, compare_names);
}

static bool
list_names(struct names *names, const char *dir, const struct inputs *inputs, struct err *err)
{
    struct bundle_list l;
    const char *name;
    bool ok = true;
    if (!bundle_list_open(&l, dir, inputs))
        return err_sys(err, ERR_OPEN, errno, "cannot list the directory");
    while (ok && (name = bundle_list_next(&l, err)) != NULL)
        ok = names_add(names, name, strlen(name), err);
    bundle_list_close(&l);
    names_sort(names);
    return ok && err->kind == ERR_NONE;
}

/* Takes a directory as the one that holds the files, and looks at its names. */
static bool
enter(struct sharded *s, const char *dir, struct err *err)
{
    char *own = strdup(dir);
    if (!own)
        return err_memory(err, strlen(dir));
    free(s->dir);
    s->dir = own;
    names_clear(&s->names);
    s->format = NULL;
    if (!list_names(&s->names, dir, s->inputs, err))
        return false;
    for (size_t i = 0; i < FORMATS && !s->format; i++)
        if (formats[i]->probe(s))
            s->format = formats[i];
    return true;
}

/* Files that name the directory of the last step, in the order in which they are tried. */
static const char *const pointers[] = { "latest", "latest_universal", "latest_checkpointed_iteration.txt" };

bool
sharded_peek(struct str *out, const char *dir, const char *file, struct err *err)
{
    struct budget budget = { .limits = limits_default };
    struct inputs opened = { 0 };
    struct source *src = NULL;
    char *path = folder_path(dir, strlen(dir), file, err);
    const char *text;
    size_t n;
    bool ok = path && small_file_open(&src, path, false, 64 << 10, &budget, "file bytes", &text, &n, &opened, err);
    if (ok)
        str_add(out, text, n);
    source_close(src);
    inputs_clear(&opened);
    free(path);
    return ok && (!out->failed || err_memory(err, out->room));
}

/* Reads such a file: the name of a directory. */
static bool
read_pointer(struct str *name, const char *dir, const char *file, struct err *err)
{
    uint64_t step;
    if (!sharded_peek(name, dir, file, err))
        return false;
    while (name->len != 0 && strchr("\n\r ", name->p[name->len - 1]))
        name->p[--name->len] = '\0';
    bool iteration = str_ends(file, ".txt"), number = iteration && str_to_u64(&step, str_or(name->p, ""));
    if (number) {
        name->len = 0;
        str_format(name, "iter_%07" PRIu64, step);
    }
    if (name->failed)
        return err_memory(err, name->room);
    if (sharded_is_component(str_or(name->p, ""), name->len) && (number || !iteration || strcmp(name->p, "release") == 0))
        return true;
    return err_set(err, ERR_MALFORMED, "%s does not name a directory beside it", file);
}

/* Enters the directory that a file names. */
static bool
enter_named(struct sharded *s, const char *dir, const char *file, struct err *err)
{
    char shown[STR_SHOWN];
    struct stat st;
    bool ok = read_pointer(&s->step, dir, file, err);
    char *path = NULL;
    if (ok)
        path = folder_path(dir, strlen(dir), s->step.p, err);
    if (path && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
        ok = err_set(err, ERR_OPEN, "%s names the directory %s, which is not here", file, str_shown(shown, s->step.p, s->step.len));
    ok = ok && path && enter(s, path, err);
    if (ok && !s->format)
        ok = err_set(err, ERR_OPEN, "%s names the directory %s, which holds no checkpoint", file, str_shown(shown, s->step.p, s->step.len));
    free(path);
    return ok;
}

/* Returns true if a directory inside of the one that was given holds a checkpoint, which is not that of an optimizer. */
static bool
holds_checkpoint(const char *dir, const char *name)
{
    struct str path = { 0 };
    struct stat st;
    str_format(&path, "%s/%s/.metadata", dir, name);
    bool holds = !path.failed && strncmp(name, "optimizer", strlen("optimizer")) != 0 && stat(path.p, &st) == 0 && S_ISREG(st.st_mode);
    str_clear(&path);
    return holds;
}

/* Enters the only subdirectory that holds a checkpoint. */
static bool
enter_only(struct sharded *s, const char *dir, struct err *err)
{
    struct str words = { 0 };
    const char *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < s->names.n; i++)
        if (s->names.name[i][0] != '.' && holds_checkpoint(dir, s->names.name[i])) {
            char shown[STR_SHOWN];
            found = s->names.name[i];
            str_format(&words, "%s%s", n++ ? ", " : "", str_shown(shown, found, strlen(found)));
        }
    bool ok = !words.failed || err_memory(err, words.room);
    if (ok && n > 1)
        ok = err_set(err, ERR_USAGE, "the directory has several checkpoints: give one of %s", words.p);
    char *path = NULL;
    if (ok && n == 1)
        path = folder_path(dir, strlen(dir), found, err);
    if (path)
        str_text(&s->step, found);
    if (ok && n == 1)
        ok = path && (!s->step.failed || err_memory(err, s->step.room)) && enter(s, path, err);
    str_clear(&words);
    free(path);
    return ok;
}

bool
sharded_find(struct sharded **found, const char *dir, struct inputs *inputs, struct err *err)
{
    struct sharded *s = *found = calloc(1, sizeof *s);
    if (!s)
        return err_memory(err, sizeof *s);
    s->inputs = inputs;
    bool ok = enter(s, dir, err);
    for (size_t i = 0; ok && !s->format && i < sizeof pointers / sizeof *pointers; i++)
        if (sharded_has(s, pointers[i]))
            ok = enter_named(s, dir, pointers[i], err);
    ok = ok && (s->format || enter_only(s, dir, err));
    if (ok && s->format)
        return true;
    sharded_free(s);
    *found = NULL;
    return ok;
}

void
sharded_free(struct sharded *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->nsrc; i++)
        source_close(s->src[i]);
    free(s->src);
    free(s->dir);
    free(s->folder);
    str_clear(&s->quantization);
    names_clear(&s->names);
    names_clear(&s->opened);
    table_clear(&s->table);
    str_clear(&s->step);
    mosaic_free(s->mosaic);
    free(s);
}

const char *
sharded_kind(const struct sharded *s)
{
    return s->kind ? s->kind : s->format->kind;
}

bool
sharded_is_trained(const struct sharded *s)
{
    return s->format != &sharded_layered;
}

bool
sharded_has_hf_names(const struct sharded *s)
{
    return s->how->hf && s->format->hf;
}

/* --- files */

bool
sharded_is_component(const char *p, size_t n)
{
    return n != 0 && !memchr(p, '/', n) && !memchr(p, '\0', n) && !(n == 1 && p[0] == '.') && !(n == 2 && memcmp(p, "..", 2) == 0);
}

static const char *
name_of_file(const void *of, uint32_t i, size_t *n)
{
    const char *name = ((const struct sharded *)of)->opened.name[i];
    *n = strlen(name);
    return name;
}

bool
sharded_source(struct sharded *s, const char *name, struct source **src, struct err *err)
{
    char shown[STR_SHOWN], *path = folder_path(s->dir, strlen(s->dir), name, err);
    struct stat st;
    bool ok = path != NULL;
    if (ok && !bundle_find(&s->inputs->bundle, path) && stat(path, &st) != 0 && err_absent(errno)) {
        err_set(err, ERR_OPEN, "missing: the checkpoint needs it");
        ok = err_in_file(err, str_shown(shown, path, strlen(path)));
    }
    ok = ok && source_open(src, path, false, s->inputs, err);
    free(path);
    return ok;
}

bool
sharded_open(struct sharded *s, const char *name, uint32_t *file, struct err *err)
{
    bool again = false;
    struct source *src = NULL;
    *file = (uint32_t)s->nsrc;
    if (table_find(&s->table, name_of_file, s, name, strlen(name), file))
        return true;
    struct source **list = NULL;
    if (budget_items(catalog_budget(s->catalog), 1, "files", err) && inputs_allow(s->nsrc, err))
        list = array_grow(s->src, s->nsrc, &s->room_src, sizeof *list, err);
    if (!list)
        return false;
    s->src = list;
    if (!names_add(&s->opened, name, strlen(name), err) || !table_add(&s->table, name_of_file, s, name, strlen(name), file, &again, err))
        return false;
    bool ok = sharded_source(s, name, &src, err);
    if (src)
        list[s->nsrc++] = src;
    return ok;
}

bool
sharded_torch(struct sharded *s, struct torch_file *f, const char *name, uint32_t *file, struct err *err)
{
    if (!sharded_open(s, name, file, err))
        return false;
    struct source *src = s->src[*file];
    return (torch_file_open(f, src, s->how, catalog_budget(s->catalog), err) && torch_file_checks(f, s->catalog, *file, 0, err))
        || err_in_file(err, source_name(src));
}

bool
sharded_load(struct sharded *s, const char *name, uint64_t max, uint8_t **bytes, size_t *n, struct err *err)
{
    struct source *src = NULL;
    *bytes = NULL;
    bool ok = sharded_source(s, name, &src, err);
    if (ok) {
        *n = (size_t)source_size(src);
        ok = limits_check(*n, max, "bytes of the file", err) && budget_bytes(catalog_budget(s->catalog), *n, "file bytes", err);
        if (ok)
            *bytes = malloc(*n + 1);
        ok = ok && (*bytes || err_memory(err, *n)) && source_read(src, 0, *bytes, *n, err);
        if (ok)
            (*bytes)[*n] = '\0';
        else
            err_in_file(err, source_name(src));
    }
    source_close(src);
    return ok;
}

bool
sharded_check_files(const struct sharded *s, const struct names *files, struct err *err)
{
    char shown[STR_SHOWN];
    const char *first = NULL;
    size_t missing = 0;
    for (size_t i = 0; i < files->n; i++)
        if (!sharded_has(s, files->name[i])) {
            if (missing++ == 0)
                first = files->name[i];
        }
    if (missing == 0)
        return true;
    str_shown(shown, first, strlen(first));
    if (missing > 1)
        return err_set(err, ERR_OPEN, "%zu of %zu files of the checkpoint are missing, the first is %s", missing, files->n, shown);
    return err_set(err, ERR_OPEN, "a file of the checkpoint is missing: %s", shown);
}

/* --- tensors */

bool
sharded_wants(const struct sharded *s, const char *word)
{
    return s->how->state && strcmp(s->how->state, word) == 0;
}

void
sharded_add_name(struct str *to, const char *p, size_t n)
{
    static const char *const wrappers[] = { "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module" };
    bool first = true;
    for (size_t at = 0, len; at <= n; at += len + 1) {
        const char *dot = memchr(p + at, '.', n - at);
        bool wrapper = false;
        len = n - at;
        if (dot)
            len = (size_t)(dot - p) - at;
        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
            wrapper = wrapper || (strlen(wrappers[i]) == len && memcmp(p + at, wrappers[i], len) == 0);
        if (wrapper)
            continue;
        if (!first)
            str_add(to, ".", 1);
        first = false;
        str_add(to, p + at, len);
    }
}

bool
sharded_add_whole(struct sharded *s, uint32_t file, const char *name, size_t n, const struct torch_tensor *t, struct err *err)
{
    static const uint64_t origin[LAYOUT_RANK];
    const struct mosaic_tensor tensor = { .name = name, .name_len = (uint32_t)n, .dtype = t->dtype, .grid = t->shape,
        .axes = t->rank };
    const struct mosaic_tile tile = { .from = origin, .size = t->shape, .layout = &t->layout, .at = t->at, .file = file };
    return mosaic_begin(s->mosaic, &tensor, err) && mosaic_add(s->mosaic, &tile, err) && mosaic_end(s->mosaic, err);
}

/* --- reading */

/* Checks --state and --root against what the format has. */
static bool
check_options(const struct sharded *s, struct err *err)
{
    const char *state = s->how->state;
    bool known = !state || strcmp(state, "model") == 0 || (strcmp(state, "master") == 0 && s->format->master)
        || (strcmp(state, "all") == 0 && s->format->all);
    if (s->how->root && state)
        return err_set(err, ERR_USAGE, "--root and --state are mutually exclusive");
    if (!known)
        return err_set(err, ERR_UNSUPPORTED, "--state %s: a checkpoint of this kind (%s) has no such tensors that can be read", state,
            s->format->kind);
    return !s->how->root || s->format->root || err_set(err, ERR_USAGE, "--root does not apply to a checkpoint of this kind (%s)",
        s->format->kind);
}

/* Fails if a name that the user allows is dangerous. */
static bool
check_allowed(const struct container_options *how, struct err *err)
{
    for (size_t i = 0; i < how->nallowed; i++) {
        const char *name = how->allowed[i], *dot = strrchr(name, '.'), *why;
        char shown[STR_SHOWN];
        size_t n = (size_t)(dot - name);
        if (dangerous_verdict(&why, (const uint8_t *)name, n, (const uint8_t *)dot + 1, strlen(dot + 1)) == VERDICT_DANGEROUS)
            return err_set(err, ERR_USAGE, "--allow-global: %s cannot be allowed: %s", str_shown(shown, name, strlen(name)), why);
    }
    return true;
}

bool
sharded_read(struct sharded *s, struct source **made, struct catalog *catalog, const struct container_options *how,
    struct err *err)
{
    char shown[STR_SHOWN];
    s->how = how;
    s->catalog = catalog;
    s->mosaic = mosaic_new(catalog, err);
    struct catalog_facts *facts = catalog_facts(catalog);
    facts->format = "PyTorch";
    bool ok = s->mosaic && check_options(s, err) && check_allowed(how, err) && s->format->read(s, err);
    if (!ok || !mosaic_source(made, s->mosaic, s->src, (uint32_t)s->nsrc, str_shown(shown, s->dir, strlen(s->dir)), err))
        return false;
    s->mosaic = NULL;
    return sharded_describe(s, err);
}
