#include "output/side_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "base/folder.h"
#include "hf/config_text.h"
#include "hf/folder.h"
#include "sink/sink.h"
#include "source/small_file.h"

enum {
    STEP = 256 << 10,
    FETCHED_MAX = 64 << 20              /* maximum size of a fetched file */
};

#define TEMPLATES HF_TEMPLATES "/"

/* --- one file */

static bool
copy(struct source *src, struct sink *sink, struct err *err)
{
    uint64_t n, size = source_size(src);
    uint8_t *buf = malloc(STEP);
    if (!buf)
        return err_memory(err, STEP);
    bool ok = true;
    for (uint64_t at = 0; ok && at < size; at += n) {
        n = num_min(STEP, size - at);
        ok = source_read(src, at, buf, (size_t)n, err) && sink_write(sink, buf, (size_t)n, err);
    }
    free(buf);
    return ok;
}

/* Writes a file of the directory: `size` bytes of a text or a source. */
static bool
write_file(const struct side_files *f, const char *name, const char *text, struct source *src, uint64_t size, struct err *err)
{
    struct sink *sink = NULL;
    char *path = folder_path(f->to, strlen(f->to), name, err);
    const struct sink_options options = { .path = path, .direct = SINK_DIRECT_NEVER, .sync = true };
    bool ok = path && outputs_open(f->outputs, &sink, &options, err) && sink_expect(sink, size, err);
    if (ok)
        ok = src ? copy(src, sink, err) && source_unchanged(src, err) : size == 0 || sink_write(sink, text, (size_t)size, err);
    ok = ok && outputs_commit(f->outputs, sink, err);
    sink_close(sink);
    free(path);
    return ok;
}

/* Returns the directory from which a file is copied. */
static const char *
folder_of(const struct side_files *f, const char *name)
{
    if (f->tokenizer && hf_folder_is_tokenizer(name))
        return f->tokenizer;
    return f->model->folder;
}

/* Copies a file; through memory if it is fetched, because its size is then unknown. */
static bool
copy_file(const struct side_files *f, const char *name, struct err *err)
{
    const char *folder = folder_of(f, name);
    struct model *m = f->model;
    struct source *src = NULL;
    const char *text = NULL;
    size_t n = 0;
    bool ok;
    char *from = folder_path(folder, strlen(folder), name, err);
    if (from && inputs_fetch(&m->inputs, from))
        ok = small_file_open(&src, from, false, FETCHED_MAX, catalog_budget(m->catalog), name, &text, &n, &m->inputs, err)
            && write_file(f, name, text, NULL, n, err);
    else
        ok = from && source_open(&src, from, false, &m->inputs, err) && write_file(f, name, NULL, src, source_size(src), err);
    source_close(src);
    free(from);
    return ok;
}

/* --- selection */

/* Returns true for a file of the training job that left a checkpoint in the model's directory. */
static bool
is_of_job(const struct side_files *f, const char *folder, const char *name)
{
    return folder == f->model->folder && f->model->trained && !strchr(name, '/') && !hf_folder_is_usual(name);
}

/* Lists a file to copy. Opens it once, so that a file that cannot be read is an error before any work is done. */
static bool
find_entry(struct side_files *f, const char *folder, const char *name, struct err *err)
{
    struct model *m = f->model;
    struct stat st;
    struct source *src = NULL;
    char shown[STR_SHOWN];
    char *path = folder_path(folder, strlen(folder), name, err);
    bool there = path && stat(path, &st) == 0, ok = path != NULL;
    bool is_folder = there && S_ISDIR(st.st_mode);
    if (ok && !is_folder && is_of_job(f, folder, name))
        ok = names_add(&f->left, name, strlen(name), err);
    else if (there && S_ISREG(st.st_mode) && (uint64_t)st.st_size > SIDE_FILE_MAX)
        catalog_note(m->catalog, "%s is not copied: larger than 256 MiB", str_shown(shown, name, strlen(name)));
    else if (ok && !is_folder)
        ok = source_open(&src, path, false, &m->inputs, err) && names_add(&f->names, name, strlen(name), err);
    source_close(src);
    free(path);
    return ok;
}

/* Returns true if a file of a directory is copied. `in` is "", or the directory of the templates or of a module with a slash;
 * `entry` is the name with it. */
static bool
is_copied(const struct side_files *f, const char *folder, const char *in, const char *name, const char *entry)
{
    if (folder != folder_of(f, entry))
        return false;
    if (strcmp(in, TEMPLATES) == 0)
        return str_ends(name, ".jinja");
    if (*in)
        return name[0] != '.';
    return hf_folder_is_copied(name, f->decodes || f->quantization);
}

/* Lists the files of one directory. */
static bool
find_in(struct side_files *f, const char *folder, const char *in, struct err *err)
{
    const char *name;
    char *path = folder_path(folder, strlen(folder), in, err);
    struct bundle_list l = { 0 };
    bool there = path && bundle_list_open(&l, path, &f->model->inputs);
    bool ok = path && (there || (*in && err_absent(errno)) || err_sys(err, ERR_OPEN, errno, "%s", in));
    while (ok && there && (name = bundle_list_next(&l, err)) != NULL) {
        struct str entry = { 0 };
        str_format(&entry, "%s%s", in, name);
        ok = (!entry.failed || err_memory(err, entry.len)) && (!is_copied(f, folder, in, name, entry.p) || find_entry(f, folder, entry.p, err));
        str_clear(&entry);
    }
    bundle_list_close(&l);
    free(path);
    return ok && err->kind == ERR_NONE;
}

/* Lists a file of a fetched directory if it exists. */
static bool
find_fetched(struct side_files *f, const char *name, struct err *err)
{
    struct model *m = f->model;
    char *path = folder_path(m->folder, strlen(m->folder), name, err);
    bool exists = false;
    bool ok = path && small_file_exists(&exists, path, &m->inputs, err)
        && (!exists || names_add(&f->names, name, strlen(name), err));
    free(path);
    return ok;
}

/* Lists the files of a module. A fetched one has the usual ones: its configuration, and weights. */
static bool
find_module(struct side_files *f, const char *module, struct err *err)
{
    static const char *const usual[] = { "config.json", "model.safetensors", "pytorch_model.bin" };
    struct model *m = f->model;
    struct str in = { 0 };
    str_format(&in, "%s/", module);
    bool ok = !in.failed || err_memory(err, in.room);
    if (ok && !m->inputs.fetch)
        ok = find_in(f, m->folder, in.p, err);
    for (size_t i = 0; ok && m->inputs.fetch && i < sizeof usual / sizeof *usual; i++) {
        in.len = strlen(module) + 1;
        str_text(&in, usual[i]);
        ok = in.failed ? err_memory(err, in.room) : find_fetched(f, in.p, err);
    }
    str_clear(&in);
    return ok;
}

/* Lists the files of the folders that modules.json names. They are copied unchanged. */
static bool
find_modules(struct side_files *f, struct err *err)
{
    struct model *m = f->model;
    struct source *src = NULL;
    struct names modules = { 0 };
    const char *text;
    size_t n;
    char *path = folder_path(m->folder, strlen(m->folder), HF_MODULE_LIST, err);
    bool there = false, ok = path && small_file_exists(&there, path, &m->inputs, err);
    if (ok && there)
        ok = small_file_open(&src, path, false, SMALL_FILE_MAX, catalog_budget(m->catalog), HF_MODULE_LIST, &text, &n, &m->inputs, err)
            && hf_folder_modules(&modules, text, n, err);
    for (size_t i = 0; ok && i < modules.n; i++)
        ok = find_module(f, modules.name[i], err);
    source_close(src);
    names_clear(&modules);
    free(path);
    return ok;
}

/* Lists the files of a fetched directory that have usual names. */
static bool
find_usual(struct side_files *f, struct err *err)
{
    struct model *m = f->model;
    const char *name;
    bool ok = true;
    for (size_t i = 0; ok && (name = hf_folder_usual(i)) != NULL; i++)
        ok = !is_copied(f, m->folder, "", name, name) || find_fetched(f, name, err);
    ok = ok && find_modules(f, err);
    catalog_warn(m->catalog, "a fetched directory cannot be listed: copied are %zu files with usual names, such as tokenizer.json",
        f->names.n);
    return ok;
}

bool
side_files_find(struct side_files *f, struct err *err)
{
    const char *folder = f->model->folder, *tokenizer = f->tokenizer;
    char shown[STR_SHOWN];
    bool ok = true;
    if (!f->texts && folder)
        ok = f->model->inputs.fetch ? find_usual(f, err) : find_in(f, folder, "", err) && find_in(f, folder, TEMPLATES, err)
            && find_modules(f, err);
    ok = ok && (!tokenizer || (find_in(f, tokenizer, "", err) && find_in(f, tokenizer, TEMPLATES, err)));
    names_sort(&f->names);
    names_sort(&f->left);
    if (ok && f->left.n != 0)
        catalog_tell(f->model->catalog, "not copied: files of the training job, %zu in all (the first is %s)", f->left.n,
            str_shown(shown, f->left.name[0], strlen(f->left.name[0])));
    return ok;
}

bool
side_files_write_one(const struct side_files *f, const char *name, const struct str *text, struct err *err)
{
    return write_file(f, name, text->p, NULL, text->len, err);
}

static bool
write_config(const struct side_files *f, const struct catalog_config *config, struct err *err)
{
    struct str text = { 0 };
    bool ok = hf_config_text(&text, config, f->decodes, f->quantization, err)
        && side_files_write_one(f, config->name, &text, err);
    str_clear(&text);
    return ok;
}

/* Returns true if the loader of the quantized weights reads another file. */
static bool
has_file(const struct side_files *f)
{
    return f->quantization && f->quantization->file;
}

bool
side_files_add_one(const struct side_files *f, const char *name, struct err *err)
{
    char *path = folder_path(f->to, strlen(f->to), name, err);
    bool ok = path && outputs_add(f->outputs, path, err);
    free(path);
    return ok;
}

/* Returns true for a text of a tokenizer if another directory's tokenizer is copied. */
static bool
is_replaced(const struct side_files *f, const char *name)
{
    return f->tokenizer && hf_folder_is_tokenizer(name);
}

bool
side_files_add(const struct side_files *f, struct err *err)
{
    const struct catalog_config *config = hf_folder_config(f->model->catalog);
    bool ok = !config || side_files_add_one(f, config->name, err);
    if (ok && has_file(f))
        ok = side_files_add_one(f, f->quantization->file, err);
    for (size_t i = 0; ok && f->texts && i < f->texts->n; i++)
        ok = is_replaced(f, f->texts->list[i].name) || side_files_add_one(f, f->texts->list[i].name, err);
    for (size_t i = 0; ok && i < f->names.n; i++)
        ok = side_files_add_one(f, f->names.name[i], err);
    return ok;
}

/* Creates the directory inside the output that a file needs, if its name has one. */
static bool
make_folder(const struct side_files *f, const char *name, struct err *err)
{
    const char *slash = strchr(name, '/');
    if (!slash || f->outputs->compares)
        return true;
    char *path = folder_path(f->to, strlen(f->to), name, err);
    if (path)
        path[strlen(path) - strlen(slash)] = '\0';
    bool ok = path && (mkdir(path, 0777) == 0 || errno == EEXIST || err_sys(err, ERR_CREATE, errno, "%.*s", (int)(slash - name),
        name));
    free(path);
    return ok;
}

static bool
make_folders(const struct side_files *f, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && f->texts && i < f->texts->n; i++)
        ok = make_folder(f, f->texts->list[i].name, err);
    for (size_t i = 0; ok && i < f->names.n; i++)
        ok = make_folder(f, f->names.name[i], err);
    return ok;
}

bool
side_files_write(const struct side_files *f, struct err *err)
{
    const struct catalog_config *config = hf_folder_config(f->model->catalog);
    bool ok = (!config || write_config(f, config, err)) && make_folders(f, err);
    if (ok && has_file(f))
        ok = side_files_write_one(f, f->quantization->file, &f->quantization->file_text, err);
    for (size_t i = 0; ok && f->texts && i < f->texts->n; i++)
        ok = is_replaced(f, f->texts->list[i].name) || side_files_write_one(f, f->texts->list[i].name, &f->texts->list[i].text, err);
    for (size_t i = 0; ok && i < f->names.n; i++)
        ok = copy_file(f, f->names.name[i], err);
    return ok;
}

void
side_files_clear(struct side_files *f)
{
    names_clear(&f->names);
    names_clear(&f->left);
}
