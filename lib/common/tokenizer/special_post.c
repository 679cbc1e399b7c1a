/* The post-processor of a tokenizer.json: which special tokens it adds to a text, and which roles they have. */
#include "tokenizer/special_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static bool
equal(const struct special_name *a, const struct hf_string *text)
{
    return !a->object && hf_strings_equal(&a->text, text);
}

static struct special_name
plain(const struct hf_string *text)
{
    return (struct special_name){ .text = *text };
}

/* An element of a template: a token or one of the two texts. */
struct element {
    struct hf_string token;     /* empty for a text */
    struct hf_string text;      /* "A", "B" */
};

struct template {
    struct element *list;       /* n of them; owned */
    size_t n, room;
};

static bool
id_of(struct hf_string *out, struct vocab *v, const struct hf_value *value, struct err *err)
{
    static const char *const id[] = { "id" };
    struct hf_value inner;
    return hf_value_members(&inner, id, 1, value, err) && hf_value_string(out, &v->chars, &inner, err);
}

static bool
read_template(struct template *t, struct vocab *v, const struct hf_value *value, struct err *err)
{
    static const char *const names[] = { "SpecialToken", "Sequence" };
    struct hf_value one, m[2];
    struct pull json;
    bool end;
    enum pull_token kind = hf_value_kind(value);
    if (kind == PULL_END || kind == PULL_NULL)
        return true;
    if (!hf_array_begin(&json, value, err))
        return false;
    while (hf_array_next(&one, &end, &json, value, err) && !end) {
        struct element e;
        struct element *list = array_grow(t->list, t->n, &t->room, sizeof *list, err);
        if (!list)
            return false;
        t->list = list;
        if (!hf_value_members(m, names, 2, &one, err) || !id_of(&e.token, v, &m[0], err)
            || !id_of(&e.text, v, &m[1], err))
            return false;
        t->list[t->n++] = e;
    }
    return err->kind == ERR_NONE;
}

/* Sets roles and flags from the tokens before and after a text; an empty string: none. */
static void
take_ends(struct special *s, const struct hf_string *first, const struct hf_string *last)
{
    struct special_name *bos = &s->name[BOS], *cls = &s->name[CLS], *eos = &s->name[EOS];
    if (first->n != 0) {
        if (!s->configured)
            *bos = plain(first);
        else if (!equal(bos, first) && !equal(cls, first)) {
            if (!is_set(bos))
                *bos = plain(first);
            if (!is_set(cls))
                *cls = plain(first);
        }
        special_flag(s, BOS, equal(bos, first) || equal(cls, first));
    }
    if (last->n == 0)
        return;
    if (s->configured && !equal(eos, last)) {
        if (!s->has_eot)
            s->name[EOT] = *eos;
        else if (!s->has_eom)
            s->name[EOM] = *eos;
        s->has_eom = s->has_eom || s->has_eot;
        s->has_eot = true;
    }
    *eos = plain(last);
    special_flag(s, EOS, true);
}

/* Sets SEP from the tokens between two texts. `first` and `last` around the pair are skipped. */
static void
take_pair(struct special *s, const struct template *pair, const struct hf_string *first, const struct hf_string *last)
{
    size_t begin = 0, end = pair->n;
    begin += end > 0 && first->n != 0 && hf_strings_equal(&pair->list[0].token, first);
    end -= end > 0 && last->n != 0 && hf_strings_equal(&pair->list[end - 1].token, last);
    if (end <= begin + 2 || !hf_string_is(&pair->list[begin].text, "A")
        || !hf_string_is(&pair->list[end - 1].text, "B"))
        return;
    const struct hf_string *one = &pair->list[begin + 1].token, *two = &pair->list[begin + 2].token;
    struct special_name *sep = &s->name[SEP], *eos = &s->name[EOS];
    bool add = one->n != 0 && last->n == 0 && (equal(sep, one) || equal(eos, one));
    if (end - begin == 4)
        add = add || (two->n != 0 && (equal(sep, two) || equal(eos, two)));
    special_flag(s, SEP, add);
    if (add && !is_set(sep) && s->configured)
        *sep = *eos;
}

static bool
take_template(struct special *s, const struct hf_value *single, const struct hf_value *both, struct err *err)
{
    static const struct hf_string none = { NULL, 0 };
    struct template one = { 0 }, two = { 0 };
    bool ok = read_template(&one, s->v, single, err) && read_template(&two, s->v, both, err);
    if (ok) {
        bool around = one.n > 1;
        const struct hf_string *first = &none, *last = &none;
        if (around) {
            first = &one.list[0].token;
            last = &one.list[one.n - 1].token;
        }
        take_ends(s, first, last);
        take_pair(s, &two, first, last);
    }
    free(one.list);
    free(two.list);
    return ok;
}

/* Reads the string of [text, id]. */
static bool
special_post_first_of(struct hf_string *out, struct special *s, const struct hf_value *value, struct err *err)
{
    struct pull json;
    if (!hf_array_begin(&json, value, err))
        return false;
    if (pull_next(&json) == PULL_STRING)
        return hf_string_of(out, &s->v->chars, &json.token, err);
    return hf_value_fault(&json, value, "a string", err);
}

static bool
take_roberta(struct special *s, const struct hf_value *cls, const struct hf_value *sep, struct err *err)
{
    static const enum special_role roles[] = { CLS, SEP }, others[] = { BOS, EOS };
    const struct hf_value *value[] = { cls, sep };
    special_flag(s, BOS, true);
    special_flag(s, EOS, true);
    special_flag(s, SEP, true);
    for (int i = 0; i < 2; i++) {
        struct special_name *name = &s->name[roles[i]];
        struct hf_string text;
        if (is_set(name) || !s->configured)
            continue;
        if (!value[i]->p)
            *name = s->name[others[i]];
        else if (!special_post_first_of(&text, s, value[i], err))
            return false;
        else
            *name = plain(&text);
    }
    return true;
}

static bool
take_processor(struct special *s, const struct hf_value *processor, struct err *err)
{
    static const char *const names[] = { "type", "single", "pair", "cls", "sep" };
    struct hf_value m[5];
    struct hf_string type;
    if (!hf_value_members(m, names, 5, processor, err) || !hf_value_string(&type, &s->v->chars, &m[0], err))
        return false;
    if (hf_string_is(&type, "TemplateProcessing"))
        return take_template(s, &m[1], &m[2], err);
    if (hf_string_is(&type, "RobertaProcessing"))
        return take_roberta(s, &m[3], &m[4], err);
    if (!hf_string_is(&type, "ByteLevel"))
        return true;
    if (!s->flagged[BOS])
        special_flag(s, BOS, false);
    if (!s->flagged[EOS])
        special_flag(s, EOS, false);
    return true;
}

bool
special_post(struct special *s, const struct hf_value *processor, struct err *err)
{
    static const char *const names[] = { "processors" };
    struct hf_value list, one;
    struct pull json;
    bool end;
    if (!hf_value_members(&list, names, 1, processor, err))
        return false;
    if (!list.p)
        return take_processor(s, processor, err);
    if (!hf_array_begin(&json, &list, err))
        return false;
    while (hf_array_next(&one, &end, &json, &list, err) && !end)
        if (!take_processor(s, &one, err))
            return false;
    return err->kind == ERR_NONE;
}
