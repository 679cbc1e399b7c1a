/* Finds and opens the file of an adapter. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adapter/adapter_priv.h"
#include "adapter/describe.h"
#include "base/folder.h"
#include "source/small_file.h"

/* Names that a directory of an adapter has, in order. adapter_config.json is read from beside the first three. */
static const char *const usual[] = { "adapter_model.safetensors", "adapter_model.bin", "adapters.safetensors",
    "pytorch_lora_weights.safetensors" };
enum { USUAL = sizeof usual / sizeof *usual, CONFIGURED = 3 };

/* Sets *type to the type of a file, S_IFDIR and so on; 0 if there is none. Fails with ERR_OPEN if that cannot be found out. */
static bool
file_type(mode_t *type, const char *path, int (*look)(const char *path, struct stat *st), struct err *err)
{
    struct stat st;
    char shown[STR_SHOWN];
    bool there = look(path, &st) == 0;
    if (there)
        *type = st.st_mode & S_IFMT;
    else
        *type = 0;
    return there || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG
        || err_sys(err, ERR_OPEN, errno, "cannot access %s", str_shown(shown, path, strlen(path)));
}

/* Sets *there if a file is in a directory, dir[0..n). A dangling link counts, too: opening it is an error. */
static bool
exists(bool *there, const char *dir, size_t n, const char *name, struct err *err)
{
    mode_t type = 0;
    char *path = folder_path(dir, n, name, err);
    bool ok = path && file_type(&type, path, lstat, err);
    *there = type != 0;
    free(path);
    return ok;
}

/* Appends the names of the subdirectories that have an adapter of PEFT, "a, b". Returns their number. */
static size_t
list_adapters(struct str *names, const char *dir)
{
    struct err ignored;
    const char *name;
    char shown[STR_SHOWN];
    size_t n = 0;
    err_init(&ignored);
    DIR *d = opendir(dir);
    while (d && (name = folder_next(d, &ignored)) != NULL) {
        bool there = false;
        char *below = name[0] == '.' ? NULL : folder_path(dir, strlen(dir), name, &ignored);
        if (below && exists(&there, below, strlen(below), "adapter_config.json", &ignored) && there)
            str_format(names, "%s%s", n++ != 0 ? ", " : "", str_shown(shown, name, strlen(name)));
        free(below);
    }
    if (d)
        closedir(d);
    return n;
}

/* Finds the only file of a directory that can be an adapter. */
static bool
find_only(char **path, const char *dir, struct err *err)
{
    struct str found = { 0 };
    const char *name;
    size_t n = 0;
    char shown[STR_SHOWN];
    str_shown(shown, dir, strlen(dir));
    DIR *d = opendir(dir);
    if (!d)
        return err_sys(err, ERR_OPEN, errno, "cannot read the directory %s", shown);
    while ((name = folder_next(d, err)) != NULL)
        if ((str_ends(name, ".safetensors") || str_ends(name, ".gguf")) && name[0] != '.' && n++ == 0)
            str_text(&found, name);
    closedir(d);
    struct str below = { 0 };
    if (n == 0 && err->kind == ERR_NONE && list_adapters(&below, dir) != 0 && !below.failed)
        err_set(err, ERR_OPEN, "%s contains no adapter, but its subdirectories do (%s): give one of them, or --adapter for each", shown,
            below.p);
    str_clear(&below);
    bool ok = err->kind == ERR_NONE && (!found.failed || err_memory(err, found.room))
        && (n != 0 || err_set(err, ERR_OPEN, "%s contains no adapter: expected adapter_model.safetensors, "
            "adapter_model.bin, adapters.safetensors or pytorch_lora_weights.safetensors", shown))
        && (n == 1 || err_set(err, ERR_USAGE, "--adapter: %s contains %zu files that can be adapters: give one of "
            "them", shown, n));
    if (ok)
        *path = folder_path(dir, strlen(dir), found.p, err);
    else
        *path = NULL;
    str_clear(&found);
    return *path != NULL;
}

/* Sets *path to the file with one of the usual names in a directory, or to NULL. The caller frees it. */
static bool
find_usual(char **path, const char *dir, struct err *err)
{
    bool there = false;
    *path = NULL;
    for (size_t i = 0; i < USUAL && !there; i++)
        if (!exists(&there, dir, strlen(dir), usual[i], err) || (there && !(*path = folder_path(dir, strlen(dir), usual[i], err))))
            return false;
    return true;
}

/* Sets *path to the file of an adapter, which the caller frees. */
static bool
locate(char **path, const char *arg, struct err *err)
{
    struct stat st;
    char shown[STR_SHOWN];
    *path = NULL;
    if (strcmp(arg, "-") == 0)
        return err_set(err, ERR_USAGE, "--adapter: an adapter cannot come from standard input: give a file");
    if (stat(arg, &st) != 0)
        return err_sys(err, ERR_OPEN, errno, "adapter %s", str_shown(shown, arg, strlen(arg)));
    if (S_ISREG(st.st_mode))
        return (*path = strdup(arg)) != NULL || err_memory(err, strlen(arg) + 1);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_USAGE, "--adapter: %s is not a regular file", str_shown(shown, arg, strlen(arg)));
    return find_usual(path, arg, err) && (*path || find_only(path, arg, err));
}

static const char config_name[] = "adapter_config.json";

/* Returns true for a file that adapter_config.json accompanies. */
static bool
is_configured(const char *path)
{
    for (size_t i = 0; i < CONFIGURED; i++)
        if (strcmp(usual[i], folder_name(path)) == 0)
            return true;
    return false;
}

bool
adapter_in_directory(char **file, const char *operand, struct err *err)
{
    static const char *const whole[] = { "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "model.gguf" };
    mode_t type = 0;
    *file = NULL;
    if (operand && !file_type(&type, operand, stat, err))
        return false;
    if (type != S_IFDIR)
        return true;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        bool model;
        if (!exists(&model, operand, strlen(operand), whole[i], err))
            return false;
        if (model)
            return true;
    }
    return find_usual(file, operand, err);
}

/* Returns true if tensors are named as factors are: a third of them can be alphas. */
static bool
has_factors(const struct catalog *c)
{
    size_t factors = 0;
    for (size_t i = 0; i < catalog_count(c); i++)
        factors += adapter_names_factor(catalog_at(c, i));
    return factors != 0 && factors >= catalog_count(c) / 3;
}

bool
adapter_has_towers(const struct catalog *c)
{
    for (size_t i = 0; i < catalog_count(c); i++)
        if (towers_of(catalog_at(c, i)->name, catalog_at(c, i)->name_len) != TOWER_NONE)
            return true;
    return false;
}

bool
adapter_recognize(bool *is, const struct catalog *c, const char *file, struct err *err)
{
    const struct meta *type = catalog_meta_find(c, "general.type");
    mode_t mode = 0;
    size_t n = 0;
    const char *word = NULL;
    if (type)
        word = meta_bytes(&type->value, &n);
    *is = false;
    if (file && !file_type(&mode, file, stat, err))
        return false;
    if (mode != S_IFREG)
        return true;
    if (is_configured(file) && !exists(is, file, folder_len(file), config_name, err))
        return false;
    *is = *is || (word && str_is(word, n, "adapter"));
    *is = *is || has_factors(c);
    return true;
}

/* Reads adapter_config.json beside the file, if the file has one of the names that it accompanies. */
static bool
read_config(struct adapter *a, const struct adapter_job *job, struct err *err)
{
    struct source *src = NULL;
    const char *text;
    size_t n;
    bool there = false;
    if (is_configured(a->path) && !exists(&there, a->path, folder_len(a->path), config_name, err))
        return false;
    if (!there)
        return true;
    char *path = folder_path(a->path, folder_len(a->path), config_name, err);
    if (!path)
        return false;
    bool ok = small_file_open(&src, path, false, SMALL_FILE_MAX, catalog_budget(job->model->catalog),
        "bytes of adapter_config.json", &text, &n, &a->file.inputs, err) && tree_read(&a->config, text, n, config_name, err);
    if (!ok) {
        char shown[STR_SHOWN];
        err_in_file(err, str_shown(shown, path, strlen(path)));
    }
    source_close(src);
    free(path);
    return ok;
}

/* Decides which of the families the adapter belongs to. */
static bool
find_family(struct adapter *a, struct err *err)
{
    const struct meta *type = catalog_meta_find(a->file.catalog, "general.type");
    if (strcmp(catalog_facts_of(a->file.catalog)->format, "GGUF") == 0) {
        size_t n;
        const char *p = NULL;
        if (type)
            p = meta_bytes(&type->value, &n);
        a->family = ADAPTER_GGUF;
        return (p && type->value.type == META_STRING && str_is(p, n, "adapter")) || err_set(err, ERR_MALFORMED, "not an adapter: its general.type is not \"adapter\"");
    }
    if (!a->config)
        a->family = ADAPTER_SINGLE;
    else if (json_object_get(a->config, "fine_tune_type") || json_object_get(a->config, "lora_parameters"))
        a->family = ADAPTER_MLX;
    else
        a->family = ADAPTER_PEFT;
    if (a->family == ADAPTER_PEFT && !json_object_get(a->config, "peft_type") && json_is_number(json_object_get(a->config, "rank"))
            && json_is_number(json_object_get(a->config, "alpha")))
        return err_set(err, ERR_UNSUPPORTED, "an adapter of mlx-vlm (rank and alpha, factors .A and .B) is not merged: "
            "versions of mlx-vlm differ in whether its scale is alpha or alpha / rank; fuse it with the version that trained it");
    return a->family != ADAPTER_PEFT || json_object_get(a->config, "peft_type") || err_set(err, ERR_MALFORMED,
        "adapter_config.json has no peft_type");
}

bool
adapter_open(struct adapter *a, const struct adapter_argument *arg, const struct adapter_job *job, struct err *err)
{
    const struct model_options how = { .limits = job->limits, .config = "none" };
    char *path, shown[STR_SHOWN];
    *a = (struct adapter){ .c = arg->scale };
    if (!locate(&path, arg->path, err))
        return false;
    a->path = path;
    a->shown = strdup(str_shown(shown, path, strlen(path)));
    size_t n = folder_len(path);
    if (n != 0)
        a->folder = strndup(path, n);
    else
        a->folder = strdup(".");
    if (!a->shown || !a->folder)
        return err_memory(err, n + sizeof shown);
    bool ok = model_open(&a->file, path, &how, err) && (source_seekable(a->file.src[0]) || err_set(err, ERR_UNSUPPORTED, "compressed adapters are not supported: decompress the file first"))
        && model_spool(&a->file, err) && read_config(a, job, err)
        && exists(&a->tokenizer, path, n, "tokenizer_config.json", err) && find_family(a, err)
        && model_join(job->model, &a->file, &a->first, err);
    return ok || err_in_file(err, a->shown);
}

void
adapter_clear(struct adapter *a)
{
    model_clear(&a->file);
    json_decref(a->config);
    json_decref(a->towers);
    table_clear(&a->names);
    free(a->module);
    free(a->shown);
    free(a->folder);
    free((void *)a->path);
    *a = (struct adapter){ 0 };
}
