#include "pipeline/side_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "container/folder.h"
#include "sink/sink.h"
#include "writer/plain_config.h"

enum { STEP = 256 << 10 };

/* --- one file */

/* A sink for a file of the directory that is none of the model's own. */
static bool
open_sink(struct sink **sink, const struct model *m, const char *to, const char *name, struct err *err)
{
    uint64_t dev, ino;
    char *path = folder_path(to, strlen(to), name, err);
    const struct sink_options options = { .path = path, .direct = SINK_DIRECT_NEVER, .sync = true };
    bool ok = path && sink_open(sink, &options, err)
        && (!sink_identity(*sink, &dev, &ino) || model_spares(m, dev, ino, err));
    free(path);
    return ok;
}

static bool
write_text(const struct model *m, const char *to, const char *name, const struct str *text, struct err *err)
{
    struct sink *sink = NULL;
    bool ok = open_sink(&sink, m, to, name, err) && sink_expect(sink, text->len, err)
        && (text->len == 0 || sink_write(sink, text->p, text->len, err)) && sink_commit(sink, err);
    sink_close(sink);
    return ok;
}

static bool
copy(struct source *src, struct sink *sink, struct err *err)
{
    uint64_t n, size = source_size(src);
    uint8_t *buf = malloc(STEP);
    if (!buf)
        return err_memory(err, STEP);
    bool ok = sink_expect(sink, size, err);
    for (uint64_t at = 0; ok && at < size; at += n) {
        n = num_min(STEP, size - at);
        ok = source_read(src, at, buf, (size_t)n, err) && sink_write(sink, buf, (size_t)n, err);
    }
    free(buf);
    return ok;
}

static bool
copy_file(struct model *m, const char *from, const char *to, const char *name, struct err *err)
{
    struct source *src = NULL;
    struct sink *sink = NULL;
    bool ok = source_open(&src, from, false, &m->inputs, err) && open_sink(&sink, m, to, name, err)
        && copy(src, sink, err) && source_unchanged(src, err) && sink_commit(sink, err);
    sink_close(sink);
    source_close(src);
    return ok;
}

/* --- which */

/* Weights, whoever reads them; indices of their files; hidden names. */
static bool
is_left(const char *name)
{
    static const char *const endings[] = { ".safetensors", ".index.json", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".npz",
        ".npy", ".h5", ".msgpack", ".onnx", ".onnx_data", ".tflite", ".gz", ".zst", ".xz" };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_ends(name, endings[i]))
            return true;
    return name[0] == '.';
}

/* What would no longer be true of weights that are decoded: the configs of quantizers. */
static bool
is_about_quantization(const char *name)
{
    static const char *const names[] = { "hf_quant_config.json", "quantization_config.json", "quantize_config.json",
        "quant_config.json", "quanto_qmap.json" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool
copy_entry(struct model *m, const char *name, const char *to, struct err *err)
{
    struct stat st;
    char shown[STR_SHOWN];
    char *path = folder_path(m->folder, strlen(m->folder), name, err);
    if (!path)
        return false;
    bool regular = stat(path, &st) == 0 && S_ISREG(st.st_mode), ok = true;
    if (regular && (uint64_t)st.st_size > SIDE_FILE_MAX)
        catalog_note(m->catalog, "%s is not copied: it is longer than 256 MiB", str_shown(shown, name, strlen(name)));
    else if (regular)
        ok = copy_file(m, path, to, name, err);
    free(path);
    return ok;
}

static bool
copy_entries(struct model *m, const char *to, bool decodes, struct err *err)
{
    DIR *d = opendir(m->folder);
    const char *name;
    bool ok = true;
    if (!d)
        return err_sys(err, ERR_OPEN, errno, "the directory cannot be read");
    while (ok && (name = folder_next(d, err)) != NULL)
        if (!is_left(name) && strcmp(name, "config.json") != 0 && !(decodes && is_about_quantization(name)))
            ok = copy_entry(m, name, to, err);
    closedir(d);
    return ok && err->kind == ERR_NONE;
}

/* Copies the chat templates that have names: a directory of the tokenizer, which has no other. */
static bool
copy_templates(struct model *m, const char *to, struct err *err)
{
    char *from = folder_path(m->folder, strlen(m->folder), SIDE_FILES_TEMPLATES, err);
    char *made = folder_path(to, strlen(to), SIDE_FILES_TEMPLATES, err);
    DIR *d = from && made ? opendir(from) : NULL;
    const char *name;
    bool ok = from && made;
    if (d && mkdir(made, 0777) != 0 && errno != EEXIST)
        ok = err_sys(err, ERR_CREATE, errno, "the directory cannot be made");
    while (ok && d && (name = folder_next(d, err)) != NULL) {
        struct str path = { 0 };
        str_format(&path, SIDE_FILES_TEMPLATES "/%s", name);
        ok = !path.failed || err_memory(err, path.len);
        if (ok && str_ends(name, ".jinja"))
            ok = copy_entry(m, path.p, to, err);
        str_clear(&path);
    }
    if (d)
        closedir(d);
    free(from);
    free(made);
    return ok && err->kind == ERR_NONE;
}

static bool
add_quantization(struct str *text, const struct model_config *q, struct err *err)
{
    return quantized_config_text(text, "quantization_config", &q->quantization, err)
        && (!q->too || quantized_config_text(text, q->too, &q->quantization, err));
}

/* config.json as the catalog keeps it: that of the directory, beside the file, or named. */
static bool
write_config(struct model *m, const char *to, bool decodes, const struct model_config *quantization,
    struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < catalog_config_count(m->catalog); i++) {
        const struct catalog_config *config = catalog_config_at(m->catalog, i);
        struct str text = { 0 };
        if (strcmp(config->name, "config.json") != 0)
            continue;
        if (decodes || quantization)
            ok = plain_config_text(&text, config->text, config->n, err);
        else
            str_add(&text, config->text, config->n);
        ok = ok && (!quantization || add_quantization(&text, quantization, err));
        ok = ok && (!text.failed || err_memory(err, text.room)) && write_text(m, to, config->name, &text, err);
        str_clear(&text);
    }
    return ok;
}

bool
side_files_write(struct model *m, const char *to, bool decodes, const struct model_config *quantization,
    struct err *err)
{
    return write_config(m, to, decodes, quantization, err)
        && (!m->folder || (copy_entries(m, to, decodes || quantization, err) && copy_templates(m, to, err)));
}
