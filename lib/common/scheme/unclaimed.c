#include "scheme/roles_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "scheme/table.h"

/* The owner of a scale as its name implies: P for P.scale and P.x_scale, and also P.x for the latter. */
struct owner {
    const char *p;              /* borrowed from the name of `scale` */
    size_t n;
    const struct tensor *scale;
    bool other;                 /* this is P.x */
    bool vague;                 /* a table or zeros, which an FP8 weight can have too */
};

struct owners {
    struct owner *list;         /* sorted by name; owned */
    size_t count;
};

/* Returns where the first of some words starts in p[0..n), or n if none occurs. */
static size_t
find_words(const char *p, size_t n, const char *const words[])
{
    size_t first = n;
    for (; *words; words++) {
        size_t at = str_find_word(p, n, *words);
        if (at < first)
            first = at;
    }
    return first;
}

/* Returns the length of a name without its last component and the dot. *last is where that component starts. */
static size_t
module_len(const struct tensor *t, size_t *last)
{
    size_t n = t->name_len;
    while (n != 0 && t->name[n - 1] != '.')
        n--;
    *last = n;
    if (n != 0)
        return n - 1;
    return 0;
}

static const char *const scale_words[] = { "scale", "scaling", "absmax", "amax", NULL };

/* Lists the owners that the name of a tensor implies. Scales may be integers: E8M0 stored as U8, or a wrong type. */
static size_t
owners_of(const struct tensor *t, struct owner out[2])
{
    static const char *const float_words[] = { "scale", "scaling", "zero", "absmax", "amax", "codebook", "table",
        "lut", "centroid", "scb", "quant_map", NULL };
    bool is_float = dtype_facts(t->dtype)->kind == DTYPE_IS_FLOAT;
    const char *const *words = is_float ? float_words : scale_words;
    size_t last, module = module_len(t, &last), n = t->name_len - last, at, used = 0;
    if ((!is_float && dtype_facts(t->dtype)->kind != DTYPE_IS_INT) || (at = find_words(t->name + last, n, words)) == n)
        return 0;
    bool vague = find_words(t->name + last, n, scale_words) == n;
    if (last != 0)
        out[used++] = (struct owner){ t->name, module, t, false, vague };
    at += last;
    while (at > last && t->name[at - 1] != '_')         /* to the start of a compound word: qscale */
        at--;
    while (at > last && t->name[at - 1] == '_')
        at--;
    if (at > last)
        out[used++] = (struct owner){ t->name, at, t, true, vague };
    return used;
}

/* Sorts by name; for equal names P before P.x, and scales first. */
static int
unclaimed_compare(const void *pa, const void *pb)
{
    const struct owner *a = pa, *b = pb;
    int by = str_compare(a->p, a->n, b->p, b->n);
    if (by)
        return by;
    return (2 * a->other + a->vague) - (2 * b->other + b->vague);
}

static bool
list_owners(struct owners *o, const struct roles *roles, const struct catalog *catalog, struct err *err)
{
    size_t n = catalog_count(catalog);
    o->list = malloc((2 * n + 1) * sizeof *o->list);
    if (!o->list)
        return err_memory(err, 2 * n * sizeof *o->list);
    for (size_t i = 0; i < n; i++)
        if (!roles_is_companion(roles, i))
            o->count += owners_of(catalog_at(catalog, i), &o->list[o->count]);
    qsort(o->list, o->count, sizeof *o->list, unclaimed_compare);
    return true;
}

/* Returns the first owner of that name, or NULL. With `module`, only if it is P. */
static const struct owner *
find_owner(const struct owners *o, const char *p, size_t n, bool module)
{
    const struct owner key = { .p = p, .n = n };
    size_t lo = 0, hi = o->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (unclaimed_compare(&o->list[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    const struct owner *found = NULL;
    if (lo < o->count)
        found = &o->list[lo];
    if (found && str_compare(found->p, found->n, p, n) == 0 && (!module || !found->other))
        return found;
    return NULL;
}

/* Returns true if a tensor may be codes. Packed bytes may have any rank. */
static bool
is_code(const struct tensor *t)
{
    uint32_t rank = 2;
    if (t->dtype == DTYPE_U8 || t->dtype == DTYPE_I8)
        rank = 1;
    return dtype_facts(t->dtype)->kind == DTYPE_IS_INT && t->shape.rank >= rank && t->extent.nbytes != 0;
}

/* The parts. COMPANION is the evidence for codes; without it the text at w->own says what is. */
enum { CODES, COMPANION };

static void
unclaimed_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct tensor *companion = w->part[COMPANION];
    const char *type = dtype_name(w->part[CODES]->dtype);
    char shown[STR_SHOWN];
    size_t last;
    if (!companion) {
        snprintf(buf, SCHEME_DETAIL, "%s, %s", type, (const char *)w->own);
        return;
    }
    module_len(companion, &last);
    snprintf(buf, SCHEME_DETAIL, "%s, beside %.50s", type,
        str_shown(shown, companion->name + last, companion->name_len - last));
}

const struct scheme unclaimed_schemes[] = {
    { .code = "unknown", .name = "unknown", .describe = unclaimed_describe, .ask = "its quantization scheme is not recognised: "
        "use the unquantized model or another quantization of it" },
    { 0 },
};

/* Finds the companion that suggests by its name that t is codes: P.x_scale for P.weight, X_scale for X, and ModelOpt's
 * X_weight_scale and P.weight_quantizer._scale. NULL if there is none. */
static const struct tensor *
find_scale(const struct claims *c, const struct owners *o, const struct tensor *t, bool named)
{
    size_t last, module = module_len(t, &last);
    const struct owner *owner = find_owner(o, t->name, t->name_len, false);
    if (!owner && named && last != 0)
        owner = find_owner(o, t->name, module, true);
    if (owner)
        return owner->scale;
    const struct tensor *scale = claims_find(c, t->name, t->name_len, "_weight_scale");
    if (scale)
        return scale;
    return claims_find(c, t->name, t->name_len, "_quantizer._scale");
}

/* Returns true for p[0..n), the name of a module without those around it, if only linear layers and embeddings of text have it. */
static bool
is_linear(const char *p, size_t n)
{
    static const char *const ends[] = { "proj", "qkv", "lm_head", "embed_tokens", "query_key_value", "linear", "dense", "h_to_4h", "4h_to_h" };
    static const char *const names[] = { "fc", "fc1", "fc2", "w1", "w2", "w3", "w13", "wq", "wk", "wv", "wo", "wi", "wi_0", "wi_1", "q", "k",
        "v", "o", "query", "key", "value", "to_q", "to_k", "to_v", "to_out", "c_attn", "c_fc", "linear1", "linear2", "linear_1", "linear_2" };
    bool is = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !is; i++)
        is = str_strip(p, &n, ends[i]);
    for (size_t i = 0; i < sizeof names / sizeof *names && !is; i++)
        is = str_is(p, n, names[i]);
    return is;
}

/* Returns true for a tensor that is the weight of a linear layer by its name: q_proj.weight, to_out.0.weight, in_proj_weight, or the
 * stacked gate_up_proj. `last` is where its last component starts. */
static bool
is_layer(const struct tensor *t, size_t last)
{
    const char *name = t->name;
    size_t n = t->name_len, from = last;
    if (!str_strip(name, &n, "weight") && !str_strip(name, &n, "kernel"))
        return str_strip(name, &n, "_proj") || str_strip(name, &n, "qkv");
    if (n == last && n != 0) {                          /* P.weight: to the last component of P that is no number */
        size_t end = --n;
        for (; n != 0 && isdigit((unsigned char)name[n - 1]); n--)
            ;
        n = n != 0 && name[n - 1] == '.' && n < end ? n - 1 : end;
        for (from = n; from != 0 && name[from - 1] != '.'; from--)
            ;
    } else if (n != last && name[n - 1] == '_') {
        n--;
    }
    return is_linear(name + from, n - from);
}

/* Integers with a word for weights in their names that are copied unchanged. */
struct plain_codes {
    size_t n;
    const struct tensor *first;
};

static void
warn(struct claims *c, const struct plain_codes *plain)
{
    char name[STR_SHOWN], more[32] = "";
    if (plain->n > 1)
        snprintf(more, sizeof more, " and %zu more", plain->n - 1);
    if (plain->n != 0)
        claims_warn(c, "integers that no known scheme explains, copied unchanged: %s%s", str_shown(name, plain->first->name,
            plain->first->name_len), more);
}

/* Examines one tensor that no weight claimed. */
static bool
examine(struct claims *c, const struct owners *o, const struct tensor *t, struct plain_codes *plain, struct err *err)
{
    static const char *const words[] = { "weight", "kernel", "codes", "packed", "quantized", NULL };
    size_t last, module = module_len(t, &last), n = t->name_len - last;
    bool named = find_words(t->name + last, n, words) < n, ignored = true;
    const struct tensor *scale = NULL;
    if (named || t->shape.rank >= 2)
        scale = find_scale(c, o, t, named);
    if (scale == t)             /* a tensor is not evidence for itself */
        scale = NULL;
    bool weight = n == 6 && last != 0 && memcmp(t->name + last, "weight", 6) == 0;
    if (!scale && weight && config_method(c->config) && !config_ignores(c->config, t->name, module, &ignored, err))
        return false;
    const struct weight w = { .scheme = unclaimed_schemes, .part = { t, scale }, .name = t->name,
        .name_len = t->name_len, .shape = t->shape, .vague = true,
        .own = ignored ? "without a scale" : "quantized according to config.json" };
    if (!scale && ignored && (config_method(c->config) || !is_layer(t, last))) {
        if (named && !plain->first)
            plain->first = t;
        plain->n += named;
        return true;
    }
    return (!scale || claims_is_taken(c, scale) || claims_take(c, scale, t, ROLE_SCALE, err)) && claims_add(c, &w, err);
}

bool
unclaimed_claim(const struct roles *roles, struct claims *c, struct err *err)
{
    const struct catalog *catalog = c->catalog;
    struct owners o = { 0 };
    struct plain_codes plain = { 0 };
    bool any = false, ok = true;
    for (size_t i = 0; i < catalog_count(catalog) && !any; i++)
        any = is_code(catalog_at(catalog, i)) && roles_role(roles, i) == ROLE_PLAIN;
    if (!any || strcmp(catalog_facts_of(catalog)->format, "GGUF") == 0)     /* GGUF: other writers, other names */
        return true;
    ok = list_owners(&o, roles, catalog, err);
    for (size_t i = 0; i < catalog_count(catalog) && ok; i++) {
        const struct tensor *t = catalog_at(catalog, i);
        if (is_code(t) && roles_role(roles, i) == ROLE_PLAIN)
            ok = examine(c, &o, t, &plain, err);
    }
    warn(c, &plain);
    free(o.list);
    return ok;
}
