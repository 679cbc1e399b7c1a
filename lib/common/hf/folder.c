#include "hf/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "base/pull.h"
#include "source/small_file.h"

enum { TOKENIZER_MAX = 64 << 20 };      /* maximum size of tokenizer.json and the like */

static const char *const names[HF_FILES] = {
    [HF_CONFIG] = "config.json", [HF_GENERATION] = "generation_config.json", [HF_TOKENIZER] = "tokenizer.json",
    [HF_TOKENIZER_CONFIG] = "tokenizer_config.json", [HF_SENTENCEPIECE] = "tokenizer.model",
    [HF_ADDED_TOKENS] = "added_tokens.json", [HF_MERGES] = "merges.txt", [HF_TEMPLATE] = "chat_template.jinja",
    [HF_TEMPLATE_JSON] = "chat_template.json", [HF_TEKKEN] = "tekken.json",
    [HF_README] = "README.md", [HF_VOCAB_JSON] = "vocab.json", [HF_TIKTOKEN] = "tiktoken.model",
    [HF_SPIECE] = "spiece.model", [HF_FAIRSEQ] = "sentencepiece.bpe.model",
    [HF_WORLD] = "rwkv_vocab_v20230424.txt", [HF_LINES] = "tokenizer.jsonl",
};

const char *
hf_file_name(enum hf_file file)
{
    return names[file];
}

const struct catalog_config *
hf_folder_config(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog_config_count(catalog); i++)
        if (strcmp(catalog_config_at(catalog, i)->name, names[HF_CONFIG]) == 0)
            return catalog_config_at(catalog, i);
    return NULL;
}

bool
hf_folder_is_copied(const char *name, bool quantization)
{
    static const char *const weights[] = { ".safetensors", ".index.json", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".npz",
        ".npy", ".h5", ".msgpack", ".onnx", ".onnx_data", ".tflite", ".gz", ".zst", ".xz" };
    static const char *const quantizers[] = { "hf_quant_config.json", "quantization_config.json", "quantize_config.json",
        "quant_config.json", "quanto_qmap.json", "ternary.json" };
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (str_ends(name, weights[i]))
            return false;
    if (quantization && str_begins(name, CATALOG_DESCRIPTION) && str_ends(name, ".json"))
        return false;
    for (size_t i = 0; quantization && i < sizeof quantizers / sizeof *quantizers; i++)
        if (strcmp(name, quantizers[i]) == 0)
            return false;
    return name[0] != '.' && strcmp(name, names[HF_CONFIG]) != 0;
}

const char *
hf_folder_usual(size_t i)
{
    static const char *const more[] = { HF_MODULE_LIST, "config_sentence_transformers.json", "sentence_bert_config.json",
        "special_tokens_map.json", "vocab.txt", "preprocessor_config.json", "processor_config.json",
        "video_preprocessor_config.json",
        "hf_quant_config.json", "quantization_config.json", "quantize_config.json", "quant_config.json" };
    if (i < HF_FILES - 1)
        return names[HF_CONFIG + 1 + i];
    if (i - (HF_FILES - 1) < sizeof more / sizeof *more)
        return more[i - (HF_FILES - 1)];
    return NULL;
}

bool
hf_folder_is_usual(const char *name)
{
    const char *usual;
    for (size_t i = 0; (usual = hf_folder_usual(i)) != NULL; i++)
        if (strcmp(name, usual) == 0)
            return true;
    return str_ends(name, ".py") && strcmp(name, "zero_to_fp32.py") != 0;       /* DeepSpeed puts that one into every checkpoint */
}

/* Adds the folder that the next value, a path, names. */
static bool
add_module(struct names *folders, struct pull *json, struct err *err)
{
    const struct pull_text *path = &json->token;
    if (pull_next(json) != PULL_STRING || path->n == 0 || path->escaped || path->p[0] == '.' || memchr(path->p, '/', path->n))
        return true;
    return names_add(folders, path->p, path->n, err);
}

bool
hf_folder_modules(struct names *folders, const char *text, size_t n, struct err *err)
{
    struct pull json;
    enum pull_token t;
    bool ok = true;
    pull_init(&json, text, n, 0);
    if (pull_next(&json) != PULL_ARRAY)
        return true;
    while (ok && (t = pull_next(&json)) != PULL_END && t != PULL_BAD)
        if (t == PULL_KEY && pull_text_is(&json.token, "path"))
            ok = add_module(folders, &json, err);
    names_sort(folders);
    return ok;
}

bool
hf_folder_is_tokenizer(const char *name)
{
    static const char *const files[] = { "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json",
        "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt", "spiece.model", "sentencepiece.bpe.model",
        "rwkv_vocab_v20230424.txt", "tokenizer.jsonl" };
    static const char *const starts[] = { "chat_template.", HF_TEMPLATES "/" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(name, files[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (str_begins(name, starts[i]))
            return true;
    return false;
}

/* The catalog already has the config to use, from whichever file. */
bool
hf_folder_init(struct hf_folder *folder, const struct catalog *catalog)
{
    *folder = (struct hf_folder){ 0 };
    for (unsigned i = 0; i < HF_FILES; i++)
        folder->file[i].name = names[i];
    const struct catalog_config *config = hf_folder_config(catalog);
    if (config) {
        folder->file[HF_CONFIG].p = config->text;
        folder->file[HF_CONFIG].n = config->n;
    }
    return config != NULL;
}

static bool
open_one(struct hf_folder *folder, enum hf_file i, const char *path, struct model *model, struct err *err)
{
    bool exists;
    if (!small_file_exists(&exists, path, &model->inputs, err))
        return false;
    return !exists || small_file_open(&folder->src[i], path, false, TOKENIZER_MAX, catalog_budget(model->catalog), names[i],
        &folder->file[i].p, &folder->file[i].n, &model->inputs, err);
}

/* Lists the *.jinja files of a directory, sorted by name. A missing directory has none. */
static bool
list_templates(struct names *names, const char *path, struct err *err)
{
    DIR *d = opendir(path);
    const char *name;
    bool ok = true;
    if (!d)
        return errno == ENOENT || errno == ENOTDIR || err_set(err, ERR_OPEN, "%s: %s", path, strerror(errno));
    while (ok && (name = folder_next(d, err)) != NULL)
        if (strlen(name) > 6 && str_ends(name, ".jinja"))
            ok = names->n < HF_TEMPLATES_MAX ? names_add(names, name, strlen(name), err)
                : err_set(err, ERR_LIMIT, "%s has more than %d templates", path, HF_TEMPLATES_MAX);
    closedir(d);
    names_sort(names);
    return ok && err->kind == ERR_NONE;
}

static bool
open_templates(struct hf_folder *folder, struct model *model, const char *path, struct err *err)
{
    if (!list_templates(&folder->names, path, err))
        return false;
    folder->templates = calloc(folder->names.n + 1, sizeof *folder->templates);
    if (!folder->templates)
        return err_memory(err, folder->names.n * sizeof *folder->templates);
    bool ok = true;
    for (size_t i = 0; ok && i < folder->names.n; i++) {
        struct hf_named_template *t = &folder->templates[folder->ntemplates++];
        char *file = folder_path(path, strlen(path), folder->names.name[i], err);
        t->text.name = folder->names.name[i];
        ok = file && small_file_open(&t->src, file, false, TOKENIZER_MAX, catalog_budget(model->catalog), t->text.name,
            &t->text.p, &t->text.n, &model->inputs, err);
        free(file);
    }
    return ok;
}

/* Warns which files were fetched: a command that fails for another reason looks like a missing file. */
static bool
name_fetched(const struct hf_folder *folder, const struct model *model, struct err *err)
{
    struct str list = { 0 };
    for (unsigned i = HF_CONFIG + 1; i < HF_FILES; i++)
        if (folder->src[i])
            str_format(&list, "%s%s", list.len ? ", " : "", names[i]);
    bool ok = !list.failed || err_memory(err, list.len);
    if (ok)
        catalog_warn(model->catalog, "fetched besides config.json: %s; other files count as absent", list.len ? list.p : "nothing");
    str_clear(&list);
    return ok;
}

bool
hf_folder_open(struct hf_folder *folder, struct model *model, const char *tokenizer, struct err *err)
{
    bool ok = true;
    hf_folder_init(folder, model->catalog);
    for (unsigned i = HF_CONFIG + 1; ok && i < HF_FILES; i++) {
        const char *in = tokenizer && hf_folder_is_tokenizer(names[i]) ? tokenizer : model->folder;
        char *path = folder_path(in, strlen(in), names[i], err);
        ok = path && open_one(folder, i, path, model, err);
        free(path);
    }
    const char *in = tokenizer;
    if (!tokenizer)
        in = model->folder;
    char *path = NULL;
    if (ok)
        path = folder_path(in, strlen(in), HF_TEMPLATES, err);
    ok = path != NULL;
    /* The converter ignores them without a template. A fetched directory cannot be listed. */
    if (ok && folder->file[HF_TEMPLATE].p && !inputs_fetch(&model->inputs, path))
        ok = open_templates(folder, model, path, err);
    free(path);
    return ok && (!model->inputs.fetch || name_fetched(folder, model, err));
}

void
hf_folder_close(struct hf_folder *folder)
{
    for (unsigned i = 0; i < HF_FILES; i++)
        source_close(folder->src[i]);
    for (size_t i = 0; i < folder->ntemplates; i++)
        source_close(folder->templates[i].src);
    free(folder->templates);
    names_clear(&folder->names);
    *folder = (struct hf_folder){ 0 };
}
