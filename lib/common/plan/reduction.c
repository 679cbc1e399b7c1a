#include "plan/reduction.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/str.h"

enum { LEAST = 32 };            /* rows and columns of a weight that is worth it */

/* A list that grows while another is walked. */
struct list {
    struct chosen *p;
    size_t n, room;
};

static bool
push(struct list *list, const struct chosen *chosen, struct err *err)
{
    struct chosen *p = array_grow(list->p, list->n, &list->room, sizeof *p, err);
    if (!p)
        return false;
    list->p = p;
    p[list->n++] = *chosen;
    return true;
}

/* --- what is eligible */

static bool
has_word(const struct tensor *t, const char *word)
{
    return memmem(t->name, t->name_len, word, strlen(word)) != NULL;
}

/* Whether `word` is one of the dotted parts of a name. */
static bool
has_part(const struct tensor *t, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = t->name, *end = t->name + t->name_len; p + n <= end; p++)
        if (memcmp(p, word, n) == 0 && (p == t->name || p[-1] == '.') && (p + n == end || p[n] == '.'))
            return true;
    return false;
}

/* Tensors that quantizers leave alone by name: schemes.md 11. */
static const char *
spared_by_name(const struct tensor *t)
{
    static const char tail[] = "weight";
    size_t n = sizeof tail - 1;
    if (t->name_len < n || memcmp(t->name + t->name_len - n, tail, n) != 0)
        return "it is not called a weight";
    if (has_word(t, "norm") || has_part(t, "ln_1") || has_part(t, "ln_2") || has_part(t, "ln_f"))
        return "a norm";
    if (has_word(t, "embed") || has_part(t, "wte") || has_part(t, "wpe") || has_word(t, "embd"))
        return "an embedding";
    if (has_part(t, "lm_head") || has_part(t, "output"))
        return "the head";
    if (has_part(t, "gate") || has_part(t, "router") || has_word(t, "ffn_gate_inp"))
        return "a router";
    return NULL;
}

/* Why a tensor of floats stays as it is, or NULL. */
static const char *
spared(const struct reduction *r, const struct tensor *t, uint64_t rows, uint64_t cols)
{
    if (t->shape.rank < 2)
        return "no matrix";
    if (rows == 0 || cols == 0)
        return "it has no elements";
    if (!naming_keeps(&r->which, t))
        return "not asked for";
    if (r->pure || naming_includes(&r->which))
        return NULL;
    const char *why = spared_by_name(t);
    return why ? why : shape_dim(&t->shape, t->shape.rank - 2) < LEAST || cols < LEAST ? "too small" : NULL;
}

/* --- one weight */

/* The encoding of a tensor that is eligible, or NULL: `why` is then set, or err. */
static struct encoding *
encode(const struct reduction *r, const struct tensor *t, uint64_t rows, uint64_t cols, struct catalog *memory,
    const char **why, struct err *err)
{
    struct encoding *e = catalog_alloc(memory, sizeof *e, err);
    if (!e)
        return NULL;
    *e = (struct encoding){ .encoder = r->encoder, .memory = memory, .weight = *t, .rows = rows, .cols = cols };
    if (r->encoder->fit(e, &r->how, err) == ENCODE_YES)
        return e;
    *why = e->why;
    return NULL;
}

static bool
add(const struct reduction *r, struct list *list, const struct chosen *chosen, struct catalog *memory, size_t *encoded,
    struct err *err)
{
    struct chosen c = *chosen;
    const struct tensor t = chosen_source(chosen);
    uint64_t numel = 0, cols = t.shape.rank != 0 ? shape_dim(&t.shape, t.shape.rank - 1) : 0;
    if (!dtype_is_float(t.dtype) || !shape_numel(&t.shape, &numel))
        return push(list, &c, err);
    uint64_t rows = cols != 0 ? numel / cols : 0;
    c.why = spared(r, &t, rows, cols);
    if (!c.why)
        c.encoding = encode(r, &t, rows, cols, memory, &c.why, err);
    if (err->kind != ERR_NONE)
        return false;
    if (!c.encoding)
        return push(list, &c, err);
    ++*encoded;
    for (; c.part < c.encoding->nparts; c.part++)
        if (!push(list, &c, err))
            return false;
    return true;
}

bool
reduction_apply(const struct reduction *r, struct choice *choice, struct catalog *memory, struct err *err)
{
    struct list list = { 0 };
    size_t encoded = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < choice->n; i++)
        ok = add(r, &list, &choice->list[i], memory, &encoded, err);
    if (!ok) {
        free(list.p);
        return false;
    }
    free(choice->list);
    choice->list = list.p;
    choice->n = list.n;
    return (encoded != 0 || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "there is no weight that %s could encode: --include GLOB "
        "takes others than the usual ones", r->encoder->label)) && choice_distinct(choice, err);
}
