/* FP8 weights without a scale: decides whether each is a plain cast or has lost its scale. */
#include "scheme/fp8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* A weight with the key for comparison: its name, in which each run of digits is replaced by '#'. */
struct unscaled_name {
    const struct weight *w;
    const char *key;
    bool scaled;
};

static int
compare_keys(const void *pa, const void *pb)
{
    const struct unscaled_name *a = pa, *b = pb;
    return strcmp(a->key, b->key);
}

static void
add_key(struct str *s, const struct weight *w)
{
    for (uint32_t i = 0; i < w->name_len; i++) {
        bool digit = isdigit((unsigned char)w->name[i]);
        if (!digit)
            str_add(s, w->name[i] ? &w->name[i] : "0", 1);
        else if (i == 0 || !isdigit((unsigned char)w->name[i - 1]))
            str_text(s, "#");
    }
    str_add(s, "", 1);
}

/* Whether the method in config.json gives the weight a scale, or excludes its module. */
enum expected_scale { SCALE_UNKNOWN, SCALE_EXPECTED, SCALE_EXCLUDED };

static bool
find_expected(const struct config *config, const struct weight *w, enum expected_scale *expected, struct err *err)
{
    static const char *const methods[] = { "fp8", "fbgemm_fp8", "compressed-tensors", "modelopt", "quark", NULL };
    struct part_name p = claims_module_name(w->part[0]);
    bool ignored;
    *expected = SCALE_UNKNOWN;
    if (!config_method_is(config, methods))
        return true;
    if (!config_ignores(config, p.base, p.base_len, &ignored, err))
        return false;
    if (ignored)
        *expected = SCALE_EXCLUDED;
    else
        *expected = SCALE_EXPECTED;
    return true;
}

static bool
scale_lost(const struct claims *c, const struct weight *w, const char *why, struct err *err)
{
    char shown[STR_SHOWN];
    if (claims_is_report_on_shard(c))
        return true;
    return claims_missing(c, w->part[0]->extent.at, err, "tensor %s: %s without a scale, %s",
        str_shown(shown, w->name, w->name_len), dtype_name(w->part[0]->dtype), why);
}

/* Checks that config.json and the file allow a weight without a scale. */
static bool
check_bare(const struct claims *c, const struct weight *w, struct err *err)
{
    enum expected_scale expected;
    if (!find_expected(c->config, w, &expected, err))
        return false;
    if (expected == SCALE_EXPECTED)
        return scale_lost(c, w, "but the method in config.json has one", err);
    return expected == SCALE_EXCLUDED || catalog_facts_of(c->catalog)->shards == 0
        || scale_lost(c, w, "which may be in another file", err);
}

/* Compares weights with the same key: if some have a scale, one without has lost it. */
static bool
check_alike(const struct claims *c, struct unscaled_name *list, size_t n, struct err *err)
{
    qsort(list, n, sizeof *list, compare_keys);
    for (size_t i = 0, end; i < n; i = end) {
        const struct weight *bare = NULL;
        bool scaled = false;
        for (end = i; end < n && strcmp(list[end].key, list[i].key) == 0; end++) {
            scaled = scaled || list[end].scaled;
            if (!list[end].scaled && !bare)
                bare = list[end].w;
        }
        if (bare && scaled)
            return scale_lost(c, bare, "but weights of the same name in other layers have one", err);
    }
    return true;
}

bool
fp8_check_unscaled(const struct roles *roles, struct claims *c, struct err *err)
{
    size_t n = roles_weight_count(roles), used = 0, bare = 0;
    struct unscaled_name *list = malloc((n + 1) * sizeof *list);
    size_t *at = malloc((n + 1) * sizeof *at);
    struct str keys = { 0 };
    bool ok;
    if (list && at)
        ok = true;
    else
        ok = err_memory(err, n * sizeof *list);
    for (size_t i = 0; ok && i < n; i++) {
        const struct weight *w = roles_weight(roles, i);
        if (!fp8_is(w))
            continue;
        bool scaled = fp8_is_scaled(w);
        ok = scaled || check_bare(c, w, err);
        bare += !scaled;
        at[used] = keys.len;
        add_key(&keys, w);
        list[used++] = (struct unscaled_name){ .w = w, .scaled = scaled };
    }
    if (ok && keys.failed)
        ok = err_memory(err, keys.room);
    for (size_t i = 0; ok && i < used; i++)
        list[i].key = keys.p + at[i];
    ok = ok && (bare == 0 || bare == used || check_alike(c, list, used, err));
    if (ok && bare != 0)
        claims_warn(c, "FP8 tensors without a scale, converted without scaling: %zu", bare);
    str_clear(&keys);
    free(list);
    free(at);
    return ok;
}
