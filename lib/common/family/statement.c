/* The statements of a family file, except `tensor`. */
#include <stdlib.h>
#include <string.h>

#include "family/read_priv.h"
#include "tokenizer/vocabulary.h"

enum { MANY = FAMILY_LINE };

/* Reads a statement whose `when` has been read. */
typedef bool family_run(struct family_reader *r, struct expr *when);

static const char *
copy(struct family_reader *r, size_t word)
{
    return family_copy(r, r->word[word].p, r->word[word].n);
}

/* Sets *out to a copy of a word. */
static bool
statement_take(struct family_reader *r, const char **out, size_t word)
{
    *out = copy(r, word);
    return *out != NULL;
}

static bool
is_plain_name(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(p[i] == '_' || (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z')
                || (i != 0 && p[i] >= '0' && p[i] <= '9')))
            return false;
    return n != 0;
}

/* --- the family itself */

static bool
once(struct family_reader *r, const char **out, const char *what)
{
    char expected[64];
    snprintf(expected, sizeof expected, "only one statement '%s'", what);
    if (*out)
        return family_expected(r, r->word[1].p, r->word[1].n, expected);
    return statement_take(r, out, 1);
}

static bool
run_family(struct family_reader *r, struct expr *when)
{
    (void)when;
    if (r->fragment)
        return family_expected(r, "family", 6, "no such statement in a fragment");
    return once(r, &r->family->name, "family");
}

static bool
run_arch(struct family_reader *r, struct expr *when)
{
    size_t first = 2;
    if (when) {
        struct family_variant variant = { .when = when };
        first = 1;
        if (!statement_take(r, &variant.arch, 1) || !FAMILY_ADD(r, r->family->variants, variant))
            return false;
    } else if (!once(r, &r->family->arch, "arch"))
        return false;
    for (size_t i = first; i < r->nwords; i++) {
        const char *name = copy(r, i);
        if (!name || !FAMILY_ADD(r, r->family->archs, name))
            return false;
    }
    return true;
}

static bool
run_class(struct family_reader *r, struct expr *when)
{
    (void)when;
    for (size_t i = 1; i < r->nwords; i++) {
        const char *name = copy(r, i);
        if (!name || !FAMILY_ADD(r, r->family->classes, name))
            return false;
    }
    return true;
}

static bool
run_hf(struct family_reader *r, struct expr *when)
{
    struct family_hf hf = { .when = when };
    return statement_take(r, &hf.class, 1) && statement_take(r, &hf.model_type, 2) && FAMILY_ADD(r, r->family->hf, hf);
}

static bool
run_include(struct family_reader *r, struct expr *when)
{
    const char *name;
    (void)when;
    if (r->word[1].p[0] != '_' || !is_plain_name(r->word[1].p, r->word[1].n))
        return family_expected(r, r->word[1].p, r->word[1].n, "the name of a fragment, which begins with '_'");
    return statement_take(r, &name, 1) && family_read_include(r, name);
}

/* --- tokenizer */

static bool
run_vocab(struct family_reader *r, struct expr *when)
{
    static const char *const kinds[] = { "spm", "phi3", "llama-json", "bpe", "wordpiece", "gemma4", "tiktoken", "ugm",
        "fairseq", "fairseq-mask", "unigram", "rwkv", "plamo", "plamo-chat", "internlm", "characters", "none" };
    (void)when;
    for (size_t i = 1; i < r->nwords; i++) {
        size_t k = 0;
        if (family_word_is(r, i, "size"))
            return family_words_expr(r, &r->family->vocab_size, i + 1);
        while (k < sizeof kinds / sizeof *kinds && !family_word_is(r, i, kinds[k]))
            k++;
        if (k == sizeof kinds / sizeof *kinds)
            return family_expected(r, r->word[i].p, r->word[i].n,
                "spm, phi3, llama-json, bpe, wordpiece, gemma4, tiktoken, ugm, fairseq, fairseq-mask, unigram, rwkv, plamo, "
                "plamo-chat, internlm, none or size");
        if (!FAMILY_ADD(r, r->family->vocab, kinds[k]))
            return false;
    }
    return true;
}

static bool
run_pre(struct family_reader *r, struct expr *when)
{
    struct tokenizer_pre pre;
    (void)when;
    return statement_take(r, &pre.name, 1) && statement_take(r, &pre.split, 2) && FAMILY_ADD(r, r->family->pre, pre);
}

static bool
run_special(struct family_reader *r, struct expr *when)
{
    struct tokenizer_special special;
    (void)when;
    return statement_take(r, &special.role, 1) && family_string(r, &special.text, 2) && FAMILY_ADD(r, r->family->special, special);
}

/* --- members */

/* Reads "[each] EXPR", which begins at word `first`. */
static bool
take_value(struct family_reader *r, bool *each, struct expr **value, size_t first)
{
    *each = family_word_is(r, first, "each");
    return family_words_expr(r, value, first + *each);
}

static bool
take_member(struct family_reader *r, struct family_member *m, struct expr *when)
{
    *m = (struct family_member){ .when = when, .where = r->where };
    return statement_take(r, &m->name, 1) && take_value(r, &m->each, &m->value, 2);
}

static bool
run_default(struct family_reader *r, struct expr *when)
{
    struct family_member m;
    return take_member(r, &m, when) && FAMILY_ADD(r, r->family->defaults, m);
}

static bool
run_back(struct family_reader *r, struct expr *when)
{
    struct family_member m;
    return take_member(r, &m, when) && FAMILY_ADD(r, r->family->back, m);
}

static bool
run_fallback(struct family_reader *r, struct expr *when)
{
    struct family_member m = { .when = when, .where = r->where };
    return statement_take(r, &m.name, 1) && take_value(r, &m.each, &m.value, 2) && FAMILY_ADD(r, r->family->fallbacks, m);
}

static bool
run_const(struct family_reader *r, struct expr *when)
{
    const struct family_word *first = &r->word[2], *last = &r->word[r->nwords - 1];
    size_t n = (size_t)(last->p + last->n - first->p);
    struct family_const c = { .when = when };
    json_error_t why;
    if (!statement_take(r, &c.name, 1))
        return false;
    c.value = json_loadb(first->p, n, JSON_DECODE_ANY, &why);
    if (!c.value)
        return family_expected(r, first->p, n, "a JSON value");
    if (FAMILY_ADD(r, r->family->consts, c))
        return true;
    json_decref(c.value);
    return false;
}

static const char *
let_name(const void *of, uint32_t number, size_t *n)
{
    const struct model_family *family = of;
    *n = strlen(family->lets.at[number].name);
    return family->lets.at[number].name;
}

static bool
run_let(struct family_reader *r, struct expr *when)
{
    struct family_let let;
    const struct family_word *name = &r->word[1];
    uint32_t number = (uint32_t)r->family->lets.n;
    bool again = false;
    (void)when;
    if (name->n >= FAMILY_NAME || !is_plain_name(name->p, name->n))
        return family_expected(r, name->p, name->n, "a name of letters, digits and '_'");
    if (!family_word_is(r, 2, "="))
        return family_expected(r, r->word[2].p, r->word[2].n, "'='");
    if (!statement_take(r, &let.name, 1))
        return false;
    if (scope_is_builtin(let.name))
        return family_expected(r, name->p, name->n, "a name that is not built in");
    if (!family_words_expr(r, &let.value, 3)
            || !table_add(&r->lets, let_name, r->family, name->p, name->n, &number, &again, r->err))
        return false;
    if (again)
        r->family->lets.at[number].value = let.value;
    return again || FAMILY_ADD(r, r->family->lets, let);
}

/* --- names */

static bool
run_rename(struct family_reader *r, struct expr *when)
{
    struct family_word w = r->word[1];
    struct family_rename rename = { .start = *w.p == '^', .end = w.p[w.n - 1] == '$', .to = "" };
    (void)when;
    w.p += rename.start;
    w.n -= rename.start;
    w.n -= rename.end && w.n != 0;
    if (w.n == 0)
        return family_expected(r, r->word[1].p, r->word[1].n, "the text to rename");
    rename.from = family_copy(r, w.p, w.n);
    return rename.from && (r->nwords == 2 || statement_take(r, &rename.to, 2)) && FAMILY_ADD(r, r->family->renames, rename);
}

/* Checks that the only holes are {b}. */
static bool
check_pattern(struct family_reader *r, size_t word)
{
    const struct family_word *w = &r->word[word];
    for (size_t i = 0; i < w->n; i++) {
        bool hole = w->p[i] == '{' && str_prefixed(w->p + i, w->n - i, "{b}");
        if (!hole && (w->p[i] == '{' || w->p[i] == '}'))
            return family_expected(r, w->p, w->n, "no braces except {b}");
        if (hole)
            i += 2;
    }
    return true;
}

/* Sets *pattern to word i. */
static bool
take_pattern(struct family_reader *r, struct family_pattern *pattern, size_t i, struct expr *when)
{
    *pattern = (struct family_pattern){ .when = when, .where = r->where };
    return check_pattern(r, i) && statement_take(r, &pattern->text, i);
}

static bool
run_mtp(struct family_reader *r, struct expr *when)
{
    struct family_pattern pattern;
    for (size_t i = 1; i < r->nwords; i++)
        if (!take_pattern(r, &pattern, i, when) || !FAMILY_ADD(r, r->family->mtp, pattern))
            return false;
    return true;
}

static bool
run_drop(struct family_reader *r, struct expr *when)
{
    struct family_pattern pattern;
    if (r->family->image)
        return family_run_texts(r, when);
    for (size_t i = 1; i < r->nwords; i++)
        if (!take_pattern(r, &pattern, i, when) || !FAMILY_ADD(r, r->family->drop, pattern))
            return false;
    return true;
}

static bool
run_same(struct family_reader *r, struct expr *when)
{
    struct family_same same = { .when = when };
    return statement_take(r, &same.name, 1) && statement_take(r, &same.other, 2) && FAMILY_ADD(r, r->family->same, same);
}

static bool
run_zero(struct family_reader *r, struct expr *when)
{
    struct family_pattern pattern;
    for (size_t i = 1; i < r->nwords; i++)
        if (!take_pattern(r, &pattern, i, when) || !FAMILY_ADD(r, r->family->zero, pattern))
            return false;
    return true;
}

static bool
run_need(struct family_reader *r, struct expr *when)
{
    for (size_t i = 1; i < r->nwords; i++) {
        struct family_need need = { .when = when, .optional = family_word_is(r, 0, "optional") };
        if (!check_pattern(r, i) || !statement_take(r, &need.gguf, i) || !FAMILY_ADD(r, r->family->needs, need))
            return false;
    }
    return true;
}

static bool
run_older(struct family_reader *r, struct expr *when)
{
    struct family_older older;
    (void)when;
    return check_pattern(r, 1) && statement_take(r, &older.text, 1) && family_string(r, &older.layout, 2)
        && FAMILY_ADD(r, r->family->older, older);
}

static bool
run_make(struct family_reader *r, struct expr *when)
{
    static const char *const names[] = { [MAKE_LLAMA3] = "llama3", [MAKE_LLAMA3_HALF] = "llama3-half",
        [MAKE_LONG_FACTOR] = "long_factor", [MAKE_SHORT_FACTOR] = "short_factor", [MAKE_PROPORTIONAL] = "proportional",
        [MAKE_SINUSOIDS] = "sinusoids" };
    struct family_make make = { .when = when, .where = r->where };
    size_t i = 0;
    while (i < sizeof names / sizeof *names && !family_word_is(r, 2, names[i]))
        i++;
    if (i == sizeof names / sizeof *names)
        return family_expected(r, r->word[2].p, r->word[2].n,
            "llama3, llama3-half, long_factor, short_factor, proportional or sinusoids");
    make.function = (enum make_function)i;
    return statement_take(r, &make.gguf, 1) && FAMILY_ADD(r, r->family->makes, make);
}

/* --- names in GGUF files */

/* Sets *name to a word in which `.*` at the end becomes `ending`. */
static bool
take_ending(struct family_reader *r, const char **name, size_t word, const char *ending)
{
    const struct family_word *w = &r->word[word];
    size_t n = strlen(ending), plain = w->n - (n != 0 ? 1 : 0);
    char *copy = family_alloc(r->owner, plain + n + 1, r->err);
    if (copy) {
        memcpy(copy, w->p, plain);
        memcpy(copy + plain, ending, n + 1);
    }
    *name = copy;
    return copy != NULL;
}

static bool
ends_in_star(const struct family_word *w)
{
    return w->n >= 2 && memcmp(w->p + w->n - 2, ".*", 2) == 0;
}

/* Checks names, every `step` words: braces only around b, and `.*` at the end of all or of none. */
static bool
check_stored(struct family_reader *r, size_t step)
{
    bool star = ends_in_star(&r->word[1]);
    for (size_t i = 1; i < r->nwords; i += i == 1 ? 1 : step) {
        const struct family_word *w = &r->word[i];
        const char *stop = memchr(w->p, '*', w->n);
        if (!check_pattern(r, i))
            return false;
        if (ends_in_star(w) != star || (stop && (!star || stop != w->p + w->n - 1)))
            return family_expected(r, w->p, w->n, "'.*' at the end of all names, and no other '*'");
    }
    return true;
}

/* Adds "OTHER NAME [COUNT] ..." with one ending. */
static bool
add_stored(struct family_reader *r, struct expr *when, size_t step, const char *ending)
{
    struct family_stored s = { .when = when, .where = r->where, .n = (r->nwords - 2) / step };
    s.part = family_alloc(r->owner, s.n * sizeof *s.part, r->err);
    if (!s.part || !take_ending(r, &s.other, 1, ending))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        size_t word = 2 + i * step;
        const struct family_word *count = &r->word[word + 1];
        if (!take_ending(r, &s.part[i].name, word, ending)
                || (step == 2 && !family_expr(r, &s.part[i].rows, count->p, count->n)))
            return false;
    }
    return FAMILY_ADD(r, r->family->stored, s);
}

static bool
run_stored(struct family_reader *r, struct expr *when, size_t step)
{
    if (!check_stored(r, step))
        return false;
    if (!ends_in_star(&r->word[1]))
        return add_stored(r, when, step, "");
    return add_stored(r, when, step, "weight") && add_stored(r, when, step, "bias");
}

static bool
run_alias(struct family_reader *r, struct expr *when)
{
    return run_stored(r, when, 1);
}

static bool
run_split(struct family_reader *r, struct expr *when)
{
    const struct family_word *last = &r->word[r->nwords - 1];
    if (r->nwords % 2 == 0)
        return run_stored(r, when, 2);
    return family_expected(r, last->p, last->n, "a number of rows after each name");
}

/* --- keys */

static void
remove_key(struct model_family *family, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < family->keys.n; i++)
        if (!family->keys.at[i].name || strcmp(family->keys.at[i].name, name) != 0)
            family->keys.at[n++] = family->keys.at[i];
    family->keys.n = n;
}

static bool
take_type(struct family_reader *r, struct family_key *key)
{
    static const struct {
        const char *name, *array;
        enum meta_type type;
    } types[] = { { "u32", "[u32]", META_U32 }, { "u64", "[u64]", META_U64 }, { "i32", "[i32]", META_I32 }, { "f32", "[f32]", META_F32 },
        { "bool", "[bool]", META_BOOL }, { "str", "[str]", META_STRING } };
    struct family_word *w = &r->word[2], all = *w;
    key->optional = w->n > 1 && w->p[w->n - 1] == '?';
    w->n -= key->optional;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        key->type = types[i].type;
        key->array = family_word_is(r, 2, types[i].array);
        if (key->array || family_word_is(r, 2, types[i].name))
            return true;
    }
    return family_expected(r, all.p, all.n, "the type u32, u64, i32, f32, bool or str, in brackets for an array, then '?' if the key may "
        "be absent");
}

static bool
run_key(struct family_reader *r, struct expr *when)
{
    struct family_key key = { .when = when, .early = r->family->vocab.n == 0, .where = r->where };
    if (!statement_take(r, &key.name, 1))
        return false;
    if (r->nwords == 3 && family_word_is(r, 2, "-") && !when) {
        remove_key(r->family, key.name);
        return true;
    }
    if (!take_type(r, &key) || !take_value(r, &key.each, &key.value, 3))
        return false;
    if (key.each && !key.array)
        return family_expected(r, r->word[2].p, r->word[2].n, "a type in brackets before 'each'");
    return FAMILY_ADD(r, r->family->keys, key);
}

static bool
run_ignore(struct family_reader *r, struct expr *when)
{
    for (size_t i = 1; i < r->nwords; i++) {
        struct family_ignore ignore = { .when = when };
        if (!statement_take(r, &ignore.key, i) || !FAMILY_ADD(r, r->family->ignores, ignore))
            return false;
    }
    return true;
}

static bool
run_rope(struct family_reader *r, struct expr *when)
{
    (void)when;
    return FAMILY_ADD(r, r->family->keys, (struct family_key){ .where = r->where });
}

/* --- refuse, malformed, warn */

/* Reads "EXPR "TEXT"". */
static bool
take_text(struct family_reader *r, struct family_text *text)
{
    size_t last = r->nwords - 1;
    if (!family_string(r, &text->text, last))
        return false;
    r->nwords--;
    return family_words_expr(r, &text->when, 1);
}

static bool
run_refuse(struct family_reader *r, struct expr *when)
{
    struct family_text text = { .malformed = false };
    (void)when;
    return take_text(r, &text) && FAMILY_ADD(r, r->family->refuses, text);
}

static bool
run_malformed(struct family_reader *r, struct expr *when)
{
    struct family_text text = { .malformed = true };
    (void)when;
    return take_text(r, &text) && FAMILY_ADD(r, r->family->refuses, text);
}

static bool
run_warn(struct family_reader *r, struct expr *when)
{
    struct family_text text = { .malformed = false };
    (void)when;
    return take_text(r, &text) && FAMILY_ADD(r, r->family->warns, text);
}

/* --- the table */

/* Adds a rename of a name that ends in a word: on the way to GGUF the word is its number. */
static bool
number_member(struct family_reader *r, const char *tail, size_t n, const char *word, size_t number)
{
    const char *after = tail + n + strlen("{x}");
    struct family_rename rename = { .end = true };
    struct str from = { 0 }, to = { 0 };
    str_add(&from, tail, n);
    str_format(&from, "%s%s", word, after);
    str_add(&to, tail, n);
    str_format(&to, "%zu%s", number, after);
    bool ok = (!from.failed && !to.failed) || err_memory(r->err, n);
    ok = ok && (rename.from = family_copy(r, from.p, from.len)) != NULL && (rename.to = family_copy(r, to.p, to.len)) != NULL;
    str_clear(&from);
    str_clear(&to);
    return ok && FAMILY_ADD(r, r->family->renames, rename);
}

/* Reads word i of a `members`; '?' at its end: a model may lack it. */
static bool
take_member_word(struct family_reader *r, struct family_members *members, size_t i)
{
    const struct family_word *w = &r->word[i + 2];
    bool optional = w->n > 1 && w->p[w->n - 1] == '?';
    if (!optional)
        members->fewest = i + 1;
    members->word[i] = family_copy(r, w->p, w->n - optional);
    return members->word[i] != NULL;
}

static bool
run_members(struct family_reader *r, struct expr *when)
{
    struct family_members members = { .n = r->nwords - 2 };
    const struct family_word *w = &r->word[1];
    (void)when;
    members.hf = family_copy(r, w->p, w->n);
    members.word = family_alloc(r->owner, members.n * sizeof *members.word, r->err);
    if (!members.hf || !members.word)
        return false;
    const char *end = strstr(members.hf, "{x}"), *tail = end;
    if (!end || strpbrk(end + 3, "{}"))
        return family_expected(r, w->p, w->n, "a name with {x} as its last braces");
    while (tail > members.hf && tail[-1] != '}')
        tail--;
    for (size_t i = 0; i < members.n; i++)
        if (!take_member_word(r, &members, i)
                || !number_member(r, tail, (size_t)(end - tail), members.word[i], i))
            return false;
    return FAMILY_ADD(r, r->family->members, members);
}

static const struct statement_row {
    const char *word;
    size_t fewest, most;        /* arguments */
    bool when;                  /* allowed */
    family_run *run;
    enum { LANGUAGE, IMAGE, EITHER } of;            /* kinds of family that it is for */
} statements[] = {
    { .word = "family", .fewest = 1, .most = 1, .run = run_family, .of = EITHER },
    { .word = "class", .fewest = 1, .most = MANY, .run = run_class },
    { .word = "outer", .fewest = 1, .most = MANY, .run = run_class },
    { .word = "arch", .fewest = 1, .most = MANY, .when = true, .run = run_arch, .of = EITHER },
    { .word = "hf", .fewest = 2, .most = 2, .when = true, .run = run_hf },
    { .word = "include", .fewest = 1, .most = 1, .run = run_include, .of = EITHER },
    { .word = "vocab", .fewest = 1, .most = MANY, .run = run_vocab },
    { .word = "pre", .fewest = 2, .most = 2, .run = run_pre },
    { .word = "special", .fewest = 2, .most = 2, .run = run_special },
    { .word = "default", .fewest = 2, .most = MANY, .when = true, .run = run_default },
    { .word = "let", .fewest = 3, .most = MANY, .run = run_let },
    { .word = "rename", .fewest = 1, .most = 2, .run = run_rename },
    { .word = "members", .fewest = 3, .most = MANY, .run = run_members },
    { .word = "mtp", .fewest = 1, .most = MANY, .when = true, .run = run_mtp },
    { .word = "drop", .fewest = 1, .most = MANY, .when = true, .run = run_drop, .of = EITHER },
    { .word = "zero", .fewest = 1, .most = MANY, .when = true, .run = run_zero },
    { .word = "same", .fewest = 2, .most = 2, .when = true, .run = run_same },
    { .word = "tensor", .fewest = 2, .most = MANY, .when = true, .run = family_tensor },
    { .word = "alias", .fewest = 2, .most = 2, .when = true, .run = run_alias },
    { .word = "split", .fewest = 5, .most = MANY, .when = true, .run = run_split },
    { .word = "fallback", .fewest = 2, .most = MANY, .when = true, .run = run_fallback },
    { .word = "make", .fewest = 2, .most = 2, .when = true, .run = run_make },
    { .word = "need", .fewest = 1, .most = MANY, .when = true, .run = run_need },
    { .word = "optional", .fewest = 1, .most = MANY, .when = true, .run = run_need },
    { .word = "older", .fewest = 2, .most = 2, .run = run_older },
    { .word = "ignore", .fewest = 1, .most = MANY, .when = true, .run = run_ignore },
    { .word = "key", .fewest = 2, .most = MANY, .when = true, .run = run_key },
    { .word = "rope", .run = run_rope },
    { .word = "back", .fewest = 2, .most = MANY, .when = true, .run = run_back },
    { .word = "const", .fewest = 2, .most = MANY, .when = true, .run = run_const },
    { .word = "refuse", .fewest = 2, .most = MANY, .run = run_refuse },
    { .word = "malformed", .fewest = 2, .most = MANY, .run = run_malformed },
    { .word = "warn", .fewest = 2, .most = MANY, .run = run_warn },
    { .word = "kind", .fewest = 1, .most = 1, .run = family_run_kind, .of = EITHER },
    { .word = "order", .fewest = 1, .most = 1, .run = family_run_number, .of = IMAGE },
    { .word = "rows", .fewest = 1, .most = 1, .run = family_run_number, .of = IMAGE },
    { .word = "detect", .fewest = 1, .most = MANY, .run = family_run_detect, .of = IMAGE },
    { .word = "prefix", .fewest = 1, .most = MANY, .run = family_run_prefix, .of = IMAGE },
    { .word = "blocks", .fewest = 3, .most = MANY, .run = family_run_blocks, .of = IMAGE },
    { .word = "leave", .fewest = 1, .most = MANY, .run = family_run_texts, .of = IMAGE },
    { .word = "hint", .fewest = 1, .most = MANY, .run = family_run_texts, .of = IMAGE },
    { .word = "adapter", .fewest = 1, .most = MANY, .run = family_run_texts, .of = IMAGE },
    { .word = "diffusers", .fewest = 1, .most = MANY, .run = family_run_texts, .of = IMAGE },
    { .word = "f32", .fewest = 1, .most = MANY, .run = family_run_texts, .of = IMAGE },
    { .word = "keep", .fewest = 1, .most = MANY, .run = family_run_texts, .of = IMAGE },
    { .word = "v", .fewest = 1, .most = MANY, .run = family_run_texts, .of = IMAGE },
    { .word = "qkv", .fewest = 1, .most = MANY, .run = family_run_texts, .of = IMAGE },
    { .word = "down", .fewest = 1, .most = MANY, .run = family_run_texts, .of = IMAGE },
};

static const struct statement_row *
find_statement(const struct family_reader *r)
{
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (family_word_is(r, 0, statements[i].word))
            return &statements[i];
    return NULL;
}

bool
family_statement(struct family_reader *r)
{
    const struct statement_row *row = find_statement(r);
    struct expr *when = NULL;
    if (!row)
        return family_expected(r, r->nwords != 0 ? r->word[0].p : "when", r->nwords != 0 ? r->word[0].n : 4, "a statement");
    if (!r->fragment && !r->family->name && row->run != run_family)
        return family_expected(r, r->word[0].p, r->word[0].n, "the statement 'family' first");
    if (row->of != EITHER && (row->of == IMAGE) != (r->family->image != NULL))
        return family_expected(r, r->word[0].p, r->word[0].n, row->of == IMAGE ? "'kind image' before this statement"
            : "a statement of 'kind image'");
    size_t n = r->nwords - 1;
    if (n < row->fewest || n > row->most)
        return family_miscounted(r, row->word, n, row->fewest, row->most);
    if (r->rest.p && !row->when)
        return family_expected(r, "when", 4, "the end of the statement");
    return (!r->rest.p || family_expr(r, &when, r->rest.p, r->rest.n)) && row->run(r, when);
}
