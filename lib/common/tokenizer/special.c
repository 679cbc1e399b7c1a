/* special: the ids of special tokens, and the flags that add them to the start or end of a text.
 *
 * The text of a special token is in tokenizer_config.json, its id in "added_tokens" of tokenizer.json; config.json has the
 * remaining ids. The post-processor of tokenizer.json overrides the flags of tokenizer_config.json. Source: SpecialVocab of
 * gguf-py, which has no key for "cls".
 */
#include "tokenizer/special_priv.h"

#include <inttypes.h>
#include <string.h>

static const char *const role_keys[ROLES] = {
    "bos_token_id", "eos_token_id", "unknown_token_id", "seperator_token_id", "padding_token_id", NULL, "mask_token_id",
    "eot_token_id", "eom_token_id"
};

/* Members of tokenizer_config.json, then of config.json. */
static const char *const config_members[CONFIG_MEMBERS] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token", "eot_token",
    "eom_token", "add_bos_token", "add_eos_token", "add_unk_token", "add_sep_token", "add_pad_token", "add_cls_token",
    "add_mask_token", "add_eot_token", "add_eom_token", "chat_template"
};
static const char *const id_members[ROLES] = {
    "bos_token_id", "eos_token_id", "unk_token_id", "sep_token_id", "pad_token_id", "cls_token_id", "mask_token_id",
    "eot_token_id", "eom_token_id"
};

void
special_flag(struct special *s, enum special_role role, bool yes)
{
    if (!s->flagged[role])
        s->flag_order[s->nflags++] = role;
    s->flagged[role] = true;
    s->flag[role] = yes;
}

static bool
read_name(struct special_name *name, struct vocab *v, const struct hf_value *value, struct err *err)
{
    static const char *const content[] = { "content" };
    struct hf_value inner = *value;
    *name = (struct special_name){ .object = hf_value_kind(value) == PULL_OBJECT };
    return (!name->object || hf_value_members(&inner, content, 1, value, err))
        && hf_value_string(&name->text, &v->chars, &inner, err);
}

/* --- normalizers with a key */

static bool
take_normalizer(struct keys *keys, struct vocab *v, const struct hf_value *normalizer, bool inside, struct err *err)
{
    static const char *const names[] = { "type", "lowercase", "strip_accents", "normalizers" };
    static const char *const made[] = { NULL, "normalizer.lowercase", "normalizer.strip_accents" };
    struct hf_value m[4], one;
    struct hf_string type;
    struct pull json;
    bool end, yes;
    if (!hf_value_members(m, names, 4, normalizer, err) || !hf_value_string(&type, &v->chars, &m[0], err))
        return false;
    bool bert = hf_string_is(&type, "BertNormalizer");
    bool alone[] = { false, hf_string_is(&type, "Lowercase"), hf_string_is(&type, "StripAccents") };
    for (int i = 1; i < 3; i++) {
        if (!hf_value_bool(&yes, &m[i], true, err))
            return false;
        enum pull_token kind = hf_value_kind(&m[i]);
        bool given = bert && (kind == PULL_TRUE || kind == PULL_FALSE);
        if ((given || alone[i]) && !keys_put_bool(keys, "tokenizer.ggml", made[i], alone[i] || yes, err))
            return false;
    }
    if (!hf_string_is(&type, "Sequence") || inside || !m[3].p)
        return true;
    if (!hf_array_begin(&json, &m[3], err))
        return false;
    while (hf_array_next(&one, &end, &json, &m[3], err) && !end)
        if (!take_normalizer(keys, v, &one, true, err))
            return false;
    return err->kind == ERR_NONE;
}

/* --- ids */

static bool
put_id(struct keys *keys, struct special *s, enum special_role role, uint64_t id, struct err *err)
{
    if (s->found[role] || (s->limit != 0 && id >= s->limit))
        return true;
    s->found[role] = true;
    if (id > UINT32_MAX)
        return err_set(err, ERR_MALFORMED, "%s: id %" PRIu64 " overflows 32 bits",
            config_members[role], id);
    return !role_keys[role] || keys_put_u32(keys, "tokenizer.ggml", role_keys[role], (uint32_t)id, err);
}

static bool
has_role(const struct special *s, enum special_role role)
{
    return (role != EOT || s->has_eot) && (role != EOM || s->has_eom) && (role != PAD || !s->no_pad);
}

/* Finds the first added token of tokenizer.json with a text, else any token with it. */
static bool
find_added(uint64_t *id, bool *found, struct vocab *v, const struct hf_string *text, struct err *err)
{
    struct added_walk walk;
    struct added_token a;
    size_t any;
    bool end;
    *found = false;
    if (!added_begin(&walk, &v->part[HF_ADDED], HF_ADDED_ARRAY, err))
        return false;
    while (!*found && added_next(&walk, v, &a, &end, err) && !end)
        if (hf_strings_equal(text, &a.text)) {
            *found = true;
            *id = a.id;
        }
    if (err->kind != ERR_NONE)
        return false;
    if (!*found && tokens_find(v, text, &any)) {
        *found = true;
        *id = any;
    }
    return true;
}

static bool
role_of_word(enum special_role *role, const char *word)
{
    static const char *const words[ROLES] = { "bos", "eos", "unk", "sep", "pad", "cls", "mask", "eot", "eom" };
    for (int i = 0; i < ROLES; i++)
        if (strcmp(words[i], word) == 0) {
            *role = (enum special_role)i;
            return true;
        }
    return false;
}

/* Puts ids that the family gives to roles without one. */
static bool
put_by_family(struct keys *keys, struct special *s, struct err *err)
{
    const struct vocabulary_options *options = s->v->options;
    for (size_t i = 0; i < options->nspecial; i++) {
        const struct tokenizer_special *row = &options->special[i];
        const struct hf_string text = { row->text, strlen(row->text) };
        enum special_role role;
        uint64_t id;
        bool found;
        if (!role_of_word(&role, row->role))
            return err_set(err, ERR_MALFORMED, "unknown role '%s' of a special token", row->role);
        if (s->found[role])
            continue;
        if (!find_added(&id, &found, s->v, &text, err))
            return false;
        if (!found)
            return err_set(err, ERR_MALFORMED, "the tokenizer has no token \"%s\", which a %s needs", row->text,
                options->class);
        if (!put_id(keys, s, role, id, err))
            return false;
    }
    return true;
}

/* Puts ids by text; the first added token with the text counts. */
static bool
put_by_text(struct keys *keys, struct special *s, struct err *err)
{
    uint64_t id[ROLES];
    bool found[ROLES] = { false }, end;
    struct added_walk walk;
    struct added_token a;
    if (!added_begin(&walk, &s->v->part[HF_ADDED], HF_ADDED_ARRAY, err))
        return false;
    while (added_next(&walk, s->v, &a, &end, err) && !end)
        for (int i = 0; i < ROLES; i++)
            if (!found[i] && hf_strings_equal(&s->name[i].text, &a.text)) {
                found[i] = true;
                id[i] = a.id;
            }
    bool ok = err->kind == ERR_NONE;
    for (int i = 0; ok && i < ROLES; i++)
        ok = !found[i] || !has_role(s, (enum special_role)i) || put_id(keys, s, (enum special_role)i, id[i], err);
    return ok;
}

/* Puts ids from config.json. Lists of ids are skipped. */
static bool
put_by_config(struct keys *keys, struct special *s, struct err *err)
{
    static const char *const inner[] = { "text_config" };
    struct hf_value config, text, ids[ROLES], more[ROLES];
    if (!hf_value_file(&config, &s->v->folder->file[HF_CONFIG], err) || !hf_value_members(&text, inner, 1, &config, err)
        || !hf_value_members(ids, id_members, ROLES, &config, err)
        || !hf_value_members(more, id_members, ROLES, &text, err))
        return false;
    for (int i = 0; i < ROLES; i++) {
        enum pull_token kind = hf_value_kind(&ids[i]);
        const struct hf_value *value;
        if (kind == PULL_END || kind == PULL_NULL)
            value = &more[i];
        else
            value = &ids[i];
        struct pull json;
        uint64_t id;
        kind = hf_value_kind(value);
        if (!has_role(s, (enum special_role)i) || kind == PULL_END || kind == PULL_NULL || kind == PULL_ARRAY)
            continue;
        if (kind != PULL_NUMBER)
            return hf_value_wrong(value, "an integer", err);
        hf_value_pull(&json, value);
        pull_next(&json);
        if (!pull_as_u64(&json, &id))
            return hf_value_wrong(value, "a non-negative integer", err);
        if (!put_id(keys, s, (enum special_role)i, id, err))
            return false;
    }
    return true;
}

/* --- all */

static bool
read_config(struct special *s, struct err *err)
{
    struct hf_value any;
    struct pull json;
    s->configured = false;
    if (s->v->config.p) {
        hf_value_pull(&json, &s->v->config);
        pull_next(&json);
        s->configured = pull_next(&json) == PULL_KEY;
    }
    any = s->v->config;
    if (!hf_value_members(s->config, config_members, CONFIG_MEMBERS, &any, err))
        return false;
    for (int i = 0; i < ROLES; i++)
        if (!read_name(&s->name[i], s->v, &s->config[TEXT + i], err))
            return false;
    return true;
}

/* Checks for a negative pad_token_id, which HunYuan has for none. For other classes it is an error. */
static bool
read_no_pad(struct special *s, struct err *err)
{
    static const char *const names[] = { "pad_token_id", "text_config" };
    struct hf_value config, m[2], inner;
    if (!str_begins(s->v->options->class, "HunYuan"))
        return true;
    if (!hf_value_file(&config, &s->v->folder->file[HF_CONFIG], err) || !hf_value_members(m, names, 2, &config, err)
        || !hf_value_members(&inner, names, 1, &m[1], err))
        return false;
    const struct hf_value *value = &inner;
    if (!inner.p)
        value = &m[0];
    s->no_pad = hf_value_kind(value) == PULL_NUMBER && *value->p == '-';
    return true;
}

static bool
read_processors(struct special *s, struct err *err)
{
    if (!s->v->json.p)
        return true;
    if (s->configured && !is_set(&s->name[BOS]))
        s->name[BOS] = s->name[CLS];
    if (s->configured && !is_set(&s->name[EOS]))
        s->name[EOS] = s->name[SEP];
    return special_post(s, &s->v->part[HF_POST], err);
}

static bool
put_flags(struct keys *keys, struct special *s, struct err *err)
{
    for (int i = 0; s->configured && i < ROLES; i++) {
        enum pull_token kind = hf_value_kind(&s->config[ADD + i]);
        if ((kind == PULL_TRUE || kind == PULL_FALSE) && !s->flagged[i] && has_role(s, (enum special_role)i))
            special_flag(s, (enum special_role)i, kind == PULL_TRUE);
    }
    static const char *const names[ROLES] = { [BOS] = "add_bos_token", [EOS] = "add_eos_token", [SEP] = "add_sep_token" };
    for (size_t i = 0; i < s->nflags; i++) {
        enum special_role role = s->flag_order[i];
        if (names[role] && !keys_put_bool(keys, "tokenizer.ggml", names[role], s->flag[role], err))
            return false;
    }
    return true;
}

bool
special_put(struct keys *keys, struct vocab *v, uint64_t limit, struct err *err)
{
    struct special s = { .v = v, .limit = limit };
    return read_config(&s, err)
        && read_no_pad(&s, err)
        && read_processors(&s, err)
        && (!s.configured || put_by_text(keys, &s, err))
        && put_by_config(keys, &s, err)
        && put_by_family(keys, &s, err)
        && put_flags(keys, &s, err)
        && (!s.configured || chat_template_put(keys, v, &s.config[TEMPLATE], err))
        && take_normalizer(keys, v, &v->part[HF_NORMALIZER], false, err);
}
