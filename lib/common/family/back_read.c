#include "family/back_priv.h"

#include <stdio.h>
#include <string.h>

#include "family/back_keys.h"
#include "family/rope_keys.h"

bool
back_read_check(struct scope *scope, const json_t *keys, struct model *model, bool allow, struct err *err)
{
    const struct model_family *family = scope->family;
    for (size_t i = 0; i < family->keys.n; i++) {
        const struct family_key *row = &family->keys.at[i];
        char name[FAMILY_KEY];
        bool decides;
        if (row->optional)
            continue;
        if (!family_key_decides(&decides, family, i, scope, err))
            return false;
        if (!decides || !family_key_name(name, family, row->name) || json_object_get(keys, name)
                || catalog_meta_find(model->catalog, name))
            continue;
        if (!allow)
            return err_set(err, ERR_MALFORMED, "key %s: missing, but required by family %s (%s); --allow-missing "
                "converts without it", name, family->name, expr_text(row->value));
        catalog_warn(model->catalog, "key %s: missing, but required by family %s (%s)", name, family->name, expr_text(row->value));
    }
    return true;
}

/* --- keys that nothing reads */

static bool
is_named(const struct expr *e, const char *key)
{
    const char *name;
    for (size_t i = 0; e && (name = expr_name_at(e, i)) != NULL; i++)
        if (strcmp(name, key) == 0)
            return true;
    return false;
}

/* Returns true if a row of the family has a key, or an expression of the way back names it. */
static bool
is_read(const struct model_family *f, const char *key)
{
    for (size_t i = 0; i < f->keys.n; i++)
        if (f->keys.at[i].name && strcmp(f->keys.at[i].name, key) == 0)
            return true;
    for (size_t i = 0; i < f->back.n; i++)
        if (is_named(f->back.at[i].value, key) || is_named(f->back.at[i].when, key))
            return true;
    for (size_t i = 0; i < f->fallbacks.n; i++)
        if (is_named(f->fallbacks.at[i].value, key) || is_named(f->fallbacks.at[i].when, key))
            return true;
    for (size_t i = 0; i < f->lets.n; i++)
        if (is_named(f->lets.at[i].value, key))
            return true;
    for (size_t i = 0; i < f->hf.n; i++)
        if (is_named(f->hf.at[i].when, key))
            return true;
    return rope_keys_reads(key);
}

static bool
is_ignored(bool *yes, struct scope *scope, const char *key, struct err *err)
{
    const struct model_family *f = scope->family;
    *yes = false;
    for (size_t i = 0; i < f->ignores.n && !*yes; i++)
        if (strcmp(f->ignores.at[i].key, key) == 0 && !expr_true(yes, f->ignores.at[i].when, scope, 0, err))
            return false;
    return true;
}

/* Appends a key unless something reads it. */
static bool
add_unread(struct str *out, size_t *n, struct scope *scope, const struct meta *m, struct err *err)
{
    const char *arch = scope->family->arch;
    size_t skip = strlen(arch) + 1;
    char key[FAMILY_KEY], shown[STR_SHOWN];
    bool ignored;
    if (m->key_len <= skip || m->key_len - skip >= sizeof key || memcmp(m->key, arch, skip - 1) != 0 || m->key[skip - 1] != '.')
        return true;
    memcpy(key, m->key + skip, m->key_len - skip);
    key[m->key_len - skip] = '\0';
    if (back_keys_is_of_tower(key) || is_read(scope->family, key))
        return true;
    if (!is_ignored(&ignored, scope, key, err))
        return false;
    if (!ignored)
        str_format(out, "%s%s", (*n)++ != 0 ? ", " : "", str_shown(shown, m->key, m->key_len));
    return !out->failed || err_memory(err, out->room);
}

bool
back_read_warn_unread(struct scope *scope, struct model *model, struct err *err)
{
    struct str names = { 0 };
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < catalog_meta_count(model->catalog); i++)
        ok = add_unread(&names, &n, scope, catalog_meta_at(model->catalog, i), err);
    if (ok && n != 0)
        catalog_warn(model->catalog, "family %s reads nothing from %s %s: what %s is not in the directory", scope->family->name,
            n == 1 ? "key" : "keys", names.p, n == 1 ? "it says" : "they say");
    str_clear(&names);
    return ok;
}
