#include "tokenizer/vocabulary_priv.h"

#include <stdlib.h>
#include <string.h>

static bool
lacks(const struct vocab *v, enum hf_file file, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "%s is missing, which contains the tokenizer of a %s; "
        "--no-tokenizer converts without it",
        v->folder->file[file].name, v->options->class);
}

static bool
has_file(const struct vocab *v, enum hf_file file)
{
    return v->folder->file[file].p != NULL;
}

/* --- the kinds: `fits` sets *yes if the directory has the files of the kind */

static bool
fits_spm(bool *yes, struct vocab *v, struct err *err)
{
    (void)err;
    *yes = has_file(v, HF_SENTENCEPIECE);
    return true;
}

static bool
put_spm(struct keys *keys, struct vocab *v, struct err *err)
{
    if (has_file(v, HF_SENTENCEPIECE))
        return spm_put(keys, v, err);
    return lacks(v, HF_SENTENCEPIECE, err);
}

/* InternLM 2: as "spm", with the flag of the model for a space before a text, and another text for the byte 0. */
static bool
put_internlm(struct keys *keys, struct vocab *v, struct err *err)
{
    struct sentencepiece_settings settings;
    v->internlm = true;
    return put_spm(keys, v, err) && sentencepiece_settings(&settings, &v->folder->file[HF_SENTENCEPIECE], err)
        && keys_put_bool(keys, "tokenizer.ggml", "add_space_prefix", settings.adds_prefix, err);
}

static bool
fits_always(bool *yes, struct vocab *v, struct err *err)
{
    (void)v;
    (void)err;
    *yes = true;
    return true;
}

/* Puts Phi-3's tokenizer.model, or Phi-4's BPE, whose tokenizer_class is GPT2Tokenizer. */
static bool
put_phi3(struct keys *keys, struct vocab *v, struct err *err)
{
    static const char *const name[] = { "tokenizer_class" };
    struct hf_value value;
    struct hf_string class;
    if (!hf_value_members(&value, name, 1, &v->config, err) || !hf_value_string(&class, &v->chars, &value, err))
        return false;
    v->phi3 = !hf_string_is(&class, "GPT2Tokenizer");
    return (v->phi3 ? put_spm : bpe_put)(keys, v, err);
}

static bool
put_llama_json(struct keys *keys, struct vocab *v, struct err *err)
{
    return llama_json_put(keys, v, false, err);
}

static bool
fits_bpe(bool *yes, struct vocab *v, struct err *err)
{
    struct hf_string type;
    if (!hf_value_string(&type, &v->chars, &v->model[HF_TYPE], err))
        return false;
    if (v->json.p)
        *yes = !type.p || hf_string_is(&type, "BPE");
    else
        *yes = has_file(v, HF_VOCAB_JSON) && has_file(v, HF_MERGES);
    return true;
}

/* Puts a BPE. One over characters with byte fallback is what SentencePiece makes; llama.cpp has it as "llama". */
static bool
put_bpe(struct keys *keys, struct vocab *v, struct err *err)
{
    bool is_json;
    return bpe_is_llama_json(&is_json, v, err)
        && (is_json ? llama_json_put(keys, v, true, err) : bpe_put(keys, v, err));
}

static bool
fits_wordpiece(bool *yes, struct vocab *v, struct err *err)
{
    struct hf_string type;
    if (!hf_value_string(&type, &v->chars, &v->model[HF_TYPE], err))
        return false;
    *yes = hf_string_is(&type, "WordPiece");
    return true;
}

static bool
put_wordpiece(struct keys *keys, struct vocab *v, struct err *err)
{
    if (v->json.p)
        return wordpiece_put(keys, v, err);
    return lacks(v, HF_TOKENIZER, err);
}

static bool
put_gemma4(struct keys *keys, struct vocab *v, struct err *err)
{
    if (v->json.p)
        return gemma4_put(keys, v, err);
    return lacks(v, HF_TOKENIZER, err);
}

static bool
fits_tiktoken(bool *yes, struct vocab *v, struct err *err)
{
    (void)err;
    *yes = has_file(v, HF_TIKTOKEN);
    return true;
}

static bool
put_tiktoken(struct keys *keys, struct vocab *v, struct err *err)
{
    if (has_file(v, HF_TIKTOKEN))
        return tiktoken_put(keys, v, err);
    return lacks(v, HF_TIKTOKEN, err);
}

static bool
fits_ugm(bool *yes, struct vocab *v, struct err *err)
{
    (void)err;
    *yes = has_file(v, HF_SENTENCEPIECE) || has_file(v, HF_SPIECE);
    return true;
}

static bool
put_ugm(struct keys *keys, struct vocab *v, struct err *err)
{
    if (has_file(v, HF_SENTENCEPIECE) || has_file(v, HF_SPIECE))
        return ugm_put(keys, v, err);
    return lacks(v, HF_SENTENCEPIECE, err);
}

static bool
fits_fairseq(bool *yes, struct vocab *v, struct err *err)
{
    (void)err;
    *yes = has_file(v, HF_FAIRSEQ);
    return true;
}

static bool
put_fairseq(struct keys *keys, struct vocab *v, struct err *err)
{
    if (has_file(v, HF_FAIRSEQ))
        return fairseq_put(keys, v, false, err);
    return lacks(v, HF_FAIRSEQ, err);
}

static bool
put_fairseq_mask(struct keys *keys, struct vocab *v, struct err *err)
{
    if (has_file(v, HF_FAIRSEQ))
        return fairseq_put(keys, v, true, err);
    return lacks(v, HF_FAIRSEQ, err);
}

static bool
fits_unigram(bool *yes, struct vocab *v, struct err *err)
{
    struct hf_string type;
    if (!hf_value_string(&type, &v->chars, &v->model[HF_TYPE], err))
        return false;
    *yes = hf_string_is(&type, "Unigram");
    return true;
}

static bool
put_unigram(struct keys *keys, struct vocab *v, struct err *err)
{
    if (v->json.p)
        return unigram_put(keys, v, err);
    return lacks(v, HF_TOKENIZER, err);
}

static bool
fits_world(bool *yes, struct vocab *v, struct err *err)
{
    (void)err;
    *yes = has_file(v, HF_WORLD);
    return true;
}

static bool
put_world(struct keys *keys, struct vocab *v, struct err *err)
{
    if (has_file(v, HF_WORLD))
        return world_put(keys, v, err);
    return lacks(v, HF_WORLD, err);
}

static bool
fits_plamo(bool *yes, struct vocab *v, struct err *err)
{
    (void)err;
    *yes = has_file(v, HF_LINES);
    return true;
}

static bool
put_plamo(struct keys *keys, struct vocab *v, struct err *err)
{
    if (has_file(v, HF_LINES))
        return plamo_put(keys, v, false, err);
    return lacks(v, HF_LINES, err);
}

static bool
put_plamo_chat(struct keys *keys, struct vocab *v, struct err *err)
{
    if (has_file(v, HF_LINES))
        return plamo_put(keys, v, true, err);
    return lacks(v, HF_LINES, err);
}

static const struct tokenizer_kind {
    const char *word;
    bool (*fits)(bool *yes, struct vocab *v, struct err *err);
    bool (*put)(struct keys *keys, struct vocab *v, struct err *err);
} kinds[] = {
    { "spm", fits_spm, put_spm },
    { "internlm", fits_spm, put_internlm },
    { "phi3", fits_always, put_phi3 },
    { "llama-json", bpe_is_llama_json, put_llama_json },
    { "bpe", fits_bpe, put_bpe },
    { "characters", bpe_is_llama_json, bpe_put },
    { "wordpiece", fits_wordpiece, put_wordpiece },
    { "gemma4", bpe_is_llama_json, put_gemma4 },
    { "tiktoken", fits_tiktoken, put_tiktoken },
    { "ugm", fits_ugm, put_ugm },
    { "fairseq", fits_fairseq, put_fairseq },
    { "fairseq-mask", fits_fairseq, put_fairseq_mask },
    { "unigram", fits_unigram, put_unigram },
    { "rwkv", fits_world, put_world },
    { "plamo", fits_plamo, put_plamo },
    { "plamo-chat", fits_plamo, put_plamo_chat },
};

static const struct tokenizer_kind *
find_kind(const char *word)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].word, word) == 0)
            return &kinds[i];
    return NULL;
}

static bool
lists(const struct vocabulary_options *options, const char *word)
{
    for (size_t i = 0; i < options->nkinds; i++)
        if (strcmp(options->kinds[i], word) == 0)
            return true;
    return false;
}

/* Puts the first kind that fits. If none does, one of them reports what it misses. */
static bool
put_vocabulary(struct keys *keys, struct vocab *v, struct err *err)
{
    const struct vocabulary_options *options = v->options;
    bool fits = false;
    if (has_file(v, HF_TEKKEN) && !v->json.p && lists(options, "llama-json"))
        return tekken_put(keys, v, err);
    for (size_t i = 0; i < options->nkinds; i++) {
        const struct tokenizer_kind *kind = find_kind(options->kinds[i]);
        if (!kind)
            return err_set(err, ERR_MALFORMED, "unknown kind of tokenizer '%s'", options->kinds[i]);
        if (!kind->fits(&fits, v, err))
            return false;
        if (fits)
            return kind->put(keys, v, err);
    }
    if (lists(options, "bpe"))
        return bpe_put(keys, v, err);
    return find_kind(options->kinds[0])->put(keys, v, err);
}

static bool
read_files(struct vocab *v, struct err *err)
{
    static const char *const parts[HF_PARTS] = {
        [HF_ADDED] = "added_tokens", [HF_PRE] = "pre_tokenizer", [HF_NORMALIZER] = "normalizer",
        [HF_POST] = "post_processor", [HF_DECODER] = "decoder", [HF_MODEL] = "model",
    };
    static const char *const model[HF_MODEL_PARTS] = {
        [HF_TYPE] = "type", [HF_VOCAB] = "vocab", [HF_MERGE_LIST] = "merges", [HF_FALLBACK] = "byte_fallback",
        [HF_IGNORE_MERGES] = "ignore_merges", [HF_UNKNOWN_ID] = "unk_id",
    };
    const struct hf_text *file = v->folder->file;
    return hf_value_file(&v->json, &file[HF_TOKENIZER], err)
        && hf_value_members(v->part, parts, HF_PARTS, &v->json, err)
        && hf_value_members(v->model, model, HF_MODEL_PARTS, &v->part[HF_MODEL], err)
        && (v->json.p || hf_value_file(&v->model[HF_VOCAB], &file[HF_VOCAB_JSON], err))
        && hf_value_file(&v->config, &file[HF_TOKENIZER_CONFIG], err);
}

bool
vocabulary_keys(struct keys *keys, const struct hf_folder *folder, const struct vocabulary_options *options,
    uint64_t *tokens, struct err *err)
{
    const struct hf_text *file = folder->file;
    struct vocab v = { .folder = folder, .options = options };
    static const enum hf_file any[] = { HF_TOKENIZER, HF_SENTENCEPIECE, HF_TEKKEN, HF_MERGES, HF_VOCAB_JSON, HF_TIKTOKEN, HF_SPIECE,
        HF_FAIRSEQ, HF_WORLD, HF_LINES };
    size_t i = 0, n = sizeof any / sizeof *any;
    *tokens = 0;
    while (i < n && !file[any[i]].p)
        i++;
    if (i == n)
        return true;
    bool ok = read_files(&v, err) && put_vocabulary(keys, &v, err);
    if (ok)
        *tokens = v.n;
    free(v.token);
    table_clear(&v.ids);
    hf_chars_clear(&v.chars);
    return ok;
}
