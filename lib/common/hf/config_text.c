#include "hf/config_text.h"

#include <string.h>

#include "base/pull.h"

struct edit {
    struct str *out;
    struct pull json;
    const char *done;       /* everything before this is in `out` or was dropped */
};

static bool
is_about_quantization(const struct pull_text *key)
{
    return pull_text_is(key, "quantization_config") || pull_text_is(key, "quantization")
        || pull_text_is(key, "compression_config");
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
    return q > first && q[-1] == ',' ? q - 1 : p;
}

/* Returns the position after white space and a comma, or p if there is no comma. */
static const char *
comma_after(const char *p, const char *end)
{
    const char *q = p;
    while (q < end && (*q == ' ' || *q == '\t' || *q == '\n' || *q == '\r'))
        q++;
    return q < end && *q == ',' ? q + 1 : p;
}

/* Drops the member whose key was just read, with one of the commas around it. */
static bool
drop_member(struct edit *e, bool kept)
{
    const char *key = e->json.start, *p;
    size_t n;
    if (!pull_value_text(&e->json, &p, &n))
        return false;
    if (kept)
        copy_to(e, comma_before(key, e->done));
    else
        copy_to(e, key);
    e->done = kept ? p + n : comma_after(p + n, e->json.end);
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
        else if (t == PULL_KEY && !drop_member(e, *here))
            return false;
    }
    copy_to(e, e->json.end);
    return true;
}

static bool
drop_quantization(struct str *out, const struct catalog_config *config, struct err *err)
{
    char why[PULL_EXPLAIN];
    struct edit e = { .out = out, .done = config->text };
    pull_init(&e.json, config->text, config->n, 0);
    e.json.words = true;
    return edit(&e) || err_set(err, ERR_MALFORMED, e.json.fault ? pull_fault_at(&e.json) : 0, "config.json is not a JSON object"
        "%s%s", e.json.fault ? ": " : "", e.json.fault ? pull_explain(why, &e.json) : "");
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

bool
hf_config_text(struct str *out, const struct catalog_config *config, bool plain,
    const struct hf_quantization *quantization, struct err *err)
{
    if (!plain && !quantization)
        str_add(out, config->text, config->n);
    else if (!drop_quantization(out, config, err))
        return false;
    if (quantization && !out->failed)
        put_first(out, "quantization_config", &quantization->text);
    if (quantization && quantization->alias && !out->failed)
        put_first(out, quantization->alias, &quantization->text);
    return !out->failed || err_memory(err, out->room);
}
