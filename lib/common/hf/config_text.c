#include "hf/config_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/pull.h"
#include "hf/folder.h"

struct edit {
    struct str *out;
    struct pull json;
    const char *done;       /* everything before this is in `out` or was dropped */
    bool experts;           /* "expert_dtype" was dropped */
};

static bool
is_about_quantization(const struct pull_text *key)
{
    return pull_text_is(key, "quantization_config") || pull_text_is(key, "quantization")
        || pull_text_is(key, "compression_config") || pull_text_is(key, "expert_dtype");
}

static void
copy_to(struct edit *e, const char *end)
{
    str_add(e->out, e->done, (size_t)(end - e->done));
    e->done = end;
}

/* Returns the comma before p if only white space is in between, else p. */
static const char *
comma_before(const char *p, const char *first)
{
    const char *q = p;
    while (q > first && (q[-1] == ' ' || q[-1] == '\t' || q[-1] == '\n' || q[-1] == '\r'))
        q--;
    if (q > first && q[-1] == ',')
        return q - 1;
    return p;
}

/* Returns the position after white space and a comma, or p if there is no comma. */
static const char *
comma_after(const char *p, const char *end)
{
    const char *q = p;
    while (q < end && (*q == ' ' || *q == '\t' || *q == '\n' || *q == '\r'))
        q++;
    if (q < end && *q == ',')
        return q + 1;
    return p;
}

/* Drops the member whose key was just read, with one of the commas around it. */
static bool
drop_member(struct edit *e, bool kept)
{
    const char *key = e->json.start, *p;
    size_t n;
    if (!pull_value_text(&e->json, &p, &n))
        return false;
    if (kept) {
        copy_to(e, comma_before(key, e->done));
        e->done = p + n;
    } else {
        copy_to(e, key);
        e->done = comma_after(p + n, e->json.end);
    }
    return true;
}

/* Edits the whole text. The nesting depth is limited by the JSON reader. */
static bool
edit(struct edit *e)
{
    bool kept[PULL_DEPTH_MAX];          /* for each open object: a member was kept */
    if (pull_next(&e->json) != PULL_OBJECT)
        return false;
    kept[0] = false;
    for (enum pull_token t; (t = pull_next(&e->json)) != PULL_END;) {
        bool *here = &kept[e->json.depth ? e->json.depth - 1 : 0];
        if (t == PULL_BAD)
            return false;
        if (t == PULL_OBJECT)
            *here = false;
        else if (t == PULL_KEY && !is_about_quantization(&e->json.token))
            *here = true;
        else if (t == PULL_KEY) {
            e->experts = e->experts || pull_text_is(&e->json.token, "expert_dtype");
            if (!drop_member(e, *here))
                return false;
        }
    }
    copy_to(e, e->json.end);
    return true;
}

/* Drops what is about quantization. *experts: "expert_dtype" was there. */
static bool
drop_quantization(struct str *out, const struct catalog_config *config, bool *experts, struct err *err)
{
    char why[PULL_EXPLAIN];
    struct edit e = { .out = out, .done = config->text };
    pull_init(&e.json, config->text, config->n, 0);
    e.json.words = true;
    bool ok = edit(&e);
    *experts = e.experts;
    if (!ok && e.json.fault)
        return err_at(err, ERR_MALFORMED, pull_fault_at(&e.json), "config.json is not a JSON object: %s", pull_explain(why, &e.json));
    return ok || err_at(err, ERR_MALFORMED, 0, "config.json is not a JSON object");
}

/* Inserts an object as the first member of a text. */
static void
put_first(struct str *text, const char *name, const struct str *object)
{
    struct str out = { 0 };
    size_t at = 0;
    while (at < text->len && text->p[at] != '{')
        at++;
    size_t next = at + 1 < text->len ? at + 1 : text->len;
    while (next < text->len && strchr(" \t\r\n", text->p[next]))
        next++;
    str_add(&out, text->p, at + 1);
    str_format(&out, "\n  \"%s\": ", name);
    str_add(&out, object->p, object->len);
    str_text(&out, next < text->len && text->p[next] != '}' ? "," : "");
    str_add(&out, text->p + at + 1, text->len - at - 1);
    out.failed = out.failed || text->failed;
    str_clear(text);
    *text = out;
}

/* Returns true if a member is the object that describes the language model of several. */
static bool
is_language_model(const struct pull_text *key)
{
    return pull_text_is(key, "text_config") || pull_text_is(key, "language_config") || pull_text_is(key, "llm_config");
}

/* Returns true if a value is a type in which a model is loaded. */
static bool
is_float_type(const char *p, size_t n)
{
    static const char *const words[] = { "\"bfloat16\"", "\"float16\"", "\"float32\"" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(p, n, words[i]))
            return true;
    return false;
}

/* Appends the new value of a member. */
static void
put_value(struct edit *e, const struct hf_config_changes *changes, bool tie, bool type)
{
    if (tie)
        str_text(e->out, "false");
    else if (type)
        str_format(e->out, "\"%s\"", changes->dtype);
    else
        str_format(e->out, "%" PRIu64, changes->vocabulary);
}

/* Replaces the values of a text that change. Sets what it finds: *tied at the top level, *sized anywhere. */
static bool
set_values(struct edit *e, const struct hf_config_changes *changes, bool *tied, bool *sized)
{
    bool inner = false, quantization = false;
    const char *p;
    size_t n;
    if (pull_next(&e->json) != PULL_OBJECT)
        return false;
    for (enum pull_token t; (t = pull_next(&e->json)) != PULL_END;) {
        if (t == PULL_BAD)
            return false;
        if (t != PULL_KEY)
            continue;
        const bool top = e->json.depth == 1, here = top || (e->json.depth == 2 && inner);
        const bool tie = here && changes->untied && pull_text_is(&e->json.token, "tie_word_embeddings");
        const bool size = here && changes->vocabulary != 0 && pull_text_is(&e->json.token, "vocab_size");
        const bool type = changes->dtype && (top || (e->json.depth == 2 && !quantization))
            && (pull_text_is(&e->json.token, "dtype") || pull_text_is(&e->json.token, "torch_dtype"));
        if (top) {
            inner = is_language_model(&e->json.token);
            quantization = is_about_quantization(&e->json.token);
        }
        if (!tie && !size && !type)
            continue;
        if (!pull_value_text(&e->json, &p, &n))
            return false;
        if (type && !is_float_type(p, n))
            continue;
        copy_to(e, p);
        put_value(e, changes, tie, type);
        e->done = p + n;
        *tied = *tied || (tie && top);
        *sized = *sized || size;
    }
    copy_to(e, e->json.end);
    return true;
}

/* Sets members in a text. */
static bool
change_text(struct str *text, const struct hf_config_changes *changes, struct err *err)
{
    char why[PULL_EXPLAIN];
    struct str out = { 0 }, value = { 0 };
    struct edit e = { .out = &out, .done = text->p };
    bool tied = !changes->untied, sized = changes->vocabulary == 0;
    pull_init(&e.json, text->p, text->len, 0);
    e.json.words = true;
    bool ok = set_values(&e, changes, &tied, &sized) || err_set(err, ERR_MALFORMED, "config.json is not a JSON object"
        "%s%s", e.json.fault ? ": " : "", e.json.fault ? pull_explain(why, &e.json) : "");
    if (ok && !sized) {
        str_format(&value, "%" PRIu64, changes->vocabulary);
        put_first(&out, "vocab_size", &value);
        str_clear(&value);
    }
    if (ok && !tied) {
        str_text(&value, "false");
        put_first(&out, "tie_word_embeddings", &value);
        str_clear(&value);
    }
    if (ok) {
        str_clear(text);
        *text = out;
    } else
        str_clear(&out);
    return ok && (!text->failed || err_memory(err, text->room));
}

bool
hf_config_apply(struct catalog *catalog, const struct hf_config_changes *changes, struct err *err)
{
    const struct catalog_config *config = hf_folder_config(catalog);
    struct str text = { 0 };
    if (!config || (!changes->untied && changes->vocabulary == 0 && !changes->dtype))
        return true;
    str_add(&text, config->text, config->n);
    bool ok = (!text.failed || err_memory(err, config->n)) && change_text(&text, changes, err)
        && catalog_replace_config(catalog, (size_t)(config - catalog_config_at(catalog, 0)), text.p, text.len, err);
    str_clear(&text);
    return ok;
}

bool
hf_config_text(struct str *out, const struct catalog_config *config, bool plain,
    const struct hf_quantization *quantization, struct err *err)
{
    bool experts = false;
    struct str value = { 0 };
    if (!plain && !quantization)
        str_add(out, config->text, config->n);
    else if (!drop_quantization(out, config, &experts, err))
        return false;
    if (quantization && quantization->experts && (experts || strcmp(quantization->experts, "fp8") != 0) && !out->failed) {
        str_format(&value, "\"%s\"", quantization->experts);
        put_first(out, "expert_dtype", &value);
        str_clear(&value);
    }
    if (quantization && quantization->text.len != 0 && !out->failed)
        put_first(out, "quantization_config", &quantization->text);
    if (quantization && quantization->alias && !out->failed)
        put_first(out, quantization->alias, &quantization->text);
    return !out->failed || err_memory(err, out->room);
}
