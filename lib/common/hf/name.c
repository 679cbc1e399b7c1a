#include "hf/name.h"

#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "hf/card.h"
#include "hf/member.h"
#include "hf/title.h"

/* --- a title */

/* Appends a title: "Some Model v2" for "org/some-model-v2". Appends nothing for a path. */
static void
add_title(struct str *s, const struct hf_string *id)
{
    const char *slash = memchr(id->p, '/', id->n), *end = id->p + id->n;
    if (slash && memchr(slash + 1, '/', (size_t)(end - slash - 1)))
        return;
    const char *p = slash && !memchr(id->p, ' ', id->n) ? slash + 1 : id->p;
    hf_title_add(s, p, (size_t)(end - p));
}

/* --- names that llama.cpp treats specially */

static bool
has_token(const struct meta_value *tokens, const char *text)
{
    size_t n, size = strlen(text);
    const uint8_t *p = meta_bytes(tokens, &n);
    for (size_t at = 0; p && at + 8 <= n;) {
        uint64_t len = load_le64(p + at);
        if (len == size && memcmp(p + at + 8, text, size) == 0)
            return true;
        at += 8 + len;
    }
    return false;
}

/* Returns true if the vocabulary has the tokens that llama.cpp requires if the name contains phi-3. */
static bool
has_phi3_tokens(const struct keys *keys)
{
    static const char *const texts[] = { "</s>", "<unk>", "<s>", "<|endoftext|>" };
    const struct meta_value *tokens = keys_find(keys, "tokenizer.ggml.tokens");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!tokens || !has_token(tokens, texts[i]))
            return false;
    return true;
}

static bool
is_spm(const struct keys *keys)
{
    size_t n;
    const struct meta_value *model = keys_find(keys, "tokenizer.ggml.model");
    const char *p = NULL;
    if (model)
        p = meta_bytes(model, &n);
    return p && str_is(p, n, "llama");
}

/* Replaces "phi3", "phi-3" and "phi 3" by "phi", `mark` and "3". Returns false if the name contains none of them. */
static bool
mark_phi3(struct str *name, char mark)
{
    struct str out = { 0 };
    bool any = false;
    for (size_t i = 0; i < name->len;) {
        const char *p = name->p + i;
        size_t left = name->len - i;
        size_t gap = left > 3 && (p[3] == '-' || p[3] == ' ');
        bool is = left > 3 + gap && strncasecmp(p, "phi", 3) == 0 && p[3 + gap] == '3';
        str_add(&out, p, is ? 3 : 1);
        if (is)
            str_add(&out, &mark, 1);
        i += is ? 3 + gap : 1;
        any = any || is;
    }
    str_clear(name);
    *name = out;
    return any;
}

static bool
adapt_to_llama(struct str *name, const struct keys *keys, bool phi3)
{
    if (!has_phi3_tokens(keys))
        mark_phi3(name, ' ');
    else if (phi3 && is_spm(keys) && !mark_phi3(name, '-')) {
        bool none = name->len == 0;
        str_text(name, none ? "Phi-3" : " (Phi-3)");
    }
    return !name->failed;
}

bool
hf_name_put(struct keys *keys, const struct hf_folder *folder, bool phi3, struct err *err)
{
    static const char *const member_of[] = { "_name_or_path" };
    const struct hf_text *card = &folder->file[HF_README];
    struct hf_chars chars = { 0 };
    struct hf_value config, value;
    struct hf_string id = { 0 };
    struct str name = { 0 };
    json_t *front = NULL;
    bool ok = hf_front_matter(&front, card, err);
    const json_t *given = json_object_get(front, "name");
    given = json_is_string(given) ? given : json_object_get(front, "model_name");
    ok = ok && hf_value_file(&config, &folder->file[HF_CONFIG], err) && hf_value_members(&value, member_of, 1, &config, err)
        && (hf_value_kind(&value) != PULL_STRING || hf_value_string(&id, &chars, &value, err));
    if (ok && json_is_string(given))
        str_add(&name, json_string_value(given), json_string_length(given));
    else if (ok && id.p)
        add_title(&name, &id);
    ok = ok && (adapt_to_llama(&name, keys, phi3) || err_memory(err, name.len));
    ok = ok && (name.len == 0 || keys_put_text(keys, NULL, "general.name", name.p, name.len, err));
    json_decref(front);
    str_clear(&name);
    hf_chars_clear(&chars);
    return ok;
}
