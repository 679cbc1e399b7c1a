#include "family/back.h"

#include <inttypes.h>
#include <string.h>

#include "base/names.h"
#include "base/nearest.h"
#include "base/push.h"
#include "family/back_keys.h"
#include "family/back_priv.h"
#include "family/back_rows.h"
#include "family/builtin.h"
#include "family/sources.h"
#include "tokenizer/back_tokenizer.h"

/* --- the family */

/* Adds the architectures of language models. */
static bool
add_archs(struct names *known, struct err *err)
{
    const struct family_text_file *file;
    for (size_t i = 0; (file = family_builtin_at(i)) != NULL; i++) {
        const char *line = file->kind == FAMILY_LANGUAGE ? strstr(file->text, "\narch ") : NULL;
        const char *arch = line ? line + 6 + strspn(line + 6, " \t") : "";
        size_t n = strcspn(arch, " \t\r\n#");
        if (n != 0 && !names_add(known, arch, n, err))
            return false;
    }
    return true;
}

static bool
unknown_arch(const struct hf_string *arch, struct err *err)
{
    struct names known = { 0 };
    struct str hint = { 0 };
    char shown[STR_SHOWN];
    str_shown(shown, arch->p, arch->n);
    if (add_archs(&known, err)) {
        nearest_hint(&hint, "", shown, (const char *const *)known.name, known.n);
        err_set(err, ERR_UNSUPPORTED, "no family for architecture '%s'%s; --family FILE reads one, --names gguf writes the tensors under "
            "the names of the file, and amn list families has the known ones", shown, hint.failed ? "" : str_or(hint.p, ""));
    }
    names_clear(&known);
    str_clear(&hint);
    return false;
}

/* Sets the scope for expressions about the GGUF file, with its keys as the family names them. */
static bool
look_at_keys(struct back_model *back, const struct model_family *family, struct err *err)
{
    json_decref(back->keys);
    back->scope.family = family;
    back->scope.keys = back->keys = NULL;
    back->scope.rope = back->scope.rope_local = back->scope.rope_all = NULL;
    back->scope.config = back->config;
    return back_keys_of(&back->keys, back->stored, &back->scope, err);
}

/* Returns true in *takes if the family has a class for this model, and in *surely if its condition says so. */
static bool
try_family(struct back_model *back, struct model_family *family, bool *takes, bool *surely, struct err *err)
{
    const struct family_hf *hf;
    if (!look_at_keys(back, family, err) || !back_members_class(&hf, &back->scope, err))
        return false;
    *takes = hf != NULL;
    *surely = hf && hf->when;
    return true;
}

/* Finds the built-in family of an architecture: the first with a class whose condition holds, else the first with a class
 * without a condition. */
static bool
find_family(struct back_model *back, const struct hf_string *arch, struct err *err)
{
    for (size_t i = 0; family_name_at(i); i++) {
        const char *name = family_name_at(i);
        const struct family_text_file *file = family_builtin_text(name);
        struct model_family *family = NULL;
        bool takes = false, surely = false;
        if (!file || file->kind != FAMILY_LANGUAGE || !family_declares(file->text, "arch", arch->p, arch->n))
            continue;
        bool ok = family_builtin(&family, name, err);
        if (ok)
            family_take_arch(family, arch->p, arch->n);
        if (!ok || !try_family(back, family, &takes, &surely, err)) {
            family_free(family);
            return false;
        }
        if (surely || (takes && !back->family)) {
            family_free(back->family);
            back->family = family;
        } else
            family_free(family);
        if (surely)
            break;
    }
    return back->family || unknown_arch(arch, err);
}

static bool
choose_family(struct back_model *back, const struct model *model, struct err *err)
{
    const char *format = catalog_facts_of(model->catalog)->format;
    const struct hf_string arch = back_key_string(model->catalog, "general.architecture");
    if (!format || strcmp(format, "GGUF") != 0)
        return err_set(err, ERR_UNSUPPORTED, "--to hf reads GGUF files, but the input is %s", str_or(format, "unknown"));
    if (arch.n == 0)
        return err_set(err, ERR_UNSUPPORTED, "the file has no general.architecture, so its family is unknown; --names gguf "
            "writes the tensors under the names of the file");
    if (!back->options->how->family)
        return find_family(back, &arch, err);
    char shown[STR_SHOWN];
    if (!family_given(&back->family, back->options->how->family, err))
        return false;
    family_take_arch(back->family, arch.p, arch.n);
    return family_has_arch(back->family, arch.p, arch.n)
        || err_set(err, ERR_UNSUPPORTED, "the family of --family is for architecture %s, but the file has '%s'",
            back->family->arch, str_shown(shown, arch.p, arch.n));
}

/* --- types */

/* Returns the type of all tensors: what general.file_type says, unless the embeddings have another. */
static enum dtype
element_of(const struct back_model *back, const struct model *model)
{
    static const char embeddings[] = "token_embd.weight";
    const struct tensor *t = catalog_find(model->catalog, embeddings, sizeof embeddings - 1);
    const json_t *type = json_object_get(back->stored, "general.file_type");
    json_int_t n = json_integer_value(type);
    bool plain = t && (t->dtype == DTYPE_F32 || t->dtype == DTYPE_F16 || t->dtype == DTYPE_BF16);
    if (back->options->cast)
        return back->options->to;
    if (plain && (!json_is_integer(type) || n == 0 || n == 1 || n == 32))
        return t->dtype;
    return back->options->to;
}

/* --- members */

static bool
make_tokenizer(struct back_model *back, struct back_tokens *tokens, struct model *model, struct err *err)
{
    const struct back_tokenizer_options how = { .catalog = model->catalog, .family = back->family->name, .arch = back->family->arch,
        .pre_row = back->family->pre.at, .npre = back->family->pre.n, .pre = back->options->how->pre };
    struct str generation = { .max = back->texts.max };
    if (!back->options->how->no_tokenizer && !back_tokenizer(&back->texts, tokens, &how, err))
        return false;
    bool ok = back_generation_config(&generation, tokens, model->catalog, err), written = ok && generation.len != 0;
    struct str *text = NULL;
    if (written)
        text = texts_add(&back->texts, "generation_config.json", err);
    if (!text) {
        str_clear(&generation);
        return ok && !written;
    }
    *text = generation;
    return texts_check(&back->texts, err);
}

/* Sets scope->file, what forward comes from other files, from the keys that store it. */
static bool
set_files(struct back_model *back, struct err *err)
{
    static const char *const rows[][2] = { { "labels", "classifier.output_labels" }, { "pooling", "pooling_type" } };
    back->file = json_object();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *value = family_key_value(back->keys, back->family, rows[i][1]);
        if (value && !back_set(back->file, rows[i][0], json_incref(value), err))
            return false;
    }
    back->scope.file = back->file;
    return back->file || err_memory(err, 1);
}

/* Sets `known` to the members and the defaults of the family for those that are absent. */
static bool
add_defaults(struct back_model *back, struct err *err)
{
    struct scope *scope = &back->scope;
    back->known = json_deep_copy(back->config);
    json_t *rope = json_object_get(back->known, "rope_parameters"), *full = json_object_get(rope, "full_attention");
    scope->keys = NULL;
    scope->config = back->known;
    scope->rope_all = rope;
    if (full)
        scope->rope = full;
    else
        scope->rope = rope;
    scope->rope_local = json_object_get(rope, "sliding_attention");
    scope->class = json_string_value(json_array_get(json_object_get(back->known, "architectures"), 0));
    for (size_t i = 0; back->known && i < back->family->defaults.n; i++) {
        const struct family_member *row = &back->family->defaults.at[i];
        json_t *value = NULL;
        bool yes;
        if (strchr(row->name, '.') || json_object_get(back->known, row->name))
            continue;
        if (!expr_true(&yes, row->when, scope, 0, err))
            return false;
        if (yes && (!family_member_value(&value, row, scope, err) || !back_set(back->known, row->name, value, err)))
            return false;
    }
    return back->known || err_memory(err, 1);
}

/* Lists the tensors again, under the names that the family has. */
static bool
rename_sources(struct back_model *back, struct model *model, struct err *err)
{
    family_sources_free(back->sources);
    bool ok = family_sources_of_gguf(&back->sources, &back->scope, NULL, model, err);
    if (ok)
        back->scope.tensors = family_sources_scope(back->sources);
    return ok;
}

/* Sets the metadata that weight files of transformers have. */
static bool
set_metadata(struct back_model *back, struct err *err)
{
    const struct meta_value pt = { .type = META_STRING, .as.s = { "pt", 2 } };
    return keys_set(&back->metadata, "format", strlen("format"), &pt, err);
}

bool
back_open(struct back_model *back, struct model *model, const struct back_options *options, struct err *err)
{
    struct back_tokens tokens = { 0 };
    *back = (struct back_model){ .options = options, .texts.max = catalog_limits(model->catalog)->alloc,
        .scope.mtp = !options->how->no_mtp, .config = json_object() };
    bool ok = back->config && back_keys(&back->stored, model->catalog, err)
        && family_sources_of_catalog(&back->sources, NULL, model, err);
    if (ok)
        back->scope.tensors = family_sources_scope(back->sources);
    ok = ok && choose_family(back, model, err) && (options->how->no_tokenizer || back_tokens_read(&tokens, model->catalog, err));
    if (ok) {
        back->element = element_of(back, model);
        back->scope.tokens = tokens.n;
        back->scope.file_type = (uint32_t)json_integer_value(json_object_get(back->stored, "general.file_type"));
        ok = look_at_keys(back, back->family, err) && rename_sources(back, model, err);
    }
    ok = ok && set_files(back, err) && back_members(&back->scope, model, &tokens, &back->lost, err) && make_tokenizer(back, &tokens, model, err)
        && add_defaults(back, err) && set_metadata(back, err);
    if (ok && tokens.n == 0 && !options->how->no_tokenizer && family_has_tokenizer(back->family))
        catalog_warn(model->catalog, "the file has no tokenizer, so the directory gets none");
    back_tokens_clear(&tokens);
    return ok;
}

/* --- embedding models */

static void
put_module(struct push *json, uint64_t number, const char *path, const char *type)
{
    char name[24];
    snprintf(name, sizeof name, "%" PRIu64, number);
    push_object(json);
    push_key(json, "idx");
    push_u64(json, number);
    push_key(json, "name");
    push_text(json, name);
    push_key(json, "path");
    push_text(json, path);
    push_key(json, "type");
    push_text(json, type);
    push_end(json);
}

/* Describes how sentence-transformers makes one vector from the vectors of all tokens: their mean, the first or the last. */
static bool
write_pooling(struct back_model *back, struct err *err)
{
    static const char *const flags[] = { [1] = "pooling_mode_mean_tokens", [2] = "pooling_mode_cls_token",
        [3] = "pooling_mode_lasttoken" };
    json_int_t kind = json_integer_value(json_object_get(back->file, "pooling"));
    if (kind < 1 || kind > 3)
        return true;
    struct str *text = texts_add(&back->texts, "modules.json", err);
    if (!text)
        return false;
    struct push list = { .out = text };
    push_array(&list);
    put_module(&list, 0, "", "sentence_transformers.models.Transformer");
    put_module(&list, 1, "1_Pooling", "sentence_transformers.models.Pooling");
    push_end(&list);
    if ((text = texts_add(&back->texts, "1_Pooling/config.json", err)) == NULL)
        return false;
    struct push json = { .out = text };
    push_object(&json);
    push_key(&json, "word_embedding_dimension");
    push_u64(&json, (uint64_t)json_integer_value(json_object_get(back->config, "hidden_size")));
    for (json_int_t i = 1; i <= 3; i++) {
        push_key(&json, flags[i]);
        push_bool(&json, i == kind);
    }
    push_end(&json);
    return texts_check(&back->texts, err);
}

/* --- the output */

/* Declares experts that are kept as MXFP4, in the layout of gpt-oss: NAME_blocks and NAME_scales. */
static bool
set_quantization(struct back_model *back, const struct choice *choice, struct err *err)
{
    static const char *const plain[] = { "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head" };
    bool kept = false;
    for (size_t i = 0; i < choice->n && !kept; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        kept = t.dtype == DTYPE_U8 && t.name_len > 7 && memcmp(t.name + t.name_len - 7, "_blocks", 7) == 0;
    }
    if (!kept)
        return true;
    json_t *names = json_array();
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        json_array_append_new(names, json_string(plain[i]));
    return back_set(back->config, "quantization_config.quant_method", json_string("mxfp4"), err)
        && back_set(back->config, "quantization_config.modules_to_not_convert", names, err);
}

static bool
write_config(struct back_model *back, const struct choice *choice, struct err *err)
{
    static const char *const names[] = { [DTYPE_F32] = "float32", [DTYPE_F16] = "float16", [DTYPE_BF16] = "bfloat16" };
    if (!back_set(back->config, "torch_dtype", json_string(names[back->element]), err) || !set_quantization(back, choice, err))
        return false;
    struct str *text = &back->config_text;
    struct push json = { .out = text };
    text->max = back->texts.max;
    push_value(&json, back->config);
    if (text->full)
        return err_set(err, ERR_LIMIT, "config.json would exceed %zu bytes", text->max);
    return !text->failed || err_memory(err, text->room);
}

bool
back_check(struct back_model *back, struct model *model, struct err *err)
{
    if (!back_read_check(&back->scope, back->keys, model, back->options->how->allow_missing, err))
        return false;
    back->scope.keys = back->keys;
    return back_read_warn_unread(&back->scope, model, err);
}

bool
back_choose(struct back_model *back, struct model *model, struct choice *choice, struct err *err)
{
    const struct family_tensors how = { .family = back->family, .scope = &back->scope, .model = model, .matrices = back->element,
        .exact = back->options->cast, .blocks = !back->options->how->dequantize,
        .allow_missing = back->options->how->allow_missing, .skip_unknown = back->options->how->skip_unknown };
    back->scope.keys = back->keys;
    return back_rows_choose(choice, &how, err) && write_config(back, choice, err) && write_pooling(back, err);
}

void
back_clear(struct back_model *back)
{
    texts_clear(&back->texts);
    str_clear(&back->config_text);
    keys_clear(&back->metadata);
    str_clear(&back->lost);
    json_decref(back->stored);
    json_decref(back->keys);
    json_decref(back->config);
    json_decref(back->known);
    json_decref(back->file);
    family_sources_free(back->sources);
    family_free(back->family);
    *back = (struct back_model){ 0 };
}
