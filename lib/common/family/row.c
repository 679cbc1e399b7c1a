/* Tensor rows: names with holes, verbs. */
#include <string.h>

#include "family/read_priv.h"

/* Verbs and their arguments, without the permutation of `order`. */
static const struct verb_row {
    const char *word;
    uint32_t fewest, most;
    uint32_t sizes;             /* the first argument that may be '*' */
} verbs[] = {
    [VERB_VIEW] = { "view", 3, FAMILY_VERB_ARGS, 1 }, [VERB_MERGE] = { "merge", 3, FAMILY_VERB_ARGS, 1 },
    [VERB_ORDER] = { "order", 3, FAMILY_VERB_ARGS, 1 }, [VERB_SWAP] = { "swap", 2, 2, 2 }, [VERB_PART] = { "part", 3, 3, 3 },
    [VERB_SKIP] = { "skip", 2, 2, 2 }, [VERB_CUT] = { "cut", 2, 2, 2 }, [VERB_PAIRS] = { "pairs", 1, 1, 1 }, [VERB_ADD] = { "add", 1, 1, 1 },
    [VERB_MUL] = { "mul", 1, 1, 1 }, [VERB_NEGEXP] = { "negexp", 0, 0, 0 }, [VERB_BLANK] = { "blank", 0, 0, 0 },
    [VERB_BY] = { "by", 1, 1, 1 }, [VERB_JOIN] = { "join", 1, 1, 1 },
    [VERB_F32] = { "f32", 0, 0, 0 }, [VERB_F16] = { "f16", 0, 0, 0 }, [VERB_HALF] = { "half", 0, 0, 0 },
};

/* --- names */

static bool
wrong_name(struct family_reader *r, const char *name, const char *expected)
{
    return family_expected(r, name, strlen(name), expected);
}

/* Checks the holes of an HF name: {b} and {x}, at most one {x}. */
static bool
check_hf(struct family_reader *r, struct family_row *row, bool *has_layer)
{
    for (const char *p = row->hf; (p = strpbrk(p, "{}")) != NULL; p += 3) {
        bool x = str_begins(p, "{x}");
        if ((!x && !str_begins(p, "{b}")) || (x && row->stacks))
            return wrong_name(r, row->hf, "no braces except {b} and one {x}");
        row->stacks = row->stacks || x;
        *has_layer = *has_layer || !x;
    }
    return true;
}

static bool
uses_layer(const struct expr *e)
{
    const char *name;
    for (size_t i = 0; (name = expr_name_at(e, i)) != NULL; i++)
        if (strcmp(name, "b") == 0)
            return true;
    return false;
}

/* Reads the expressions in the braces of a GGUF name. */
static bool
read_holes(struct family_reader *r, struct family_row *row, bool has_layer)
{
    size_t room = 0;
    for (const char *p = row->gguf; *p; p++)
        room += *p == '{';
    row->shift = family_alloc(r->owner, room * sizeof *row->shift, r->err);
    if (!row->shift)
        return false;
    for (const char *p = row->gguf, *end; (p = strpbrk(p, "{}")) != NULL; p = end + 1) {
        struct expr **e = &row->shift[row->nshift];
        end = strchr(p, '}');
        if (*p == '}' || !end)
            return wrong_name(r, row->gguf, "'{' before each '}'");
        if (end - p == 2 && p[1] == 'x')
            return wrong_name(r, row->gguf, "no {x} in a GGUF name");
        if (!family_expr(r, e, p + 1, (size_t)(end - p - 1)))
            return false;
        row->nshift++;
        if (uses_layer(*e) && !has_layer)
            return wrong_name(r, row->gguf, "no {b} that the HF name lacks");
        row->layered = row->layered || (end - p == 2 && p[1] == 'b');
    }
    return true;
}

/* Splits "NAME@SCHEME". */
static bool
split_kept(struct family_reader *r, struct family_row *row, const char *p, size_t n)
{
    const char *at = memrchr(p, '@', n);
    if (at && (row->kept = family_copy(r, at + 1, (size_t)(p + n - at - 1))) == NULL)
        return false;
    row->hf = family_copy(r, p, at ? (size_t)(at - p) : n);
    return row->hf != NULL;
}

/* --- verbs */

static bool
ends_part(const struct family_reader *r, size_t i)
{
    return family_word_is(r, i, ";") || family_word_is(r, i, ",");
}

static bool
is_separator(const struct family_reader *r, size_t i)
{
    return family_word_is(r, i, "|") || ends_part(r, i);
}

/* Reads the permutation of `order`: n words, each of 0 ... n - 1 once. */
static bool
read_permutation(struct family_reader *r, struct verb *verb, size_t first, size_t n)
{
    unsigned seen = 0;
    if (n != verb->nargs - 1)
        return err_set(r->err, ERR_MALFORMED, "%s: found %zu numbers after ':', expected %u, as many as sizes",
            r->where, n, verb->nargs - 1);
    for (size_t i = 0; i < n; i++) {
        const struct family_word *w = &r->word[first + i];
        unsigned d = 0;
        for (size_t k = 0; k < w->n && d < FAMILY_VERB_ARGS; k++)
            d = w->p[k] >= '0' && w->p[k] <= '9' ? 10 * d + (unsigned)(w->p[k] - '0') : FAMILY_VERB_ARGS;
        if (d >= n || (seen & 1u << d))
            return family_expected(r, w->p, w->n, "a permutation of 0, 1, ... after ':'");
        seen |= 1u << d;
        verb->perm[i] = d;
    }
    return true;
}

/* Reads argument i of a verb, an expression or '*'. */
static bool
read_argument(struct family_reader *r, struct verb *verb, const struct verb_row *row, uint32_t i, size_t word, bool *open)
{
    const struct family_word *w = &r->word[word];
    if (!family_word_is(r, word, "*"))
        return family_expr(r, &verb->arg[i], w->p, w->n);
    if (i < row->sizes || *open)
        return family_expected(r, "*", 1, *open ? "only one '*'" : "an expression");
    *open = true;
    return true;
}

/* Reads the verb in words [first, end). */
static bool
read_verb(struct family_reader *r, struct verb *verb, size_t first, size_t end)
{
    size_t colon = first, kind = 0, kinds = sizeof verbs / sizeof *verbs;
    bool open = false;
    while (kind < kinds && (first == end || !family_word_is(r, first, verbs[kind].word)))
        kind++;
    if (kind == kinds)
        return family_expected(r, first == end ? "" : r->word[first].p, first == end ? 0 : r->word[first].n, "a verb");
    while (colon < end && !family_word_is(r, colon, ":"))
        colon++;
    size_t n = colon - first - 1;
    verb->kind = (enum verb_kind)kind;
    verb->word = verbs[kind].word;
    if (n < verbs[kind].fewest || n > verbs[kind].most)
        return family_miscounted(r, verbs[kind].word, n, verbs[kind].fewest, verbs[kind].most);
    if ((colon < end) != (verb->kind == VERB_ORDER))
        return colon < end ? family_expected(r, ":", 1, "the end of the verb")
            : family_expected(r, "order", 5, "':' and a permutation");
    verb->nargs = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++)
        if (!read_argument(r, verb, &verbs[kind], i, first + 1 + i, &open))
            return false;
    return verb->kind != VERB_ORDER || read_permutation(r, verb, colon + 1, end - colon - 1);
}

/* Reads the parts, which begin at word 3. */
static bool
read_parts(struct family_reader *r, struct family_row *row)
{
    size_t nverbs = 0, nparts = 1;
    for (size_t i = 3; i < r->nwords; i++) {
        nverbs += is_separator(r, i);
        nparts += ends_part(r, i);
        if (ends_part(r, i) && row->alternates != family_word_is(r, i, ",") && nparts > 2)
            return family_expected(r, r->word[i].p, 1, "one kind of separator, ';' or ','");
        row->alternates = row->alternates || family_word_is(r, i, ",");
    }
    struct verb *verb = family_alloc(r->owner, (nverbs + 1) * sizeof *verb, r->err);
    if (verb)
        row->part = family_alloc(r->owner, nparts * sizeof *row->part, r->err);
    else
        row->part = NULL;
    if (!row->part)
        return false;
    row->nparts = nparts;
    struct row_part *part = row->part;
    part->verb = verb;
    for (size_t i = 3, end; i < r->nwords; i = end + 1) {
        for (end = i; end < r->nwords && !is_separator(r, end);)
            end++;
        if (!read_verb(r, verb++, i, end))
            return false;
        part->n++;
        if (ends_part(r, end))
            (++part)->verb = verb;
        if (end + 1 == r->nwords)
            return family_expected(r, r->word[end].p, 1, "a verb after it");
    }
    return true;
}

/* Returns true if a part has a verb of a kind. */
bool
row_part_has(const struct row_part *part, enum verb_kind kind)
{
    for (size_t i = 0; i < part->n; i++)
        if (part->verb[i].kind == kind)
            return true;
    return false;
}

/* --- rows */

/* Returns the verb of a kind if it is the last one of the row's only part, else NULL. Sets *any if the row has such a verb anywhere. */
static const struct verb *
find_last(bool *any, const struct family_row *row, enum verb_kind kind)
{
    const struct row_part *part = &row->part[0];
    *any = false;
    for (size_t i = 0; i < row->nparts; i++)
        *any = *any || row_part_has(&row->part[i], kind);
    if (row->nparts == 1 && part->n != 0 && part->verb[part->n - 1].kind == kind)
        return &part->verb[part->n - 1];
    return NULL;
}

/* Sets row->joined. A row with `join` has members. */
static bool
find_join(struct family_reader *r, struct family_row *row)
{
    bool any;
    const struct verb *join = find_last(&any, row, VERB_JOIN);
    if (any && (!join || !row->stacks))
        return family_expected(r, "join", 4, "it as the last verb of a row with {x} and one part");
    if (join)
        row->joined = join->arg[0];
    return true;
}

/* Sets row->by. A row with `by` has no members. */
static bool
find_by(struct family_reader *r, struct family_row *row)
{
    bool any;
    const struct verb *by = find_last(&any, row, VERB_BY);
    if (any && (!by || row->stacks || row->kept))
        return family_expected(r, "by", 2, "it as the last verb of a row without {x} and with one part");
    if (by)
        row->by = by->arg[0];
    return true;
}

static bool
row_add_row(struct family_reader *r, struct family_row *row, const char *gguf, size_t n)
{
    bool has_layer = false;
    row->gguf = family_copy(r, gguf, n);
    if (!row->gguf || !check_hf(r, row, &has_layer) || !read_holes(r, row, has_layer) || !read_parts(r, row))
        return false;
    for (size_t i = 0; row->nparts > 1 && i < row->nparts; i++)
        if (!row_part_has(&row->part[i], VERB_PART))
            return family_expected(r, ";", 1, "the verb 'part', with its size, in each part of the row");
    return find_join(r, row) && find_by(r, row) && FAMILY_ADD(r, r->family->rows, *row);
}

/* Adds one of the two rows of a ".*". */
static bool
add_both(struct family_reader *r, const struct family_word *hf, const struct family_word *gguf, const char *suffix,
    struct expr *when)
{
    struct family_row row = { .when = when, .where = r->where };
    struct str a = { 0 }, b = { 0 };
    str_add(&a, hf->p, hf->n - 1);
    str_text(&a, suffix);
    str_add(&b, gguf->p, gguf->n - 1);
    str_text(&b, suffix);
    row.bias = strcmp(suffix, "bias") == 0;
    bool ok;
    if (a.failed || b.failed)
        ok = err_memory(r->err, 0);
    else
        ok = split_kept(r, &row, a.p, a.len) && row_add_row(r, &row, b.p, b.len);
    str_clear(&a);
    str_clear(&b);
    return ok;
}

static bool
ends_open(const struct family_word *w)
{
    return w->n > 2 && memcmp(w->p + w->n - 2, ".*", 2) == 0;
}

/* Removes the rows of two names that were read before. */
static bool
remove_rows(struct family_reader *r, const struct family_word *hf, const struct family_word *gguf)
{
    size_t n = r->family->rows.n, kept = 0;
    struct family_row *rows = r->family->rows.at;
    for (size_t i = 0; i < n; i++)
        if (!str_is(hf->p, hf->n, rows[i].hf) || !str_is(gguf->p, gguf->n, rows[i].gguf))
            rows[kept++] = rows[i];
    r->family->rows.n = kept;
    return kept != n || family_expected(r, gguf->p, gguf->n, "a row of these names before it is removed");
}

bool
family_tensor(struct family_reader *r, struct expr *when)
{
    const struct family_word *hf = &r->word[1], *gguf = &r->word[2];
    struct family_row row = { .when = when, .where = r->where };
    if (r->nwords == 4 && !when && family_word_is(r, 3, "-"))
        return remove_rows(r, hf, gguf);
    if (ends_open(hf) != ends_open(gguf))
        return family_expected(r, gguf->p, gguf->n, "'.*' at the end of both names, or of none");
    if (ends_open(hf))
        return add_both(r, hf, gguf, "weight", when) && add_both(r, hf, gguf, "bias", when);
    return split_kept(r, &row, hf->p, hf->n) && row_add_row(r, &row, gguf->p, gguf->n);
}
