/* Added tokens, as the files of a tokenizer declare them. */
#include "tokenizer/vocabulary_priv.h"

#include <string.h>

static bool
added_is(const struct hf_string *text, const char *begin, const char *end)
{
    size_t nb = strlen(begin), ne = strlen(end);
    return text->n >= nb && text->n >= ne && memcmp(text->p, begin, nb) == 0
        && memcmp(text->p + text->n - ne, end, ne) == 0;
}

bool
added_looks_special(const struct hf_string *text)
{
    static const char *const names[] = { "<pad>", "<mask>", "<2mass>", "[@BOS@]" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hf_string_is(text, names[i]))
            return true;
    return added_is(text, "<|", "|>") || added_is(text, "<\xEF\xBD\x9C", "\xEF\xBD\x9C>") || added_is(text, "<unused", ">");
}

bool
added_plain_spaces(struct hf_string *text, struct hf_chars *chars, struct err *err)
{
    static const char mark[] = "\xE2\x96\x81";
    const char *begin = memmem(text->p, text->n, mark, 3);
    if (!begin)
        return true;
    char *out = hf_chars_room(chars, text->n, err);
    if (!out)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < text->n;) {
        bool marked = text->n - i >= 3 && memcmp(text->p + i, mark, 3) == 0;
        if (marked)
            out[n++] = ' ';
        else
            out[n++] = text->p[i];
        i += marked ? 3 : 1;
    }
    *text = (struct hf_string){ out, n };
    return true;
}

bool
added_begin(struct added_walk *walk, const struct hf_value *list, enum added_form form, struct err *err)
{
    walk->form = form;
    walk->list = *list;
    if (!list->p)
        return true;
    hf_value_pull(&walk->json, &walk->list);
    return pull_next(&walk->json) == (form == HF_ADDED_ARRAY ? PULL_ARRAY : PULL_OBJECT)
        || hf_value_wrong(&walk->list, form == HF_ADDED_ARRAY ? "an array" : "an object", err);
}

/* Parses a decimal key, written as Python prints it. */
static bool
id_of_key(uint64_t *id, const struct pull_text *key)
{
    *id = 0;
    if (key->n == 0 || key->n > 10 || key->escaped || (key->n > 1 && *key->p == '0'))
        return false;
    for (size_t i = 0; i < key->n; i++) {
        if (key->p[i] < '0' || key->p[i] > '9')
            return false;
        *id = *id * 10 + (uint64_t)(key->p[i] - '0');
    }
    return true;
}

/* Moves to the next key, or element. */
static bool
next_place(struct added_walk *walk, struct added_token *added, bool *end, struct err *err)
{
    struct pull ahead = walk->json;
    *end = !walk->list.p || ahead.p == ahead.end;
    if (*end)
        return true;
    enum pull_token token = pull_next(&ahead);
    *end = token == PULL_OBJECT_END || token == PULL_ARRAY_END;
    if (*end || walk->form == HF_ADDED_ARRAY)
        return true;
    walk->json = ahead;
    added->at = pull_token_at(&walk->json);
    return (token == PULL_KEY && (walk->form == HF_ADDED_IDS || id_of_key(&added->id, &walk->json.token)))
        || hf_value_fault(&walk->json, &walk->list, "ids as keys", err);
}

bool
added_next(struct added_walk *walk, struct vocab *v, struct added_token *added, bool *end, struct err *err)
{
    static const char *const names[] = { "content", "special", "normalized", "id" };
    struct hf_value one = walk->list, member[4];
    *added = (struct added_token){ .normalized = true };
    if (!next_place(walk, added, end, err) || *end)
        return *end;
    if (walk->form == HF_ADDED_IDS)
        return hf_string_of(&added->text, &v->chars, &walk->json.token, err)
            && ((pull_next(&walk->json) == PULL_NUMBER && pull_as_u64(&walk->json, &added->id))
                || hf_value_fault(&walk->json, &walk->list, "ids that are non-negative integers", err));
    if (!pull_value_text(&walk->json, &one.p, &one.n))
        return hf_value_fault(&walk->json, &walk->list, "an object", err);
    one.at = added->at = walk->list.at + (uint64_t)(one.p - walk->list.p);
    if (hf_value_kind(&one) != PULL_OBJECT)
        return hf_value_wrong(&one, "a list of objects", err);
    if (!hf_value_members(member, names, walk->form == HF_ADDED_BY_ID ? 3 : 4, &one, err)
        || !hf_value_string(&added->text, &v->chars, &member[0], err)
        || !hf_value_bool(&added->special, &member[1], false, err)
        || !hf_value_bool(&added->normalized, &member[2], !added->special, err))
        return false;
    if (!added->text.p || added->text.n == 0 || added->text.n > UINT32_MAX)
        return err_at(err, ERR_MALFORMED, one.at, "%s: %s: a token has no content", one.file, one.name);
    return walk->form == HF_ADDED_BY_ID || hf_value_u64(&added->id, &member[3], err);
}
