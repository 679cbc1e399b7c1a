#include "hf/modules.h"

#include <stdlib.h>
#include <string.h>

void
hf_modules_clear(struct hf_modules *m)
{
    for (size_t i = 0; i < m->n; i++)
        names_clear(&m->group[i].names);
    free(m->group);
    names_clear(&m->kept);
    names_clear(&m->experts);
    *m = (struct hf_modules){ 0 };
}

static const char *
last_part(const char *module)
{
    const char *dot = strrchr(module, '.');
    if (dot)
        return dot + 1;
    return module;
}

static bool
modules_is_one_of(const char *name, const char *const list[])
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list;
}

bool
hf_modules_is_embedding(const char *module)
{
    static const char *const list[] = { "embed_tokens", "wte", "wpe", "word_embeddings", "position_embeddings",
        "token_type_embeddings", "embed_positions", "embed_in", "tok_embeddings", NULL };
    return modules_is_one_of(last_part(module), list);
}

/* Names of modules tied to embeddings in nearly all models of transformers (_tied_weights_keys). */
static const char *const heads[] = { "lm_head", "embed_out", "proj_out", "cls.predictions.decoder", NULL };

bool
hf_modules_is_head(const char *module)
{
    return modules_is_one_of(last_part(module), heads) || modules_is_one_of(module, heads) || strcmp(module, "output") == 0;
}

/* --- text */

static void
add_string(struct str *out, const char *before, const char *text)
{
    str_format(out, "\"%s", before);
    str_add_json(out, text, strlen(text), false);
    str_text(out, "\"");
}

static void
add_item(struct str *out, bool *first, const char *text)
{
    str_text(out, *first ? "" : ", ");
    *first = false;
    add_string(out, "", text);
}

static bool
is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Appends a name as a regex; with `any`, '#' matches any number. Bytes beyond ASCII need no escape. */
static void
add_expression(struct str *out, const char *name, bool any)
{
    for (; *name != '\0'; name++) {
        if (any && *name == '#')
            str_text(out, "\\d+");
        else {
            if (!is_plain(*name) && (unsigned char)*name < 0x80)
                str_text(out, "\\");
            str_add(out, name, 1);
        }
    }
    str_text(out, "$");
}

static void
put_expression(struct str *out, const char *before, const char *name, bool any)
{
    struct str text = { 0 };
    add_expression(&text, name, any);
    if (!text.failed)
        add_string(out, before, text.p);
    out->failed = out->failed || text.failed;
    str_clear(&text);
}

void
hf_modules_name(struct str *out, const char *name)
{
    add_string(out, "", name);
}

void
hf_modules_expression(struct str *out, const char *before, const char *name)
{
    put_expression(out, before, name, false);
}

/* --- lists of names */

/* Returns the index of `key`, or where it would be inserted. */
static size_t
modules_place_of(const struct names *list, const char *key)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(list->name[mid], key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool
is_in(const struct names *list, const char *key)
{
    size_t i = modules_place_of(list, key);
    return i < list->n && strcmp(list->name[i], key) == 0;
}

static bool
is_prefix_of_one(const struct names *list, const char *key)
{
    size_t i = modules_place_of(list, key);
    return i < list->n && str_begins(list->name[i], key);
}

/* Appends a name changed by `how`, which may be NULL. Sets out->failed if out of memory. */
static void
add_changed(struct names *list, const char *name, void (*how)(char *p), struct str *out)
{
    struct err ignored;
    err_init(&ignored);
    if (out->failed || !names_add(list, name, strlen(name), &ignored))
        out->failed = true;
    else if (how)
        how(list->name[list->n - 1]);
}

static void
reverse(char *p)
{
    for (size_t i = 0, n = strlen(p); i < n / 2; i++) {
        char c = p[i];
        p[i] = p[n - 1 - i];
        p[n - 1 - i] = c;
    }
}

/* Replaces each numeric component by '#'. A name that contains '#' is not changed. */
static void
mask_numbers(char *p)
{
    char *to = p;
    if (strchr(p, '#'))
        return;
    while (*p != '\0') {
        size_t n = strcspn(p, "."), digits = strspn(p, "0123456789");
        if (n != 0 && digits == n)
            *to++ = '#';
        else {
            memmove(to, p, n);
            to += n;
        }
        p += n;
        if (*p == '.')
            *to++ = *p++;
    }
    *to = '\0';
}

/* Lists all quantized modules, changed by `how` and sorted. */
static void
all_encoded(struct names *list, const struct hf_modules *m, void (*how)(char *p), struct str *out)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = 0; j < m->group[i].names.n; j++)
            add_changed(list, m->group[i].names.name[j], how, out);
    names_sort(list);
}

/* --- transformers */

struct encoded_names {
    struct names forward, backward;
};

/* Returns true if an entry with this name would also match a quantized module, or if the name contains regex syntax. */
static bool
is_ambiguous(const struct encoded_names *encoded, const char *name, struct str *out)
{
    struct names key = { 0 };
    struct str below = { 0 };
    bool more = false;
    for (const char *p = name; *p != '\0'; p++)
        more = more || !(is_plain(*p) || *p == '.' || *p == '-' || (unsigned char)*p >= 0x80);
    str_format(&below, "%s.", name);
    add_changed(&key, name, reverse, out);
    out->failed = out->failed || below.failed;
    more = more || out->failed || is_prefix_of_one(&encoded->forward, below.p)
        || is_prefix_of_one(&encoded->backward, key.name[0]);
    names_clear(&key);
    str_clear(&below);
    return more;
}

static void
add_not_converted(struct str *out, bool *first, const struct encoded_names *encoded, const char *name)
{
    if (!is_ambiguous(encoded, name, out)) {
        add_item(out, first, name);
        return;
    }
    str_text(out, *first ? "" : ", ");
    *first = false;
    hf_modules_expression(out, "", name);
}

void
hf_modules_not_converted(struct str *out, const struct hf_modules *m, bool experts)
{
    struct encoded_names encoded = { 0 };
    bool first = true;
    if (m->kept.n == 0 && !m->head && (!experts || m->experts.n == 0)) {
        str_text(out, "null");
        return;
    }
    all_encoded(&encoded.forward, m, NULL, out);
    all_encoded(&encoded.backward, m, reverse, out);
    str_text(out, "[");
    for (size_t i = 0; i < m->kept.n; i++)
        add_not_converted(out, &first, &encoded, m->kept.name[i]);
    for (size_t i = 0; experts && i < m->experts.n; i++)
        add_not_converted(out, &first, &encoded, m->experts.name[i]);
    for (size_t i = 0; !m->head && heads[i]; i++)
        add_not_converted(out, &first, &encoded, heads[i]);
    str_text(out, "]");
    names_clear(&encoded.forward);
    names_clear(&encoded.backward);
}

/* --- compressed-tensors */

void
hf_modules_ignored(struct str *out, const struct hf_modules *m)
{
    bool first = true;
    str_text(out, "[");
    for (size_t i = 0; i < m->kept.n; i++)
        add_item(out, &first, m->kept.name[i]);
    if (!m->head)
        add_item(out, &first, heads[0]);
    str_text(out, "]");
}

/* --- GPTQModel and optimum */

static void
modules_add_member(struct str *out, bool *first, const char *before, const char *name, bool any, const char *value)
{
    str_text(out, *first ? "" : ", ");
    *first = false;
    put_expression(out, before, name, any);
    str_format(out, ": %s", value);
}

/* Lists the modules of all lists except `but`, with '#' for numbers. */
static void
all_others(struct names *list, const struct hf_modules *m, const struct names *but, struct str *out)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = 0; &m->group[i].names != but && j < m->group[i].names.n; j++)
            add_changed(list, m->group[i].names.name[j], mask_numbers, out);
    for (size_t i = 0; &m->kept != but && i < m->kept.n; i++)
        add_changed(list, m->kept.name[i], mask_numbers, out);
    names_sort(list);
}

void
hf_modules_members(struct str *out, bool *first, const struct hf_modules *m, const struct names *names, const char *before,
    const char *value)
{
    struct names others = { 0 }, shared = { 0 };
    all_others(&others, m, names, out);
    for (size_t i = 0; !out->failed && i < names->n; i++) {
        add_changed(&shared, names->name[i], mask_numbers, out);
        const char *form = "";
        if (!out->failed)
            form = shared.name[shared.n - 1];
        if (out->failed || (strcmp(form, names->name[i]) != 0 && !is_in(&others, form)))
            continue;           /* it has numbers, and no other list contains the same form */
        modules_add_member(out, first, before, names->name[i], false, value);
        free(shared.name[--shared.n]);
    }
    names_sort(&shared);
    for (size_t i = 0; i < shared.n; i++)
        modules_add_member(out, first, before, shared.name[i], true, value);
    names_clear(&others);
    names_clear(&shared);
}

enum { ENDS_MOST = 64 };        /* enough for a model with uniform layers */

/* Returns the part of a form after its last number. */
static const char *
modules_end_of(const char *form)
{
    const char *number = strrchr(form, '#');
    if (number && number[1] == '.' && number[2] != '\0')
        return number + 2;
    return form;
}

static bool
is_substring_of_one(const struct names *list, const char *end)
{
    for (size_t i = 0; i < list->n; i++)
        if (strstr(list->name[i], end))
            return true;
    return false;
}

void
hf_modules_ends(struct str *out, const struct hf_modules *m)
{
    struct names forms = { 0 }, ends = { 0 };
    all_encoded(&forms, m, mask_numbers, out);
    for (size_t i = 0; i < forms.n; i++)
        add_changed(&ends, modules_end_of(forms.name[i]), NULL, out);
    names_sort(&ends);
    bool apart = ends.n <= ENDS_MOST;
    for (size_t i = 0; apart && i < ends.n; i++)
        apart = !strchr(ends.name[i], '#') && !is_substring_of_one(&m->kept, ends.name[i]);
    if (!apart) {
        names_clear(&ends);
        all_encoded(&ends, m, NULL, out);
    }
    bool first = true;
    str_text(out, "[[");
    for (size_t i = 0; i < ends.n; i++)
        add_item(out, &first, ends.name[i]);
    str_text(out, "]]");
    names_clear(&forms);
    names_clear(&ends);
}
