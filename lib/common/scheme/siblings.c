#include "scheme/roles_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/matcher.h"
#include "base/str.h"
#include "scheme/fp8.h"
#include "scheme/table.h"
#include "scheme/zeros.h"

/* A tensor beside a weight. `rest` is its name after the name of the module or of the weight, and after the '.' or '_' that
 * follows. */
struct sibling {
    const struct tensor *t;
    struct weight *w;
    const char *rest;
    size_t n;
    bool joined;                /* an '_' precedes `rest`: the tensor is X_x */
};

/* --- which weight a tensor is beside */

static int
compare_weights(const void *pa, const void *pb)
{
    const struct weight *a = *(struct weight *const *)pa, *b = *(struct weight *const *)pb;
    return str_compare(a->name, a->name_len, b->name, b->name_len);
}

/* Returns the weights of a model sorted by name; the caller frees the list. NULL on failure. */
static struct weight **
sort_weights(struct roles *r, struct err *err)
{
    struct weight **list = malloc((r->nweights + 1) * sizeof *list);
    if (!list) {
        err_memory(err, r->nweights * sizeof *list);
        return NULL;
    }
    for (size_t i = 0; i < r->nweights; i++)
        list[i] = &r->weights[i];
    qsort(list, r->nweights, sizeof *list, compare_weights);
    return list;
}

/* Returns the weight of that name, or NULL. */
static struct weight *
find_weight(const struct claims *c, const char *name, size_t n)
{
    const struct weight key = { .name = name, .name_len = (uint32_t)n }, *want = &key;
    struct weight **found = bsearch(&want, c->sorted, c->roles->nweights, sizeof *c->sorted, compare_weights);
    if (found)
        return *found;
    return NULL;
}

/* Returns the weight that has a name, or a part of that name; NULL if none does. *stop: a weight or a plain tensor has it. */
static struct weight *
find_named(const struct claims *c, const char *name, size_t n, bool *stop)
{
    struct weight *w = find_weight(c, name, n);
    const struct tensor *t = NULL;
    if (!w)
        t = catalog_find(c->catalog, name, n);
    uint32_t owner = 0;
    if (t)
        owner = c->roles->owner[catalog_index(c->catalog, t)];
    *stop = w || t;
    if (owner != 0)
        return &c->roles->weights[owner - 1];
    return w;
}

/* Looks for the owner of what follows name[0..n): a weight X of that name or, for a module P, P.weight. */
static struct weight *
find_owner(const struct claims *c, const char *name, size_t n, bool module, bool *stop)
{
    static const char weight[] = ".weight";
    enum { LEN = sizeof weight - 1 };
    struct weight *w = find_named(c, name, n, stop);
    if (*stop || !module)
        return w;
    char *of_module = c->scratch;
    memcpy(of_module, name, n);
    memcpy(of_module + n, weight, LEN);
    return find_named(c, of_module, n + LEN, stop);
}

/* Sets `rest` to what follows name[0..n). */
static void
set_rest(struct sibling *s, size_t n)
{
    s->joined = s->t->name[n] == '_';
    s->rest = s->t->name + n + 1;
    s->n = s->t->name_len - n - 1;
}

/* Finds the weight that a tensor is beside: the innermost one whose name, or module, is the beginning of the tensor's name.
 * Returns false if there is none, or if something plain is further in. */
static bool
find_beside(const struct claims *c, const struct tensor *t, struct sibling *s)
{
    bool stop = false, last = true;
    *s = (struct sibling){ .t = t };
    for (size_t n = t->name_len; n-- > 1 && !stop; ) {
        if (t->name[n] != '.' && (t->name[n] != '_' || !last))
            continue;
        set_rest(s, n);
        last = s->joined;
        s->w = find_owner(c, t->name, n, !s->joined, &stop);
    }
    if (!s->w)
        return false;
    size_t base = s->w->name_len;
    str_strip(s->w->name, &base, ".weight");
    if (base < t->name_len && memcmp(t->name, s->w->name, base) == 0 && (t->name[base] == '.' || t->name[base] == '_'))
        set_rest(s, base);
    return true;
}

/* --- what it is */

/* Returns true if a word occurs in the name, after the name of the weight. */
static bool
names_scale(const struct sibling *s)
{
    static const char *const words[] = { "scale", "scaling", "absmax", "amax" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_find_word(s->rest, s->n, words[i]) < s->n)
            return true;
    return false;
}

static bool
is_word(const struct sibling *s, const char *word)
{
    return str_is(s->rest, s->n, word);
}

/* Returns true for a float that is a bias, or state of a module that has a weight. A router has a bias for each expert. */
static bool
is_parameter(const struct sibling *s)
{
    static const char *const words[] = { "bias", "e_score_correction_bias", "expert_bias", "sinks", "A_log", "D", "dt_bias",
        "running_mean", "running_var", "logit_scale" };
    if (is_word(s, "num_batches_tracked"))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(s, words[i]))
            return dtype_is_float(s->t->dtype) || dtype_is_float8(s->t->dtype);
    return false;
}

/* Returns true for a factor of LoRA beside its base. Factors of modules, P.lora_A.NAME.weight, are weights of their own. */
static bool
is_lora(const struct sibling *s)
{
    static const char *const words[] = { "lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B", "lora_magnitude_vector" };
    size_t n = 0;
    while (n < s->n && s->rest[n] != '.')
        n++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(s->rest, n, words[i]))
            return true;
    return false;
}

/* Returns true for a float8 weight without a scale, which is complete without a companion. */
static bool
is_cast(const struct weight *w)
{
    return fp8_is(w) && !fp8_is_scaled(w);
}

/* Returns the row of table_idle for a companion of activations or caches, or NULL. */
static const struct companion *
find_idle(const struct sibling *s)
{
    struct part_name ignored;
    for (const struct companion *idle = table_idle; idle->suffix; idle++)
        if (s->joined ? is_word(s, idle->suffix + 1)
                : !memchr(s->rest, '.', s->n) && claims_strip_name(s->t, idle->suffix, &ignored))
            return idle;
    return NULL;
}

/* Sets *zero if the tensor is an offset for the codes and has no effect. Without contents it counts as such. */
static bool
is_zero_offset(const struct claims *c, const struct sibling *s, bool *zero, struct err *err)
{
    *zero = !s->joined && is_word(s, "weight_offset");
    return !*zero || zeros_test(c, s->t, zero, err);
}

/* Returns true if --allow-unclaimed names the tensor, and counts it for the globs. */
static bool
is_allowed(const struct claims *c, const struct tensor *t, size_t *used)
{
    bool allowed = false;
    for (size_t i = 0; i < c->options->nallowed; i++) {
        const char *text = c->options->allowed[i];
        struct matcher glob;
        uint64_t steps = UINT64_MAX;
        bool matches = matcher_read(&glob, text, strlen(text), true) && matcher_match(&glob, t->name, t->name_len, &steps);
        used[i] += matches;
        allowed = allowed || matches;
    }
    return allowed;
}

/* --- all tensors */

struct siblings_found {
    size_t dropped, allowed, unclaimed;
    const struct tensor *first;         /* unclaimed */
    size_t used[ROLES_ALLOWED];         /* tensors that each glob of --allow-unclaimed matches */
};

/* Names the weight, the tensor beside it and the scheme. */
static bool
siblings_refuse(const struct weight *w, struct err *err)
{
    const struct tensor *t = w->doubt->tensor;
    char name[STR_SHOWN], weight[STR_SHOWN], detail[SCHEME_DETAIL];
    w->scheme->describe(w, detail);
    return err_at(err, ERR_UNSUPPORTED, t->extent.at, "tensor %s: is stored beside weight %s, but %s%s%s%s has no such part, so the weight "
        "may be wrong without it; use another version of the model, or copy it as it is with --allow-unclaimed GLOB",
        str_shown(name, t->name, t->name_len), str_shown(weight, w->name, w->name_len), w->scheme->name, *detail ? " (" : "",
        detail, *detail ? ")" : "");
}

/* Examines one tensor beside a weight. */
static bool
examine(struct claims *c, const struct sibling *s, struct siblings_found *found, struct err *err)
{
    bool cast = is_cast(s->w), zero = false;
    const struct companion *idle;
    if (cast && names_scale(s))
        idle = NULL;
    else
        idle = find_idle(s);
    struct part_name ignored;
    if (is_parameter(s) || is_lora(s) || (cast && s->joined && !names_scale(s)))
        return true;
    if (cast && claims_left(c, s->t, &ignored))         /* parts of a quantized weight whose scale is missing: leftover.c */
        return true;
    if (!idle && !is_zero_offset(c, s, &zero, err))
        return false;
    if (idle || zero) {
        found->dropped++;
        return claims_take_for(c, s->t, s->w, idle ? idle->role : ROLE_ZERO_POINT, err);
    }
    if (!s->w->scheme->decode)          /* refused anyway */
        return true;
    if (is_allowed(c, s->t, found->used)) {
        found->allowed++;
        return true;
    }
    if (found->unclaimed++ == 0)
        found->first = s->t;
    struct doubt *doubt = NULL;
    if (!s->w->doubt)
        doubt = claims_alloc(c, sizeof *doubt, err);
    if (doubt) {
        *doubt = (struct doubt){ siblings_refuse, s->t };
        s->w->doubt = doubt;
    }
    return s->w->doubt != NULL;
}

/* Says what a report should say, and what was dropped or copied. */
static void
tell(struct claims *c, const struct siblings_found *found)
{
    char name[STR_SHOWN];
    const struct tensor *first = found->first;
    if (first && !c->contents)
        claims_warn(c, "unknown tensors beside quantized weights, which cannot be decoded for that reason: %zu, "
            "such as %s", found->unclaimed, str_shown(name, first->name, first->name_len));
    if (found->dropped != 0 && c->contents)
        catalog_note(c->catalog, "scales of activations and caches, and the like, that the weights do not need: %zu",
            found->dropped);
    if (found->allowed != 0 && c->contents)
        catalog_note(c->catalog, "tensors beside quantized weights, copied unchanged because of --allow-unclaimed: %zu",
            found->allowed);
}

static bool
check_globs(const struct claims *c, const struct siblings_found *found, struct err *err)
{
    for (size_t i = 0; i < c->options->nallowed; i++)
        if (found->used[i] == 0)
            return err_set(err, ERR_USAGE, "--allow-unclaimed %s: no tensor beside a quantized weight that would "
                "be refused has such a name", c->options->allowed[i]);
    return true;
}

bool
siblings_is_beside(const struct claims *c, const struct tensor *t)
{
    struct sibling s;
    return find_beside(c, t, &s) && !is_cast(s.w);
}

bool
siblings_check(struct claims *c, struct err *err)
{
    struct siblings_found found = { 0 };
    struct sibling s;
    bool ok = true, gguf = strcmp(catalog_facts_of(c->catalog)->format, "GGUF") == 0;
    c->sorted = sort_weights(c->roles, err);
    if (!c->sorted)
        return false;
    for (size_t i = 0; i < catalog_count(c->catalog) && ok && c->roles->nweights != 0 && !gguf; i++)
        if (c->roles->owner[i] == 0 && find_beside(c, catalog_at(c->catalog, i), &s))
            ok = examine(c, &s, &found, err);
    tell(c, &found);
    return ok && check_globs(c, &found, err);
}
