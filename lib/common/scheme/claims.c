#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/limits.h"
#include "base/str.h"
#include "scheme/roles_priv.h"
#include "scheme/table.h"
#include "scheme/words.h"

/* Returns true if config.json declares the method of a scheme. MLX's blocks have none, and "affine" is their default mode. */
static bool
declares_method(const struct claims *c, const struct scheme *scheme)
{
    const char *method = config_method(c->config);
    if (method)
        return words_has(scheme, WORD_METHOD, method);
    return config_block(c->config) && words_has(scheme, WORD_MODE, "affine");
}

/* Returns true if a tensor with such a name is from a quantizer. */
static bool
is_left(const struct claims *c, const struct tensor *t, const struct left_name *name)
{
    if (name->left == LEFT_GRID)
        return t->dtype == DTYPE_U8 && t->shape.rank >= 2;
    if (name->left == LEFT_E8M0)
        return t->dtype == DTYPE_F8_E8M0;
    if (name->left == LEFT_WORDS)
        return !dtype_is_float(t->dtype);
    return name->left != LEFT_METHOD || declares_method(c, name->scheme);
}

const struct left_name *
claims_left(const struct claims *c, const struct tensor *t, struct part_name *p)
{
    for (size_t i = 0; i < c->nleft; i++)
        if (claims_strip_name(t, c->left[i].suffix, p) && p->base_len != 0 && is_left(c, t, &c->left[i]))
            return &c->left[i];
    return NULL;
}

void *
claims_alloc(struct claims *c, size_t n, struct err *err)
{
    return catalog_alloc(c->catalog, n, err);
}

bool
claims_shape(struct claims *c, struct weight *w, uint32_t from, const uint64_t *dim, uint32_t n, struct err *err)
{
    uint8_t *packed = claims_alloc(c, (size_t)(from + n) * SHAPE_DIM, err), *end = packed;
    const uint8_t *dims = NULL;
    if (from != 0)
        dims = w->part[0]->shape.packed;
    if (!packed)
        return false;
    for (uint32_t i = 0; i < from; i++)
        end += shape_pack(end, &(uint64_t){ shape_next(&dims) }, 1);
    shape_pack(end, dim, n);
    w->shape = (struct shape){ from + n, packed };
    return true;
}

uint8_t *
claims_read(const struct claims *c, const struct tensor *t, uint64_t most, const char *what, struct err *err)
{
    uint64_t n = t->extent.nbytes;
    uint8_t *p = NULL;
    if (limits_check(n, most, what, err))
        p = malloc((size_t)n + 1);
    if (p && c->contents->read(c->contents->of, t, p, err))
        return p;
    if (!p && n <= most)
        err_memory(err, n);
    free(p);
    return NULL;
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

void
claims_warn_once(struct claims *c, const char *format, ...)
{
    enum { RECENT = 16 };
    char line[ERR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t n = catalog_remark_count(c->catalog);
    for (size_t i = n < RECENT ? 0 : n - RECENT; i < n; i++)
        if (strcmp(catalog_remark_at(c->catalog, i)->text, line) == 0)
            return;
    catalog_warn(c->catalog, "%s", line);
}

bool
claims_strip_name(const struct tensor *t, const char *suffix, struct part_name *p)
{
    size_t n = t->name_len;
    if (!str_strip(t->name, &n, suffix))
        return false;
    *p = (struct part_name){ .base = t->name, .base_len = n, .suffix = suffix };
    return true;
}

struct part_name
claims_module_name(const struct tensor *t)
{
    struct part_name p = { .base = t->name, .base_len = t->name_len };
    claims_strip_name(t, ".weight", &p);
    return p;
}

const struct tensor *
claims_find(const struct claims *c, const char *base, size_t base_len, const char *suffix)
{
    size_t suffix_len = strlen(suffix), n = base_len + suffix_len;
    if (n > c->longest)         /* longer than any name */
        return NULL;
    memcpy(c->scratch, base, base_len);
    memcpy(c->scratch + base_len, suffix, suffix_len);
    return catalog_find(c->catalog, c->scratch, n);
}

static bool
claimed_twice(const struct claims *c, const struct tensor *companion, const struct tensor *codes, struct err *err)
{
    char a[STR_SHOWN], b[STR_SHOWN], other[STR_SHOWN];
    const struct tensor *first = c->roles->weights[c->roles->owner[catalog_index(c->catalog, companion)] - 1].part[0];
    return err_at(err, ERR_MALFORMED, companion->extent.at,
        "tensor %s: belongs to two quantized weights, %s and %s",
        str_shown(a, companion->name, companion->name_len), str_shown(b, first->name, first->name_len),
        str_shown(other, codes->name, codes->name_len));
}

bool
claims_take(struct claims *c, const struct tensor *companion, const struct tensor *codes, enum role role,
    struct err *err)
{
    size_t i = catalog_index(c->catalog, companion);
    uint32_t *owner = &c->roles->owner[i];
    if (*owner != 0 && *owner != c->roles->nweights + 1)
        return claimed_twice(c, companion, codes, err);
    if (*owner == 0)
        c->roles->role[i] = (uint8_t)role;
    *owner = (uint32_t)c->roles->nweights + 1;
    return true;
}

bool
claims_share(struct claims *c, const struct tensor *companion, const struct tensor *codes, enum role role,
    struct err *err)
{
    uint32_t owner = c->roles->owner[catalog_index(c->catalog, companion)];
    c->shares = true;
    if (owner != 0 && owner <= c->roles->nweights)
        return c->roles->weights[owner - 1].shares || claimed_twice(c, companion, codes, err);
    return claims_take(c, companion, codes, role, err);
}

bool
claims_take_for(struct claims *c, const struct tensor *companion, const struct weight *w, enum role role,
    struct err *err)
{
    size_t i = catalog_index(c->catalog, companion);
    if (c->roles->owner[i] != 0)
        return claimed_twice(c, companion, w->part[0], err);
    c->roles->owner[i] = (uint32_t)(w - c->roles->weights) + 1;
    c->roles->role[i] = (uint8_t)role;
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
        snprintf(before, sizeof before, "this is one of %" PRIu64 " shards of a model; give the directory or %s: ",
            f->shards, str_or(f->index, "the index"));
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
    return claims_take(c, w->part[0], w->part[0], ROLE_WEIGHT, err) && add_weight(c, w, err);
}
