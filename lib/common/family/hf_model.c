#include "family/hf_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "family/tensor_extra.h"
#include "family/rows.h"
#include "family/sources.h"
#include "family/template.h"
#include "hf/name.h"

static const char ggml[] = "tokenizer.ggml";

/* --- tokenizer */

bool
hf_model_vocabulary(struct keys *keys, const struct hf_folder *folder, struct family_config *c,
    struct vocabulary_options *options, uint64_t *tokens, struct err *err)
{
    const struct model_family *family = c->family;
    if (c->class)
        options->class = c->class;
    else
        options->class = family->classes.at[0];
    options->kinds = family->vocab.at;
    options->nkinds = family->vocab.n;
    options->pre = family->pre.at;
    options->npre = family->pre.n;
    options->special = family->special.at;
    options->nspecial = family->special.n;
    if (family->vocab_size && !expr_size(&options->size, family->vocab_size, &c->scope, 0, err))
        return false;
    if (!family_tokenizer_keys(keys, c, true, err) || !vocabulary_keys(keys, folder, options, tokens, err))
        return false;
    c->scope.tokens = *tokens;
    if (folder->file[HF_SENTENCEPIECE].p && *tokens != 0)
        c->scope.vocab_rows = *tokens;
    return *tokens == 0 || family_tokenizer_keys(keys, c, false, err);
}

static bool
put_tokenizer(struct hf_model *hf, const struct hf_folder *folder, const struct hf_model_options *how, struct catalog *warnings,
    struct err *err)
{
    struct vocabulary_options options = { .size = hf->config.vocab_size, .pre_name = how->pre, .warnings = warnings };
    if (how->no_tokenizer || !family_has_tokenizer(hf->family))
        return keys_put_text(&hf->keys, ggml, "model", "none", 4, err);
    return hf_model_vocabulary(&hf->keys, folder, &hf->config, &options, &hf->tokens, err);
}

/* --- the model */

/* Returns true for a family with SentencePiece vocabularies whose loader strips white space after special tokens. */
static bool
is_phi3(const struct model_family *family)
{
    for (size_t i = 0; i < family->vocab.n; i++)
        if (strcmp(family->vocab.at[i], "phi3") == 0)
            return true;
    return false;
}

static bool
make_keys(struct hf_model *hf, const struct hf_folder *folder, const struct hf_model_options *how, struct model *model,
    struct err *err)
{
    struct family_sources *sources;
    hf->config.scope.mtp = !how->no_mtp;
    if (!family_config_read(&hf->config, folder, model, err)
            || !family_sources_of_catalog(&sources, hf->family, model, err))
        return false;
    hf->config.scope.tensors = family_sources_scope(sources);
    bool ok = family_config_keys(&hf->keys, &hf->config, err)
        && (how->allow_missing || family_config_check_keys(&hf->keys, &hf->config, err))
        && keys_put_u32(&hf->keys, NULL, "general.quantization_version", KEYS_QUANTIZATION_VERSION, err)
        && (how->mmproj || put_tokenizer(hf, folder, how, model->catalog, err))
        && hf_name_put(&hf->keys, folder, is_phi3(hf->family), err);
    hf->config.scope.tensors = (struct scope_tensors){ 0 };
    family_sources_free(sources);
    return ok;
}

/* Warns of a family that can only be read in one direction. */
static bool
warn_of_family(const struct model_family *family, const char *path, struct catalog *catalog, struct err *err)
{
    struct names members = { 0 };
    char shown[STR_SHOWN];
    bool ok = family_unrecovered(family, &members, err);
    str_shown(shown, path, strlen(path));
    for (size_t i = 0; ok && i < members.n; i++)
        catalog_warn(catalog, "%s: verbs need '%s', but no row recovers it from a GGUF file", shown, members.name[i]);
    names_clear(&members);
    return ok;
}

/* Names the family that has all tensors of a model whose class is unknown. */
static bool
tell_alike(const struct hf_model *hf, struct model *model, struct err *err)
{
    const struct family_config *config = &hf->config;
    const char *alike = NULL;
    char shown[STR_SHOWN];
    struct err ignored;
    err_init(&ignored);
    if (err->kind != ERR_UNSUPPORTED || !config->class || config->family || hf->options.mmproj
            || !family_template_alike(&alike, model, config->class, &ignored) || !alike)
        return false;
    err_init(err);
    return err_set(err, ERR_UNSUPPORTED, "config.json: unknown model class '%s'; all its tensors have names of family %s, so use "
        "--family %s if it computes the same, --family FILE, or --config none to keep the tensor names",
        str_shown(shown, config->class, strlen(config->class)), alike, alike);
}

/* Sets hf->absent if the model has no towers, or none that a family writes: its config.json has the class that was not found. */
static bool
look_for_towers(struct hf_model *hf, const struct model *model, struct err *err)
{
    bool media = false;
    for (size_t i = 0; i < catalog_count(model->catalog) && !media; i++) {
        const struct tensor *t = catalog_at(model->catalog, i);
        family_sources_drops(t->name, t->name_len, &media);
    }
    hf->absent = !media || (hf->config.class && !hf->config.family);
    if (hf->absent) {
        family_config_clear(&hf->config);
        err_init(err);
    }
    return hf->absent;
}

bool
hf_model_open(struct hf_model *hf, struct model *model, const struct hf_model_options *how, struct err *err)
{
    struct hf_folder folder;
    struct model_family *given = NULL;
    *hf = (struct hf_model){ .keys.max = catalog_limits(model->catalog)->alloc, .options = *how };
    if (!model->folder || !hf_folder_init(&folder, model->catalog)) {
        hf->absent = how->pair == PAIR_TOWERS;
        return true;
    }
    if (how->family && !(family_given(&given, how->family, err)
            && (family_is_builtin(how->family) || warn_of_family(given, how->family, model->catalog, err))))
        return false;
    if (given && given->tower != how->mmproj) {
        family_free(given);
        return err_set(err, ERR_USAGE, "--family %s describes %s", how->family,
            how->mmproj ? "no towers, which --mmproj writes" : "towers; write them with --mmproj");
    }
    if (!family_config_open(&hf->config, how->mmproj ? FAMILY_TOWER : FAMILY_LANGUAGE, &folder.file[HF_CONFIG], given, err))
        return how->pair == PAIR_TOWERS ? look_for_towers(hf, model, err) : tell_alike(hf, model, err);
    if (how->pair == PAIR_TOWERS && look_for_towers(hf, model, err))
        return true;
    hf->family = hf->config.family;
    bool ok = !hf->family || (hf_folder_open(&folder, model, how->tokenizer, err) && make_keys(hf, &folder, how, model, err));
    hf_folder_close(&folder);           /* a tokenizer can be larger than everything else in memory */
    if (ok && hf->family && hf->tokens == 0 && !how->no_tokenizer && !how->mmproj && family_has_tokenizer(hf->family))
        catalog_warn(model->catalog, "the directory has no tokenizer; llama.cpp cannot load a model without one, unless it is "
            "converted with --no-tokenizer");
    return ok;
}

void
hf_model_clear(struct hf_model *hf)
{
    keys_clear(&hf->keys);
    family_config_clear(&hf->config);
    hf->family = NULL;
}

/* --- tensors */

/*
 * Formats "8.0B" or "8x7B" as size_label() of gguf-py does; for a model with experts, counts the elements of one expert.
 * Returns false for a model with adapters among its tensors, which gguf-py does not measure.
 */
static bool
size_label(char *out, size_t n, const struct choice *choice, uint64_t experts)
{
    static const char units[] = "KMBT";
    double count = 0;
    unsigned unit = 0;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_source(&choice->list[i]);
        uint64_t numel = 0;
        if (memmem(t.name, t.name_len, ".lora_a", 7))
            return false;
        shape_numel(&t.shape, &numel);
        count += (double)(experts != 0 && memmem(t.name, t.name_len, "_exps.", 6) ? numel / experts : numel);
    }
    for (count *= 1e-3; unit < 3 && count > 1e3; unit++)
        count *= 1e-3;
    int digits = 2;
    if (count < 9.5)
        digits = 1;
    int used = 0;
    if (experts != 0)
        used = snprintf(out, n, "%llux", (unsigned long long)experts);
    snprintf(out + used, n - (size_t)used, "%.*f%c", 2 - digits, count, units[unit]);
    return true;
}

/* Applies the rows `refuse` and `warn`, which can ask about tensors as they are after dequantization. */
static bool
hf_model_check(struct hf_model *hf, struct model *model, const struct choice *choice, struct err *err)
{
    struct family_sources *sources;
    if (!family_sources_of_choice(&sources, hf->family, choice, model, err))
        return false;
    hf->config.scope.tensors = family_sources_scope(sources);
    bool ok = family_config_refuse(&hf->config, err) && family_config_warn(&hf->config, model->catalog, err);
    hf->config.scope.tensors = (struct scope_tensors){ 0 };
    family_sources_free(sources);
    return ok;
}

/* Warns of an output head that config.json declares apart from the embeddings and the model lacks. */
static void
warn_of_head(const struct hf_model *hf, struct model *model, const struct choice *choice)
{
    static const char head[] = "output.weight";
    const struct family_config *config = &hf->config;
    bool makes = false;
    if (hf->options.mtp_only || !json_is_false(json_object_get(config->members, "tie_word_embeddings"))
            || !(strstr(config->class, "ForCausalLM") || strstr(config->class, "ForConditionalGeneration")))
        return;
    for (size_t i = 0; i < hf->family->rows.n; i++)
        makes = makes || strcmp(hf->family->rows.at[i].gguf, head) == 0;
    for (size_t i = 0; makes && i < choice->n; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        makes = t.name_len != sizeof head - 1 || memcmp(t.name, head, t.name_len) != 0;
    }
    if (makes)
        catalog_warn(model->catalog, "the model has no lm_head.weight, but config.json declares \"tie_word_embeddings\": false; llama.cpp "
            "takes token_embd.weight in its place");
}

bool
hf_model_choose(struct hf_model *hf, struct model *model, struct choice *choice, enum dtype matrices, bool exact,
    struct err *err)
{
    const struct family_tensors how = { .family = hf->family, .scope = &hf->config.scope, .config = &hf->config, .model = model,
        .matrices = matrices, .exact = exact, .blocks = !exact && !hf->options.dequantize, .mtp_only = hf->options.mtp_only,
        .paired = hf->options.pair != PAIR_NONE, .allow_missing = hf->options.allow_missing, .skip_unknown = hf->options.skip_unknown };
    char label[48];
    if (!hf->family)
        return true;
    if (!hf_model_check(hf, model, choice, err) || !rows_choose(choice, &how, err))
        return false;
    if (!hf->family->tower)
        warn_of_head(hf, model, choice);
    return tensor_extra_keys(&hf->keys, choice, model->catalog, err)
        && (!size_label(label, sizeof label, choice, choice->model.experts) || keys_put_text(&hf->keys, NULL, "general.size_label", label, strlen(label), err));
}
