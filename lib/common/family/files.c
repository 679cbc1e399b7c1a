/* Values from other files of the directory than config.json. */
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "base/pull.h"
#include "base/tree.h"
#include "family/config_priv.h"
#include "hf/member.h"
#include "source/small_file.h"

static bool
has_file(void *of, const char *name)
{
    const struct family_config *c = of;
    for (unsigned i = 0; i < HF_FILES; i++)
        if (strcmp(hf_file_name((enum hf_file)i), name) == 0)
            return c->files >> i & 1;
    return false;
}

/* --- file.pooling */

/* Returns the name of the folder of the first module of type Pooling, or NULL. Only a folder of this directory is one. */
static const char *
pooling_path(const json_t *modules)
{
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const json_t *one = json_array_get(modules, i);
        const char *type = json_string_value(json_object_get(one, "type"));
        const char *path = json_string_value(json_object_get(one, "path"));
        if (type && str_ends(type, "Pooling"))
            return path && *path != '\0' && *path != '.' && !strchr(path, '/') ? path : NULL;
    }
    return NULL;
}

/* Returns llama.cpp's number of a kind of pooling, or 0. */
static unsigned
pooling_kind(const json_t *config)
{
    static const struct {
        const char *member, *word;
    } kinds[] = { { "pooling_mode_mean_tokens", "mean" }, { "pooling_mode_cls_token", "cls" },
        { "pooling_mode_lasttoken", "lasttoken" } };
    for (unsigned i = 0; i < 3; i++)
        if (json_is_true(json_object_get(config, kinds[i].member)))
            return i + 1;
    for (unsigned i = 0; i < 3; i++)
        if (config_is(json_object_get(config, "pooling_mode"), kinds[i].word))
            return i + 1;
    return 0;
}

/* Reads a JSON file of the folder. *root is NULL if it does not exist. */
static bool
read_tree(json_t **root, struct model *model, const char *path, struct err *err)
{
    struct source *src = NULL;
    const char *text = NULL;
    size_t n = 0;
    char *full = folder_path(model->folder, strlen(model->folder), path, err);
    bool exists = false, ok = full && small_file_exists(&exists, full, &model->inputs, err);
    *root = NULL;
    if (exists) {
        ok = small_file_open(&src, full, false, SMALL_FILE_MAX, catalog_budget(model->catalog), path, &text, &n,
            &model->inputs, err);
        /* modules.json is a list, which tree_read() takes as a member. */
        struct str wrapped = { 0 };
        str_text(&wrapped, "{\"x\":");
        str_add(&wrapped, text, ok ? n : 0);
        str_text(&wrapped, "}");
        ok = ok && (!wrapped.failed || err_memory(err, wrapped.room)) && tree_read(root, wrapped.p, wrapped.len, path, err);
        str_clear(&wrapped);
        source_close(src);
    }
    free(full);
    return ok;
}

/* Warns of modules that GGUF has no place for. */
static void
warn_of_modules(const json_t *modules, struct model *model)
{
    static const char *const held[] = { "Transformer", "Pooling", "Normalize" };
    char shown[STR_SHOWN];
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const char *type = json_string_value(json_object_get(json_array_get(modules, i), "type"));
        size_t k = 0;
        while (type && k < sizeof held / sizeof *held && !str_ends(type, held[k]))
            k++;
        if (type && k == sizeof held / sizeof *held)
            catalog_warn(model->catalog, "module %s of modules.json is left out, so embeddings made with the output differ",
                str_shown(shown, type, strlen(type)));
    }
}

static bool
read_pooling(struct family_config *c, struct model *model, struct err *err)
{
    json_t *modules, *config = NULL;
    struct str path = { 0 };
    if (!model->folder)
        return true;
    if (!read_tree(&modules, model, "modules.json", err))
        return false;
    const char *folder = pooling_path(json_object_get(modules, "x"));
    bool ok = true;
    warn_of_modules(json_object_get(modules, "x"), model);
    if (folder) {
        str_format(&path, "%s/config.json", folder);
        if (path.failed)
            ok = err_memory(err, path.room);
        else
            ok = read_tree(&config, model, path.p, err);
    }
    unsigned kind = pooling_kind(json_object_get(config, "x"));
    if (ok && config && kind == 0)
        ok = err_set(err, ERR_UNSUPPORTED, "%s: found another pooling than mean, cls or lasttoken", path.p);
    if (ok && kind != 0)
        ok = config_set(c->file, "pooling", json_integer(kind), err);
    str_clear(&path);
    json_decref(modules);
    json_decref(config);
    return ok;
}

/* --- preprocessor */

/* Adds the members of a file of the folder, over those before it, and the members of one of its objects. */
static bool
read_preprocessor(struct family_config *c, struct model *model, const char *path, const char *inner, bool *exists, struct err *err)
{
    json_t *root;
    if (!read_tree(&root, model, path, err))
        return false;
    json_t *whole = json_object_get(root, "x");
    json_t *object = json_object_get(whole, inner);
    bool ok = !whole || json_object_update(c->preprocessor, whole) == 0 || err_memory(err, 0);
    ok = ok && (!json_is_object(object) || json_object_update(c->preprocessor, object) == 0 || err_memory(err, 0));
    *exists = *exists || whole;
    json_decref(root);
    return ok;
}

/* The files say how pictures and sound are prepared for a tower. */
static bool
read_preprocessors(struct family_config *c, struct model *model, struct err *err)
{
    static const char first[] = "preprocessor_config.json", second[] = "processor_config.json";
    bool exists = false;
    c->preprocessor = json_object();
    c->scope.preprocessor = c->preprocessor;
    if (!c->preprocessor)
        return err_memory(err, 0);
    if (!read_preprocessor(c, model, first, "media_proc_cfg", &exists, err)
            || !read_preprocessor(c, model, second, "image_processor", &exists, err))
        return false;
    return exists || err_set(err, ERR_OPEN, "%s: no such file, nor %s, but family %s needs what it says", first, second,
        c->family->name);
}

/* --- file.labels */

struct file_label {
    json_int_t number;
    json_t *text;               /* borrowed */
};

static int
compare_labels(const void *a, const void *b)
{
    json_int_t x = ((const struct file_label *)a)->number, y = ((const struct file_label *)b)->number;
    return (x > y) - (x < y);
}

/* Returns the values of id2label in the order of its keys, or NULL with an error. */
static json_t *
labels_of(json_t *id2label, struct err *err)
{
    size_t n = json_object_size(id2label), i = 0;
    struct file_label *list = calloc(n + 1, sizeof *list);
    json_t *out = json_array(), *value;
    const char *key;
    bool ok = (list && out) || err_memory(err, n * sizeof *list);
    if (ok)
        json_object_foreach (id2label, key, value) {
            list[i++] = (struct file_label){ strtoll(key, NULL, 10), value };
            if (!json_is_string(value))
                ok = config_wrong("id2label", "an object of strings", err);
        }
    if (ok)
        qsort(list, n, sizeof *list, compare_labels);
    for (i = 0; ok && i < n; i++)
        ok = json_array_append(out, list[i].text) == 0 || err_memory(err, 0);
    free(list);
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

/* Returns LABEL_0 ... as transformers does for a file without id2label. */
static json_t *
numbered_labels(const struct family_config *c, struct err *err)
{
    const json_t *number = config_get(c->members, "num_labels");
    json_int_t n = 2;
    if (number)
        n = json_integer_value(number);
    json_t *out = NULL;
    if (n >= 0 && n <= SCOPE_LAYERS_MAX)
        out = json_array();
    if (!out) {
        config_wrong("num_labels", "a number of labels", err);
        return NULL;
    }
    for (json_int_t i = 0; i < n; i++)
        if (json_array_append_new(out, json_sprintf("LABEL_%d", (int)i)) != 0) {
            json_decref(out);
            err_memory(err, 0);
            return NULL;
        }
    return out;
}

static bool
read_labels(struct family_config *c, struct err *err)
{
    json_t *id2label = config_get(c->members, "id2label");
    json_t *list = json_is_object(id2label) ? labels_of(id2label, err) : numbered_labels(c, err);
    if (!list)
        return false;
    if (json_array_size(list) == 2 && config_is(json_array_get(list, 0), "LABEL_0")) {
        json_decref(list);
        return true;
    }
    return config_set(c->file, "labels", list, err);
}

/* --- the vocabulary */

/* Counts the members of an object, or the values of an array. */
static bool
count_values(uint64_t *n, const struct hf_value *of, struct err *err)
{
    struct pull json;
    enum pull_token token;
    *n = 0;
    if (hf_value_kind(of) != PULL_OBJECT && hf_value_kind(of) != PULL_ARRAY)
        return true;
    bool object = hf_value_kind(of) == PULL_OBJECT;
    hf_value_pull(&json, of);
    pull_next(&json);
    for (struct pull ahead = json; (token = pull_next(&ahead)) != PULL_OBJECT_END && token != PULL_ARRAY_END; ahead = json) {
        if (object)
            pull_next(&json);
        if (!pull_skip(&json))
            return hf_value_fault(&json, of, "a value", err);
        ++*n;
    }
    return true;
}

/* Sets the rows of the embedding that belong to tokens, for tokenizers in tokenizer.json: model.vocab and the added tokens. */
static bool
count_rows(struct family_config *c, const struct hf_folder *folder, struct err *err)
{
    static const char *const outer[] = { "model", "added_tokens" }, *const inner[] = { "vocab" };
    struct hf_value whole, parts[2], vocab;
    uint64_t n, added;
    c->scope.vocab_rows = c->vocab_size;
    if (!folder->file[HF_TOKENIZER].p || !family_uses(c->family, "vocab_rows"))
        return true;
    if (!hf_value_file(&whole, &folder->file[HF_TOKENIZER], err) || !hf_value_members(parts, outer, 2, &whole, err)
            || !hf_value_members(&vocab, inner, 1, &parts[0], err) || !count_values(&n, &vocab, err)
            || !count_values(&added, &parts[1], err))
        return false;
    c->scope.vocab_rows = n + added;
    return true;
}

/* --- tokenizer_config.json: only the members that the family uses. Some of the rest are integers beyond 64 bits, which
 * jansson refuses */

struct file_members {
    struct family_config *c;
    const struct hf_value *whole;
};

/* Reads a member of the file as a tree. A missing one stays so. */
static bool
read_member(const struct file_members *m, const char *name, struct err *err)
{
    struct hf_value value;
    struct str wrapped = { 0 };
    json_t *tree = NULL;
    if (json_object_get(m->c->tokenizer_config, name))
        return true;
    if (!hf_value_members(&value, &name, 1, m->whole, err))
        return false;
    if (!value.p)
        return true;
    str_text(&wrapped, "{\"x\":");
    str_add(&wrapped, value.p, value.n);
    str_text(&wrapped, "}");
    bool ok;
    if (wrapped.failed)
        ok = err_memory(err, wrapped.room);
    else
        ok = tree_read(&tree, wrapped.p, wrapped.len, m->whole->file, err) && config_set(m->c->tokenizer_config, name,
            json_incref(json_object_get(tree, "x")), err);
    json_decref(tree);
    str_clear(&wrapped);
    return ok;
}

/* Reads the members that an expression uses. */
static bool
read_used(void *of, const struct expr *e, struct err *err)
{
    static const char prefix[] = "tokenizer_config.";
    const struct file_members *m = of;
    const char *name;
    char member[64];
    for (size_t i = 0; (name = expr_name_at(e, i)) != NULL; i++) {
        size_t n = 0;
        if (str_begins(name, prefix))
            n = strcspn(name + sizeof prefix - 1, ".");
        if (n == 0 || n >= sizeof member)
            continue;
        memcpy(member, name + sizeof prefix - 1, n);
        member[n] = '\0';
        if (!read_member(m, member, err))
            return false;
    }
    return !expr_calls(e, "token") || read_member(m, "added_tokens_decoder", err);
}

static bool
read_tokenizer_config(struct family_config *c, const struct hf_text *text, struct err *err)
{
    struct hf_value whole;
    struct file_members m = { c, &whole };
    c->tokenizer_config = json_object();
    if (!c->tokenizer_config)
        return err_memory(err, 0);
    return hf_value_file(&whole, text, err) && (!whole.p || family_each_expr(c->family, read_used, &m, err));
}

/* --- all files */

bool
family_config_files(struct family_config *c, const struct hf_folder *folder, struct model *model, struct err *err)
{
    for (unsigned i = 0; i < HF_FILES; i++)
        c->files |= folder->file[i].p ? 1u << i : 0;
    c->file = json_object();
    if (!c->file)
        return err_memory(err, 0);
    const struct hf_text *generation = &folder->file[HF_GENERATION];
    if ((generation->p && !tree_read(&c->generation_config, generation->p, generation->n, generation->name, err))
            || !read_tokenizer_config(c, &folder->file[HF_TOKENIZER_CONFIG], err)
            || (model && family_uses(c->family, "file.pooling") && !read_pooling(c, model, err))
            || (model && model->folder && family_uses(c->family, "preprocessor") && !read_preprocessors(c, model, err))
            || (family_uses(c->family, "file.labels") && !read_labels(c, err)) || !count_rows(c, folder, err))
        return false;
    c->scope.tokenizer_config = c->tokenizer_config;
    c->scope.generation_config = c->generation_config;
    c->scope.file = c->file;
    c->scope.has_file = has_file;
    c->scope.folder = c;
    return true;
}
