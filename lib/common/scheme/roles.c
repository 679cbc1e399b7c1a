/* Who claims what. The rows are tried in the order of the table, each on all tensors nobody has claimed, so
 * that the first row that fits a weight wins; what is left over is looked at last. */
#include "scheme/roles.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/str.h"
#include "scheme/bnb4.h"
#include "scheme/bnb8.h"
#include "scheme/claims.h"
#include "scheme/comfy.h"
#include "scheme/comfy_marker.h"
#include "scheme/fp8.h"
#include "scheme/ggml.h"
#include "scheme/leftover.h"
#include "scheme/recognised.h"
#include "scheme/sdnq.h"
#include "scheme/swizzle.h"
#include "scheme/unclaimed.h"

struct roles {
    struct weight *weights;
    size_t nweights, room;
    uint32_t *owner;            /* of each tensor: 1 + index of its weight, 0 when it is nobody's */
    const struct catalog *catalog;
};

/* Behind P of P.weight: what parametrises activations or the KV cache, not the weight (schemes.md 1.4). */
static const char *const idle_names[] = {
    ".input_scale", ".input_scale_ub", ".input_zero_point", ".input_global_scale", ".input_g_idx",
    ".activation_scale", ".output_scale", ".output_zero_point", ".q_scale", ".k_scale", ".v_scale",
    ".kv_scale", ".prob_output_scale", ".k_zero_point", ".v_zero_point", ".weight_shape", ".weight_format",
    ".act_scale", ".act_scales", ".qscale_act", ".scale_input", ".comfy_quant",
};

enum { IDLE = sizeof idle_names / sizeof *idle_names };

struct claims {
    struct roles *roles;
    struct catalog *catalog;
    struct config *config;
    const struct contents *contents;
    char *scratch;              /* a name that is put together: */
    size_t longest;             /* bytes of the longest name of the model, and of scratch */
    bool shares;                /* the weight being claimed shares a companion */
    struct comfy_markers *comfy;        /* owned */
    struct grids grids;
    bool idle[IDLE];            /* which of idle_names occur in the model at all */
};

const struct catalog *
claims_catalog(const struct claims *c)
{
    return c->catalog;
}

const struct config *
claims_config(const struct claims *c)
{
    return c->config;
}

const struct contents *
claims_contents(const struct claims *c)
{
    return c->contents;
}

const struct comfy_markers *
claims_comfy(const struct claims *c)
{
    return c->comfy;
}

const struct grids *
claims_grids(const struct claims *c)
{
    return &c->grids;
}

void *
claims_alloc(struct claims *c, size_t n, struct err *err)
{
    return catalog_alloc(c->catalog, n, err);
}

void
claims_warn(struct claims *c, const char *format, ...)
{
    char line[ERR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    catalog_warn(c->catalog, "%s", line);
}

bool
name_strip(const struct tensor *t, const char *suffix, struct part_name *p)
{
    size_t n = strlen(suffix);
    if (t->name_len < n || memcmp(t->name + t->name_len - n, suffix, n) != 0)
        return false;
    *p = (struct part_name){ .base = t->name, .base_len = t->name_len - n, .suffix = suffix };
    return true;
}

struct part_name
name_module(const struct tensor *t)
{
    struct part_name p = { .base = t->name, .base_len = t->name_len };
    name_strip(t, ".weight", &p);
    return p;
}

const struct tensor *
claims_find(const struct claims *c, const char *base, size_t base_len, const char *suffix)
{
    size_t suffix_len = strlen(suffix), n = base_len + suffix_len;
    if (n > c->longest)         /* longer than all names */
        return NULL;
    memcpy(c->scratch, base, base_len);
    memcpy(c->scratch + base_len, suffix, suffix_len);
    return catalog_find(c->catalog, c->scratch, n);
}

static bool
taken_twice(const struct claims *c, const struct tensor *companion, const struct tensor *codes, struct err *err)
{
    char a[STR_SHOWN], b[STR_SHOWN], other[STR_SHOWN];
    const struct tensor *first = c->roles->weights[c->roles->owner[catalog_index(c->catalog, companion)] - 1].part[0];
    return err_set(err, ERR_MALFORMED, companion->extent.at, "tensor %s: belongs to two quantized weights, %s and %s",
        str_shown(a, companion->name, companion->name_len), str_shown(b, first->name, first->name_len),
        str_shown(other, codes->name, codes->name_len));
}

bool
claims_take(struct claims *c, const struct tensor *companion, const struct tensor *codes, struct err *err)
{
    uint32_t *owner = &c->roles->owner[catalog_index(c->catalog, companion)];
    if (*owner != 0 && *owner != c->roles->nweights + 1)
        return taken_twice(c, companion, codes, err);
    *owner = (uint32_t)c->roles->nweights + 1;
    return true;
}

bool
claims_share(struct claims *c, const struct tensor *companion, const struct tensor *codes, struct err *err)
{
    uint32_t owner = c->roles->owner[catalog_index(c->catalog, companion)];
    c->shares = true;
    if (owner != 0 && owner <= c->roles->nweights)
        return c->roles->weights[owner - 1].shares || taken_twice(c, companion, codes, err);
    return claims_take(c, companion, codes, err);
}

bool
claims_take_for(struct claims *c, const struct tensor *companion, const struct weight *w, struct err *err)
{
    uint32_t *owner = &c->roles->owner[catalog_index(c->catalog, companion)];
    if (*owner != 0)
        return taken_twice(c, companion, w->part[0], err);
    *owner = (uint32_t)(w - c->roles->weights) + 1;
    return true;
}

bool
claims_is_report_on_shard(const struct claims *c)
{
    return !c->contents && catalog_facts_of(c->catalog)->shards != 0;
}

bool
claims_missing(const struct claims *c, uint64_t at, struct err *err, const char *format, ...)
{
    const struct catalog_facts *f = catalog_facts_of(c->catalog);
    char before[ERR_TEXT] = "";
    va_list args;
    if (f->shards != 0)
        snprintf(before, sizeof before, "part of a model of %" PRIu64 " files; give the directory or %s: ", f->shards,
            f->index ? f->index : "the index");
    va_start(args, format);
    err_vset(err, f->shards != 0 ? ERR_UNSUPPORTED : ERR_MALFORMED, at, before, format, args);
    va_end(args);
    return false;
}

bool
claims_is_taken(const struct claims *c, const struct tensor *companion)
{
    return c->roles->owner[catalog_index(c->catalog, companion)] != 0;
}

bool
claims_rename(struct claims *c, struct weight *w, const struct part_name *base, const char *suffix, struct err *err)
{
    size_t suffix_len = strlen(suffix), n = base->base_len + suffix_len;
    if (n == w->name_len && memcmp(w->name + base->base_len, suffix, suffix_len) == 0)
        return true;
    char *name = catalog_alloc(c->catalog, n + 1, err);
    if (!name)
        return false;
    memcpy(name, base->base, base->base_len);
    memcpy(name + base->base_len, suffix, suffix_len + 1);
    w->name = name;
    w->name_len = (uint32_t)n;
    return true;
}

bool
claims_take_idle(struct claims *c, const struct tensor *codes, struct err *err)
{
    struct part_name p;
    bool module = name_strip(codes, ".weight", &p);
    for (size_t i = 0; module && i < IDLE; i++) {
        const struct tensor *idle = c->idle[i] ? claims_find(c, p.base, p.base_len, idle_names[i]) : NULL;
        if (idle && !claims_take(c, idle, codes, err))
            return false;
    }
    const struct tensor *idle = claims_find(c, codes->name, codes->name_len, "_input_scale");    /* stacked experts */
    return !idle || claims_take(c, idle, codes, err);
}

/* One look at all names spares a look-up per weight and idle name. */
static void
find_idle(struct claims *c)
{
    struct part_name ignored;
    for (size_t i = 0; i < IDLE; i++)
        for (size_t t = 0; t < catalog_count(c->catalog) && !c->idle[i]; t++)
            c->idle[i] = name_strip(catalog_at(c->catalog, t), idle_names[i], &ignored);
}

/* The schemes in the order of schemes.md 1.2: what shares names with FP8 comes before it. */
static const struct scheme *
scheme_row(size_t i)
{
    static const struct scheme *const before[] = { &scheme_comfy, &scheme_sdnq, &scheme_bnb4, &scheme_bnb8 };
    static const struct scheme *const after[] = { &scheme_fp8, &scheme_ggml, &scheme_ggml_unknown };
    enum { BEFORE = sizeof before / sizeof *before, AFTER = sizeof after / sizeof *after };
    if (i < BEFORE)
        return before[i];
    i -= BEFORE;
    if (i < recognised_count)
        return &recognised[i];
    i -= recognised_count;
    return i < AFTER ? after[i] : NULL;
}

static bool
add_weight(struct claims *c, const struct weight *w, struct err *err)
{
    struct roles *r = c->roles;
    struct weight *weights = array_grow(r->weights, r->nweights, &r->room, sizeof *weights, err);
    if (!weights)
        return false;
    r->weights = weights;
    r->weights[r->nweights++] = *w;
    return true;
}

bool
claims_add(struct claims *c, const struct weight *w, struct err *err)
{
    return claims_take(c, w->part[0], w->part[0], err) && add_weight(c, w, err);
}

/* Let one scheme claim its weights. */
static bool
claim_all(const struct scheme *scheme, struct claims *c, struct err *err)
{
    for (size_t i = 0; i < catalog_count(c->catalog); i++) {
        if (c->roles->owner[i] != 0)
            continue;
        const struct tensor *t = catalog_at(c->catalog, i);
        struct weight w = { .scheme = scheme, .part = { t }, .name = t->name, .name_len = t->name_len,
            .shape = t->shape };
        c->shares = false;
        enum claim claim = scheme->claim(scheme, c, t, &w, err);
        w.shares = c->shares;
        if (claim == CLAIM_FAIL)
            return false;
        if (claim == CLAIM_YES && !claims_add(c, &w, err))
            return false;
    }
    return true;
}

static int
compare_names(const void *pa, const void *pb)
{
    const struct weight *a = *(const struct weight *const *)pa, *b = *(const struct weight *const *)pb;
    return str_compare(a->name, a->name_len, b->name, b->name_len);
}

static bool
taken(const struct tensor *a, const struct tensor *b, struct err *err)
{
    char first[STR_SHOWN], second[STR_SHOWN];
    return err_set(err, ERR_MALFORMED, b->extent.at, "tensors %s and %s: two output tensors of one name",
        str_shown(first, a->name, a->name_len), str_shown(second, b->name, b->name_len));
}

/* No two output tensors have one name: a decoded weight may take a new one. */
static bool
check_names(const struct claims *c, struct err *err)
{
    const struct roles *r = c->roles;
    const struct weight **renamed = malloc((r->nweights + 1) * sizeof *renamed);
    if (!renamed)
        return err_memory(err, r->nweights * sizeof *renamed);
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < r->nweights; i++) {
        const struct weight *w = &r->weights[i];
        if (w->name == w->part[0]->name && w->name_len == w->part[0]->name_len)
            continue;
        renamed[n++] = w;
        const struct tensor *other = catalog_find(c->catalog, w->name, w->name_len);
        if (other && !roles_is_companion(r, catalog_index(c->catalog, other)))
            ok = taken(w->part[0], other, err);
    }
    qsort(renamed, n, sizeof *renamed, compare_names);
    for (size_t i = 1; ok && i < n; i++)
        if (compare_names(&renamed[i - 1], &renamed[i]) == 0)
            ok = taken(renamed[i - 1]->part[0], renamed[i]->part[0], err);
    free(renamed);
    return ok;
}

bool
roles_assign(struct roles **out, struct catalog *catalog, const struct contents *contents, struct err *err)
{
    struct roles *r = calloc(1, sizeof *r);
    if (!r)
        return err_memory(err, sizeof *r);
    *out = r;
    r->catalog = catalog;
    r->owner = calloc(catalog_count(catalog) + 1, sizeof *r->owner);
    if (!r->owner)
        return err_memory(err, catalog_count(catalog) * sizeof *r->owner);
    struct claims c = { .roles = r, .catalog = catalog, .contents = contents };
    for (size_t i = 0; i < catalog_count(catalog); i++)
        c.longest = num_max(c.longest, catalog_at(catalog, i)->name_len);
    c.scratch = malloc(c.longest + 1);
    if (!c.scratch)
        return err_memory(err, c.longest);
    bool ok = config_new(&c.config, catalog, err) && comfy_markers_new(&c.comfy, &c, err);
    if (ok)
        c.grids = swizzle_survey(&c);
    find_idle(&c);
    const struct scheme *scheme;
    for (size_t i = 0; ok && (scheme = scheme_row(i)) != NULL; i++)
        ok = claim_all(scheme, &c, err);
    ok = ok && fp8_finish(r, &c, err) && leftover_check(r, &c, err) && unclaimed_claim(r, &c, err)
        && check_names(&c, err);
    comfy_markers_free(c.comfy);
    config_free(c.config);
    free(c.scratch);
    return ok;
}

void
roles_free(struct roles *r)
{
    if (!r)
        return;
    free(r->weights);
    free(r->owner);
    free(r);
}

size_t
roles_weight_count(const struct roles *r)
{
    return r->nweights;
}

const struct weight *
roles_weight(const struct roles *r, size_t i)
{
    return &r->weights[i];
}

const struct weight *
roles_weight_of(const struct roles *r, size_t i)
{
    const struct weight *w = r->owner[i] ? &r->weights[r->owner[i] - 1] : NULL;
    return w && !roles_is_companion(r, i) ? w : NULL;
}

bool
roles_is_companion(const struct roles *r, size_t i)
{
    return r->owner[i] != 0 && r->weights[r->owner[i] - 1].part[0] != catalog_at(r->catalog, i);
}

const struct weight *
roles_owner(const struct roles *r, size_t i)
{
    return r->owner[i] ? &r->weights[r->owner[i] - 1] : NULL;
}

enum role
roles_role(const struct roles *r, size_t i)
{
    return !r->owner[i] ? ROLE_PLAIN : roles_is_companion(r, i) ? ROLE_SCALE : ROLE_WEIGHT;
}

bool
roles_decodable(const struct roles *r, struct err *err)
{
    for (size_t i = 0; i < r->nweights; i++) {
        const struct weight *w = &r->weights[i];
        char shown[STR_SHOWN], detail[SCHEME_DETAIL];
        if (w->scheme->decode && !w->vague)
            continue;
        w->scheme->describe(w, detail);
        return err_set(err, ERR_UNSUPPORTED, w->part[0]->extent.at, "tensor %s: %s cannot be decoded",
            str_shown(shown, w->name, w->name_len), detail);
    }
    return true;
}
