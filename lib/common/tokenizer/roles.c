/* Tokens with a role: members of tokenizer_config.json that name one, such as "bos_token". They become special, and those that
 * are not in the vocabulary are added to it. */
#include "tokenizer/vocabulary_priv.h"

#include <string.h>

enum { NROLES = 7 };
enum { ADDITIONAL = NROLES, EXTRA, CLASS, ROLE_MEMBERS };
static const char *const role_members[ROLE_MEMBERS] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
    "additional_special_tokens", "extra_special_tokens", "tokenizer_class"
};

/* Adds a token with a role, which is special. A token of a list (`listed`), which has no single role, is added only if it is
 * new, except for tokenizer classes that add it again. */
static bool
add_role(struct bpe *b, const struct hf_value *value, bool listed, struct err *err)
{
    static const char *const name[] = { "content" };
    struct added_token a = { .id = UINT64_MAX, .special = true, .normalized = false, .at = value->at };
    struct hf_value content = *value;
    size_t id;
    if (hf_value_kind(value) == PULL_OBJECT && !hf_value_members(&content, name, 1, value, err))
        return false;
    if (!hf_value_string(&a.text, &b->v->chars, &content, err))
        return false;
    if (!a.text.p || a.text.n == 0)
        return true;
    if (tokens_find(b->v, &a.text, &id) && b->v->token[id].added) {
        b->v->token[id].special |= !listed;
        return true;
    }
    return bpe_add(b, &a, value->file, err);
}

/* Adds a list of tokens, or an object of tokens by role. */
static bool
add_roles(struct bpe *b, const struct hf_value *list, bool plain, struct err *err)
{
    struct pull json;
    struct hf_value one = *list;
    enum pull_token kind = hf_value_kind(list);
    if (kind == PULL_END || kind == PULL_NULL)
        return true;
    if (kind != PULL_ARRAY && kind != PULL_OBJECT)
        return hf_value_wrong(list, "a list of tokens", err);
    hf_value_pull(&json, list);
    pull_next(&json);
    for (;;) {
        struct pull ahead = json;
        enum pull_token token = pull_next(&ahead);
        if (token == PULL_ARRAY_END || token == PULL_OBJECT_END)
            return true;
        if (token == PULL_KEY)
            json = ahead;
        if (!pull_value_text(&json, &one.p, &one.n))
            return hf_value_fault(&json, list, "a token", err);
        one.at = list->at + (uint64_t)(one.p - list->p);
        if (!add_role(b, &one, plain && kind == PULL_ARRAY, err))
            return false;
    }
}

/* Returns true for an empty array. */
static bool
is_empty(const struct hf_value *list)
{
    struct pull json;
    hf_value_pull(&json, list);
    pull_next(&json);
    enum pull_token token = pull_next(&json);
    return token == PULL_ARRAY_END;
}

static bool
ends_with_token(const struct pull_text *key)
{
    static const char end[] = "_token";
    size_t n = sizeof end - 1;
    if (key->n < n || memcmp(key->p + key->n - n, end, n) != 0)
        return false;
    for (size_t i = 0; i < NROLES; i++)
        if (pull_text_is(key, role_members[i]))
            return false;
    return true;
}

/* Adds tokens with model-specific roles: members of tokenizer_config.json such as "image_token". */
static bool
add_other_roles(struct bpe *b, struct err *err)
{
    struct pull json;
    struct hf_value one = b->v->config;
    if (!one.p)
        return true;
    hf_value_pull(&json, &one);
    pull_next(&json);
    while (pull_next(&json) == PULL_KEY) {
        bool is_role = ends_with_token(&json.token);
        if (!pull_value_text(&json, &one.p, &one.n))
            return hf_value_fault(&json, &b->v->config, "a value", err);
        one.at = b->v->config.at + (uint64_t)(one.p - b->v->config.p);
        if (is_role && hf_value_kind(&one) == PULL_STRING && !add_role(b, &one, false, err))
            return false;
    }
    return true;
}

/* Returns the default of a tokenizer class for a role that is not in tokenizer_config.json, as a JSON string. Source: the
 * constructors of the classes. */
static const char *
role_of_class(const struct bpe *b, size_t role)
{
    static const char end[] = "\"<|endoftext|>\"";
    static const char *const qwen[NROLES] = { NULL, end, end, NULL, end }, *const gpt[NROLES] = { end, end, end };
    static const char *const cohere[NROLES] = { "\"<BOS_TOKEN>\"", "\"<|END_OF_TURN_TOKEN|>\"", "\"<UNK>\"", "\"<SEP>\"",
        "\"<PAD>\"", "\"<CLS>\"", "\"<MASK_TOKEN>\"" };
    static const char *const llama[NROLES] = { "\"<s>\"", "\"</s>\"", "\"<unk>\"" };
    static const char *const gemma[NROLES] = { "\"<bos>\"", "\"<eos>\"", "\"<unk>\"", NULL, "\"<pad>\"", NULL, "\"<mask>\"" };
    static const char *const bert[NROLES] = { NULL, NULL, "\"[UNK]\"", "\"[SEP]\"", "\"[PAD]\"", "\"[CLS]\"", "\"[MASK]\"" };
    static const char *const *const all[] = { [CLASS_QWEN] = qwen, [CLASS_GPT] = gpt, [CLASS_COHERE] = cohere,
        [CLASS_LLAMA] = llama, [CLASS_GEMMA] = gemma, [CLASS_BERT] = bert };
    if (b->class == CLASS_PLAIN)
        return NULL;
    return all[b->class][role];
}

/* Returns true for model classes whose tokenizer_class transformers ignores: it reads tokenizer.json as it is. Source:
 * TOKENIZER_MAPPING_NAMES. */
static bool
is_generic(const char *model)
{
    static const char *const models[] = { "Olmo2", "Olmo3", "Granite", "Mistral", "Ministral3", "Mixtral", "Ernie4_5", "Glm4Moe",
        "MiniMaxM2", "ModernBert", "StableLm", "Phi3", "InternLM3", "KimiK25" };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (str_begins(model, models[i]))
            return true;
    return false;
}

/* Returns the tokenizer class of a model if none is named. Source: the same. */
static enum tokenizer_class
class_of_model(const char *model)
{
    static const struct {
        const char *begin;
        enum tokenizer_class class;
    } models[] = {
        { "Qwen", CLASS_QWEN }, { "Starcoder2", CLASS_GPT }, { "PhiFor", CLASS_GPT }, { "Cohere2", CLASS_COHERE },
        { "Bert", CLASS_BERT },
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (str_begins(model, models[i].begin))
            return models[i].class;
    return CLASS_PLAIN;
}

static enum tokenizer_class
class_of_name(const struct hf_string *name)
{
    static const struct {
        const char *name, *fast;
        enum tokenizer_class class;
    } names[] = {
        { "Qwen2Tokenizer", "Qwen2TokenizerFast", CLASS_QWEN }, { "GPT2Tokenizer", "GPT2TokenizerFast", CLASS_GPT },
        { "CodeGenTokenizer", "CodeGenTokenizerFast", CLASS_GPT }, { "CohereTokenizer", "CohereTokenizerFast", CLASS_COHERE },
        { "LlamaTokenizer", "LlamaTokenizerFast", CLASS_LLAMA }, { "GemmaTokenizer", "GemmaTokenizerFast", CLASS_GEMMA },
        { "BertTokenizer", "BertTokenizerFast", CLASS_BERT },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hf_string_is(name, names[i].name) || hf_string_is(name, names[i].fast))
            return names[i].class;
    return CLASS_PLAIN;
}

/* Determines the tokenizer class: the model's if none is named, and for Qwen2 unless GPT2Tokenizer is. Classes over characters do
 * not apply to bytes. */
static bool
read_class(struct bpe *b, const struct hf_value *value, bool characters, struct err *err)
{
    const char *model = b->v->options->class;
    struct hf_string name;
    if (!hf_value_string(&name, &b->v->chars, value, err))
        return false;
    if (is_generic(model))
        b->class = CLASS_PLAIN;
    else if (name.p)
        b->class = class_of_name(&name);
    else
        b->class = class_of_model(model);
    if (str_begins(model, "Qwen2For") && b->class != CLASS_GPT)
        b->class = CLASS_QWEN;
    if (!characters && b->class >= CLASS_LLAMA)
        b->class = CLASS_PLAIN;
    return true;
}

bool
roles_put(struct bpe *b, bool characters, struct err *err)
{
    struct hf_value role[ROLE_MEMBERS];
    if (!hf_value_members(role, role_members, ROLE_MEMBERS, &b->v->config, err)
        || !read_class(b, &role[CLASS], characters, err))
        return false;
    for (size_t i = 0; i < NROLES; i++) {
        const char *otherwise = NULL;
        if (!role[i].p)
            otherwise = role_of_class(b, i);
        if (otherwise) {
            role[i].p = otherwise;
            role[i].n = strlen(otherwise);
        }
        if (!add_role(b, &role[i], false, err))
            return false;
    }
    bool by_name = hf_value_kind(&role[EXTRA]) == PULL_OBJECT;
    bool plain = !characters && b->class != CLASS_QWEN;
    if (!add_other_roles(b, err) || (by_name && !add_roles(b, &role[EXTRA], false, err)))
        return false;
    bool extra = hf_value_kind(&role[EXTRA]) != PULL_NULL && role[EXTRA].p && !by_name && !is_empty(&role[EXTRA]);
    return add_roles(b, &role[extra ? EXTRA : ADDITIONAL], plain, err);
}
