/* template: the chat template, tokenizer.chat_template: from tokenizer_config.json, else from chat_template.jinja with the
 * named templates of additional_chat_templates/, else from chat_template.json. */
#include "tokenizer/vocabulary_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "writer/put.h"

static bool
put_text(struct keys *keys, const struct hf_string *text, struct err *err)
{
    return text->n == 0 || keys_put_text(keys, "tokenizer", "chat_template", text->p, text->n, err);
}

/* Appends a name for use in a key: each character other than an ASCII letter or digit becomes '_'. */
static bool
chat_template_name_of(struct str *out, const struct hf_string *name)
{
    uint32_t code;
    for (size_t i = 0; i < name->n;) {
        char c = name->p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        size_t n = str_utf8_char(name->p + i, name->n - i, &code);
        str_add(out, plain ? &c : "_", 1);
        i += n != 0 ? n : 1;
    }
    return !out->failed;
}

/* A list of templates while it is written. */
struct listed {
    struct str bytes;           /* names except the default, each once */
    uint64_t n;
    struct hf_string fallback;  /* the template named "default" */
};

static bool
put_named(struct keys *keys, struct listed *l, struct str *key, const struct hf_string *template, struct err *err)
{
    static const char prefix[] = "tokenizer.chat_template.";
    struct str full = { 0 };
    str_text(&full, prefix);
    str_add(&full, key->p, key->len);
    bool ok = !full.failed || err_memory(err, full.len), again = false;
    for (size_t at = 0; ok && at < l->bytes.len && !again;) {
        uint64_t n = load_le64((const uint8_t *)l->bytes.p + at);
        again = n == key->len && memcmp(l->bytes.p + at + 8, key->p, key->len) == 0;
        at += 8 + n;
    }
    if (ok && !again) {
        put_counted(&l->bytes, key->p, key->len);
        l->n++;
    }
    ok = ok && (template->n == 0 || keys_put_text(keys, NULL, full.p, template->p, template->n, err));
    str_clear(&full);
    return ok;
}

static bool
put_one(struct keys *keys, struct listed *l, const struct hf_string *name, const struct hf_string *template, struct err *err)
{
    struct str key = { 0 };
    if (name->n == 0 || !template->p)
        return true;
    if (hf_string_is(name, "default")) {
        l->fallback = *template;
        return true;
    }
    bool ok;
    if (chat_template_name_of(&key, name))
        ok = put_named(keys, l, &key, template, err);
    else
        ok = err_memory(err, key.len);
    str_clear(&key);
    return ok;
}

static bool
put_entry(struct keys *keys, struct vocab *v, struct listed *l, const struct hf_value *one, struct err *err)
{
    static const char *const names[] = { "name", "template" };
    struct hf_value m[2];
    struct hf_string name, template;
    return hf_value_members(m, names, 2, one, err) && hf_value_string(&name, &v->chars, &m[0], err)
        && hf_value_string(&template, &v->chars, &m[1], err) && put_one(keys, l, &name, &template, err);
}

/* Puts the list of names, then the default template. */
static bool
end_list(struct keys *keys, struct listed *l, struct err *err)
{
    return (l->n == 0 || keys_put_array(keys, "tokenizer", "chat_templates", META_STRING, l->n, &l->bytes, err))
        && put_text(keys, &l->fallback, err);
}

static bool
put_list(struct keys *keys, struct vocab *v, const struct hf_value *list, struct err *err)
{
    struct listed l = { .bytes.max = keys->max };
    struct hf_value one = *list;
    struct pull json;
    bool ok = true;
    hf_value_pull(&json, list);
    pull_next(&json);
    for (;;) {
        struct pull ahead = json;
        if (!ok || pull_next(&ahead) == PULL_ARRAY_END)
            break;
        ok = pull_value_text(&json, &one.p, &one.n) || hf_value_fault(&json, list, "a template", err);
        one.at = list->at + (uint64_t)(one.p - list->p);
        ok = ok && put_entry(keys, v, &l, &one, err);
    }
    ok = ok && end_list(keys, &l, err);
    str_clear(&l.bytes);
    return ok;
}

static bool
put_value(struct keys *keys, struct vocab *v, const struct hf_value *value, struct err *err)
{
    struct hf_string text;
    enum pull_token kind = hf_value_kind(value);
    if (kind == PULL_ARRAY)
        return put_list(keys, v, value, err);
    return hf_value_string(&text, &v->chars, value, err) && put_text(keys, &text, err);
}

/* Reads a text file as Python does: line ends become '\n'. */
static bool
text_of(struct hf_string *out, struct vocab *v, const struct hf_text *file, struct err *err)
{
    if (!str_is_utf8(file->p, file->n))
        return err_set(err, ERR_MALFORMED, "%s is not UTF-8", file->name);
    char *p = hf_chars_room(&v->chars, file->n, err);
    if (!p)
        return false;
    *out = (struct hf_string){ p, 0 };
    for (size_t i = 0; i < file->n; i++)
        if (file->p[i] != '\r')
            p[out->n++] = file->p[i];
        else if (i + 1 == file->n || file->p[i + 1] != '\n')
            p[out->n++] = '\n';
    return true;
}

/* Puts the templates of additional_chat_templates/, and chat_template.jinja as the default unless one of them has that name. */
static bool
put_files(struct keys *keys, struct vocab *v, const struct hf_text *file, struct err *err)
{
    const struct hf_folder *folder = v->folder;
    struct listed l = { .bytes.max = keys->max };
    bool ok = text_of(&l.fallback, v, file, err);
    for (size_t i = 0; ok && i < folder->ntemplates; i++) {
        const struct hf_text *one = &folder->templates[i].text;
        const struct hf_string name = { one->name, strlen(one->name) - strlen(".jinja") };
        struct hf_string text;
        ok = text_of(&text, v, one, err) && put_one(keys, &l, &name, &text, err);
    }
    ok = ok && end_list(keys, &l, err);
    str_clear(&l.bytes);
    return ok;
}

bool
chat_template_put(struct keys *keys, struct vocab *v, const struct hf_value *in_config, struct err *err)
{
    static const char *const names[] = { "chat_template" };
    const struct hf_text *file = v->folder->file;
    struct hf_value whole, value;
    if (in_config->p)           /* even null, which means none */
        return put_value(keys, v, in_config, err);
    if (file[HF_TEMPLATE].p)
        return put_files(keys, v, &file[HF_TEMPLATE], err);
    return hf_value_file(&whole, &file[HF_TEMPLATE_JSON], err)
        && hf_value_members(&value, names, 1, &whole, err)
        && put_value(keys, v, &value, err);
}
