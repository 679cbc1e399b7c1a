#include "tokenizer/back_tokenizer.h"

#include <string.h>

#include "tokenizer/back_priv.h"

/* Kinds of tokenizers by tokenizer.ggml.model and, where one model has two kinds, tokenizer.ggml.pre. */
static const struct {
    const char *model;
    const char *pre;            /* NULL: any other */
    enum back_kind kind;
    const char *file;           /* written instead of tokenizer.json, or NULL */
    bool (*write)(struct str *out, const struct back_tokens *tokens, struct err *err);
    const char *class;          /* tokenizer class of transformers, or NULL: see class_of() */
} kinds[] = {
    { .model = "gpt2", .pre = "sarvam-moe", .kind = BACK_GEMMA4 },      /* a BPE over characters */
    { .model = "gpt2", .kind = BACK_BPE },
    { .model = "llama", .kind = BACK_BPE, .file = "tokenizer.model", .write = back_pieces_model },
    { .model = "bert", .kind = BACK_WORDPIECE, .class = "BertTokenizerFast" },
    { .model = "gemma4", .kind = BACK_GEMMA4 },
    { .model = "t5", .kind = BACK_UNIGRAM },
    { .model = "rwkv", .kind = BACK_BPE, .file = "rwkv_vocab_v20230424.txt", .write = back_world, .class = "Rwkv6Tokenizer" },
    { .model = "plamo2", .kind = BACK_BPE, .file = "tokenizer.jsonl", .write = back_plamo, .class = "Plamo2Tokenizer" },
};

static const char *
class_of(const struct back_tokens *tokens, const char *arch, bool pieces, enum back_kind kind)
{
    if (pieces)
        return str_begins(arch, "gemma") ? "GemmaTokenizer" : "LlamaTokenizer";
    if (kind == BACK_BPE && hf_string_is(&tokens->pre, "qwen2"))
        return "Qwen2Tokenizer";
    return "PreTrainedTokenizerFast";
}

/* Returns the name of the pre-tokenizer: from --pre, or from the file. Where the file has none, or the "default" of a converter
 * that does not know it, the family decides if it names one. */
static struct hf_string
pre_of(const struct back_tokens *tokens, const struct back_tokenizer_options *options)
{
    const struct tokenizer_pre *row = options->pre_row;
    if (options->pre)
        return (struct hf_string){ options->pre, strlen(options->pre) };
    bool given = tokens->pre.n != 0 && !hf_string_is(&tokens->pre, "default");
    if (given || options->npre != 1 || strcmp(row->split, "*") == 0)
        return tokens->pre;
    catalog_warn(options->catalog, "tokenizer.ggml.pre is %s; the tokenizer is written as '%s', the one of family %s; --pre gives "
        "another name", tokens->pre.n != 0 ? "'default'" : "missing", row->name, options->family);
    return (struct hf_string){ row->name, strlen(row->name) };
}

static bool
find_split(struct back_split *split, const struct back_tokens *tokens, const struct back_tokenizer_options *options,
    struct err *err)
{
    struct hf_string pre = pre_of(tokens, options);
    char shown[STR_SHOWN];
    if (pre.n == 0)
        return err_set(err, ERR_UNSUPPORTED, "the tokenizer has no tokenizer.ggml.pre; give llama.cpp's name of its "
            "pre-tokenizer with --pre, or --no-tokenizer");
    return back_split_find(split, &pre, options->pre_row, options->npre)
        || err_set(err, ERR_UNSUPPORTED, "unknown pre-tokenizer '%s'; give the name of one that splits alike with "
            "--pre, or --no-tokenizer", str_shown(shown, pre.p, pre.n));
}

bool
back_tokenizer(struct texts *texts, struct back_tokens *tokens, const struct back_tokenizer_options *options,
    struct err *err)
{
    struct back_split split = { 0 };
    char shown[STR_SHOWN];
    size_t i = 0, n = sizeof kinds / sizeof *kinds;
    if (tokens->n == 0)
        return true;
    while (i < n && !(hf_string_is(&tokens->model, kinds[i].model)
        && (!kinds[i].pre || hf_string_is(&tokens->pre, kinds[i].pre))))
        i++;
    if (i == n)
        return err_set(err, ERR_UNSUPPORTED, "unknown tokenizer.ggml.model '%s'; --no-tokenizer writes the model "
            "without a tokenizer", str_shown(shown, str_or(tokens->model.p, ""), tokens->model.n));
    bool pieces = kinds[i].file != NULL;
    const char *class = kinds[i].class;
    enum back_kind kind = kinds[i].kind;
    if (kind == BACK_BPE && !pieces && !find_split(&split, tokens, options, err))
        return false;
    if (kind == BACK_GEMMA4 && !back_tokens_find_tags(tokens, err))
        return false;
    struct str *text = texts_add(texts, pieces ? kinds[i].file : "tokenizer.json", err);
    if (!text || !(pieces ? kinds[i].write(text, tokens, err) : back_tokenizer_json(text, tokens, kind, &split, err)))
        return false;
    if (!class)
        class = class_of(tokens, options->arch, pieces, kind);
    text = texts_add(texts, "tokenizer_config.json", err);
    return text && back_tokenizer_config(text, tokens, options->catalog, class, pieces, err)
        && texts_check(texts, err);
}
