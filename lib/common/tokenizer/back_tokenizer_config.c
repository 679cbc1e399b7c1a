/* The texts of tokenizer_config.json, with the chat templates, and of generation_config.json. */
#include "tokenizer/back_tokenizer.h"

#include <string.h>

#include "tokenizer/back_priv.h"

#define TEMPLATE "tokenizer.chat_template"

/* --- chat templates */

static bool
check_text(const struct hf_string *text, const char *key, struct err *err)
{
    return str_is_utf8(str_or(text->p, ""), text->n)
        || err_set(err, ERR_MALFORMED, "key %s is not UTF-8", key);
}

static void
put_template(struct push *json, const char *name, size_t n, const struct hf_string *text)
{
    push_object(json);
    push_key(json, "name");
    push_string(json, name, n);
    push_key(json, "template");
    push_string(json, str_or(text->p, ""), text->n);
    push_end(json);
}

/* Writes the templates whose names are listed; one without a text is empty. */
static bool
put_named(struct push *json, const struct catalog *catalog, const struct meta_array *names, struct err *err)
{
    struct meta_iter it = meta_first(names);
    struct meta_value name;
    bool ok = true;
    while (ok && meta_next(&it, &name)) {
        struct str key = { 0 };
        str_text(&key, TEMPLATE ".");
        str_add(&key, name.as.s.p, name.as.s.n);
        ok = (!key.failed || err_memory(err, key.room)) && (str_is_utf8(key.p, key.len)
            || err_set(err, ERR_MALFORMED, "tokenizer.chat_templates contains a name that is not UTF-8"));
        if (ok) {
            const struct hf_string text = back_key_string(catalog, key.p);
            ok = check_text(&text, TEMPLATE "s", err);
            put_template(json, name.as.s.p, name.as.s.n, &text);
        }
        str_clear(&key);
    }
    return ok;
}

/* Writes the member chat_template: a text, or a list if there are named templates. */
static bool
put_templates(struct push *json, const struct catalog *catalog, struct err *err)
{
    const struct hf_string text = back_key_string(catalog, TEMPLATE);
    const struct meta *names = catalog_meta_find(catalog, "tokenizer.chat_templates");
    bool several = names && names->value.type == META_ARRAY && names->value.as.a.type == META_STRING
        && names->value.as.a.count != 0;
    if (!check_text(&text, TEMPLATE, err))
        return false;
    if (!several && text.n == 0)
        return true;
    push_key(json, "chat_template");
    if (!several) {
        push_string(json, text.p, text.n);
        return true;
    }
    push_array(json);
    if (text.n != 0)
        put_template(json, "default", 7, &text);
    bool ok = put_named(json, catalog, &names->value.as.a, err);
    push_end(json);
    return ok;
}

/* --- tokens */

static void
put_flag(struct push *json, const char *name, bool has, bool yes)
{
    if (!has)
        return;
    push_key(json, name);
    push_bool(json, yes);
}

/* Writes the added tokens by id. */
static bool
put_decoder(struct push *json, const struct back_tokens *tokens)
{
    struct str text = { 0 };
    push_key(json, "added_tokens_decoder");
    push_object(json);
    for (size_t i = 0; i < tokens->n; i++) {
        const struct back_token *t = &tokens->list[i];
        char id[24];
        if (!back_token_is_added(t))
            continue;
        text.len = 0;
        back_piece_text(&text, t);
        push_name(json, id, (size_t)snprintf(id, sizeof id, "%zu", i));
        push_object(json);
        push_key(json, "content");
        push_string(json, str_or(text.p, ""), text.len);
        put_flag(json, "lstrip", true, false);
        put_flag(json, "normalized", true, false);
        put_flag(json, "rstrip", true, false);
        put_flag(json, "single_word", true, false);
        put_flag(json, "special", true, back_token_is_special(t));
        push_end(json);
    }
    push_end(json);
    bool ok = !text.failed;
    str_clear(&text);
    return ok;
}

/* Writes the special tokens by their roles. Null is written for the unknown token of a BPE over bytes, which needs none, because
 * some classes have a default. */
static void
put_roles(struct push *json, const struct back_tokens *tokens)
{
    bool bert = back_tokens_are_bert(tokens), bytes = hf_string_is(&tokens->model, "gpt2");
    for (size_t i = 0; i < BACK_ROLES; i++) {
        const struct hf_string *text = &tokens->role[i];
        if (bert && i == BACK_CLS && text->n == 0)
            text = &tokens->role[BACK_BOS];
        else if (bert && i == BACK_SEP && text->n == 0)
            text = &tokens->role[BACK_EOS];
        if ((text->n == 0 && !(i == BACK_UNK && bytes)) || (bert && (i == BACK_BOS || i == BACK_EOS)))
            continue;
        push_key(json, back_role_name((enum back_role)i));
        if (text->n != 0)
            push_string(json, text->p, text->n);
        else
            push_null(json);
    }
}

bool
back_tokenizer_config(struct str *out, const struct back_tokens *tokens, const struct catalog *catalog, const char *class,
    bool decoder, struct err *err)
{
    static const char *const flags[3] = { "add_bos_token", "add_eos_token", "add_sep_token" };
    struct push json = { .out = out };
    push_object(&json);
    for (size_t i = 0; i < 3; i++)
        put_flag(&json, flags[i], tokens->has_add[i], tokens->add[i]);
    put_flag(&json, "add_prefix_space", tokens->has_space_prefix && !hf_string_is(&tokens->model, "gemma4"), tokens->space_prefix);
    if (decoder && !put_decoder(&json, tokens))
        return err_memory(err, tokens->n);
    put_roles(&json, tokens);
    bool ok = put_templates(&json, catalog, err);
    put_flag(&json, "do_lower_case", tokens->has_lowercase && hf_string_is(&tokens->model, "bert"), tokens->lowercase);
    push_key(&json, "tokenizer_class");
    push_text(&json, class);
    push_end(&json);
    return ok;
}

/* --- generation */

static const struct {
    const char *key, *member;
} sampling[] = {
    { "sequence", "sequence" }, { "top_k", "top_k" }, { "top_p", "top_p" }, { "min_p", "min_p" },
    { "xtc_probability", "xtc_probability" }, { "xtc_threshold", "xtc_threshold" }, { "temp", "temperature" },
    { "penalty_last_n", "penalty_last_n" }, { "penalty_repeat", "repetition_penalty" }, { "mirostat", "mirostat" },
    { "mirostat_tau", "mirostat_tau" }, { "mirostat_eta", "mirostat_eta" },
};

static void
put_value(struct push *json, const struct meta_value *value)
{
    uint64_t n;
    if (value->type == META_STRING)
        push_string(json, value->as.s.p, value->as.s.n);
    else if (value->type == META_F32)
        push_real(json, push_real_of((float)value->as.f));
    else if (value->type == META_F64)
        push_real(json, value->as.f);
    else if (meta_as_u64(value, &n))
        push_u64(json, n);
    else
        push_i64(json, value->as.i);
}

bool
back_generation_config(struct str *out, const struct back_tokens *tokens, const struct catalog *catalog, struct err *err)
{
    static const enum back_role ids[] = { BACK_BOS, BACK_EOS, BACK_PAD };
    static const char *const members[] = { "bos_token_id", "eos_token_id", "pad_token_id" };
    struct push json = { .out = out };
    for (size_t i = 0; i < sizeof sampling / sizeof *sampling; i++) {
        char key[64];
        snprintf(key, sizeof key, "general.sampling.%s", sampling[i].key);
        const struct meta *m = catalog_meta_find(catalog, key);
        if (!m || m->value.type == META_ARRAY || m->value.type == META_BOOL)
            continue;
        if (m->value.type == META_STRING && !str_is_utf8(str_or(m->value.as.s.p, ""), m->value.as.s.n))
            return err_set(err, ERR_MALFORMED, "key %s is not UTF-8", key);
        if (json.depth == 0) {
            push_object(&json);
            put_flag(&json, "do_sample", true, true);
        }
        push_key(&json, sampling[i].member);
        put_value(&json, &m->value);
    }
    if (json.depth == 0)
        return true;
    for (size_t i = 0; i < 3; i++)
        if (tokens->role[ids[i]].n != 0) {
            push_key(&json, members[i]);
            push_u64(&json, tokens->id[ids[i]]);
        }
    push_end(&json);
    return true;
}
