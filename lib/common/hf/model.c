#include "hf/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hf/member.h"
#include "hf/name.h"

static const char ggml[] = "tokenizer.ggml";

/* Puts add_space_prefix of a class that reads "llama-json" from add_prefix_space of tokenizer_config.json. */
static bool
put_space_prefix(struct keys *keys, const struct hf_folder *folder, struct err *err)
{
    static const char *const name[] = { "add_prefix_space" };
    struct hf_value config, value;
    bool yes;
    if (folder->file[HF_TEKKEN].p && !folder->file[HF_TOKENIZER].p)
        return true;
    if (!hf_value_file(&config, &folder->file[HF_TOKENIZER_CONFIG], err) || !hf_value_members(&value, name, 1, &config, err)
        || !hf_value_bool(&yes, &value, false, err))
        return false;
    enum pull_token kind = hf_value_kind(&value);
    return kind == PULL_END || kind == PULL_NULL || keys_put_bool(keys, ggml, "add_space_prefix", yes, err);
}

/* Puts the keys that the converter sets after all others: for Gemma, and for the vocabulary sizes of Code Llama and Granite. */
static bool
put_after(struct keys *keys, const struct hf_folder *folder, const struct hf_family *family, uint64_t size, struct err *err)
{
    if (hf_is_gemma(family))
        return !folder->file[HF_SENTENCEPIECE].p || keys_put_bool(keys, ggml, "add_space_prefix", false, err);
    if (strcmp(family->arch, "llama") != 0)
        return true;
    if (size == 32016 && !keys_find(keys, "tokenizer.ggml.eot_token_id"))
        return keys_put_u32(keys, ggml, "eot_token_id", 32010, err);
    return size != 49152 || keys_put_bool(keys, ggml, "add_bos_token", false, err);
}

bool
hf_model_vocabulary(struct keys *keys, const struct hf_folder *folder, const struct hf_family *family,
    struct hf_vocabulary_options *options, uint64_t *tokens, struct err *err)
{
    const size_t most = sizeof family->vocab / sizeof *family->vocab;
    options->class = family->class;
    options->kinds = family->vocab;
    for (options->nkinds = 0; options->nkinds < most && family->vocab[options->nkinds];)
        options->nkinds++;
    return (strcmp(family->arch, "llama") != 0 || put_space_prefix(keys, folder, err))
        && hf_vocabulary_keys(keys, folder, options, tokens, err)
        && (*tokens == 0 || put_after(keys, folder, family, options->size, err));
}

static bool
put_tokenizer(struct hf_model *hf, const struct hf_folder *folder, const struct hf_model_options *how, struct catalog *warnings,
    struct err *err)
{
    struct hf_vocabulary_options options = { .size = hf->config.vocab_size, .pre_name = how->pre, .warnings = warnings };
    return how->no_tokenizer ? keys_put_text(&hf->keys, ggml, "model", "none", 4, err)
        : hf_model_vocabulary(&hf->keys, folder, hf->family, &options, &hf->tokens, err);
}

static bool
make_keys(struct hf_model *hf, const struct hf_folder *folder, const struct hf_model_options *how, struct catalog *warnings,
    struct err *err)
{
    return hf_config_read(&hf->config, &folder->file[HF_GENERATION], err)
        && hf_config_keys(&hf->keys, &hf->config, 0, err)
        && keys_put_u32(&hf->keys, NULL, "general.quantization_version", KEYS_QUANTIZATION_VERSION, err)
        && put_tokenizer(hf, folder, how, warnings, err)
        && hf_name_put(&hf->keys, folder, hf->family, err);
}

bool
hf_model_open(struct hf_model *hf, struct model *model, const struct hf_model_options *how, struct err *err)
{
    struct hf_folder folder;
    *hf = (struct hf_model){ .keys.max = catalog_limits(model->catalog)->alloc };
    if (!model->folder || !hf_folder_init(&folder, model->catalog))
        return true;
    if (!hf_config_open(&hf->config, &folder.file[HF_CONFIG], err))
        return false;
    hf->family = hf->config.family;
    bool ok = !hf->family || (hf_folder_open(&folder, model, err) && make_keys(hf, &folder, how, model->catalog, err));
    if (ok && hf->family)
        hf_config_warn(&hf->config, model->catalog);
    hf_folder_close(&folder);           /* a tokenizer can be larger than everything else in memory */
    if (ok && hf->family && hf->tokens == 0 && !how->no_tokenizer)
        catalog_warn(model->catalog, "the directory has no tokenizer; llama.cpp cannot load a model without one, unless it is "
            "converted with --no-tokenizer");
    return ok;
}

void
hf_model_clear(struct hf_model *hf)
{
    keys_clear(&hf->keys);
    hf_config_clear(&hf->config);
    hf->family = NULL;
}

/* Formats "8.0B" or "8x7B" as size_label() of gguf-py does; for a model with experts, counts the elements of one expert. */
static void
size_label(char *out, size_t n, const struct choice *choice, uint64_t experts)
{
    static const char units[] = "KMBT";
    double count = 0;
    unsigned unit = 0;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_source(&choice->list[i]);
        uint64_t numel = 0;
        shape_numel(&t.shape, &numel);
        count += (double)(experts != 0 && memmem(t.name, t.name_len, "_exps.", 6) ? numel / experts : numel);
    }
    for (count *= 1e-3; unit < 3 && count > 1e3; unit++)
        count *= 1e-3;
    int digits = count < 9.5 ? 1 : 2;
    int used = experts != 0 ? snprintf(out, n, "%llux", (unsigned long long)experts) : 0;
    snprintf(out + used, n - (size_t)used, "%.*f%c", 2 - digits, count, units[unit]);
}

bool
hf_model_choose(struct hf_model *hf, struct model *model, struct choice *choice, enum dtype matrices, bool exact,
    struct err *err)
{
    const struct hf_tensors_options how = { &hf->config, model, hf->tokens, matrices, exact };
    char label[48];
    if (!hf->family)
        return true;
    if (!hf_tensors(choice, &how, err))
        return false;
    size_label(label, sizeof label, choice, hf->config.experts);
    return keys_put_text(&hf->keys, NULL, "general.size_label", label, strlen(label), err);
}
