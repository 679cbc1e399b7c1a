/* What the header of a single file says about the strength of its modules, which have no alpha tensors then. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapter/adapter_priv.h"
#include "adapter/towers.h"

enum { NUMBER_MAX = 64 };

static const char metadata[] = "lora_adapter_metadata";

/* Names of alpha, and of the rank that stands beside it. */
static const char *const alphas[] = { "alpha", "lora_alpha", "network_alpha", "ss_network_alpha", NULL };
static const char *const ranks[] = { "network_dim", "ss_network_dim", NULL };

/* --- lora_adapter_metadata: the configs of PEFT that diffusers stores, each member with the name of its tower in front */

/* Adds a member TOWER.NAME to the config of its tower; one without a tower counts for all. */
static bool
header_add_member(json_t *towers, const char *key, json_t *value)
{
    const char *dot = strrchr(key, '.');
    char *tower = strndup(key, dot ? (size_t)(dot - key) : 0);
    if (tower && !json_object_get(towers, tower))
        json_object_set_new(towers, tower, json_pack("{s:s}", "peft_type", "LORA"));
    json_t *one = NULL;
    if (tower)
        one = json_object_get(towers, tower);
    free(tower);
    return one && json_object_set(one, dot ? dot + 1 : key, value) == 0;
}

static bool
read_towers(struct adapter *a, struct err *err)
{
    const struct meta *meta = catalog_meta_find(a->file.catalog, metadata);
    size_t n = 0;
    const char *text = meta ? meta_bytes(&meta->value, &n) : NULL, *key;
    json_t *members = NULL, *value;
    if (!text)
        return true;
    a->towers = json_object();
    bool ok = (a->towers || err_memory(err, 0)) && tree_read(&members, text, n, metadata, err);
    json_object_foreach(members, key, value)
        ok = ok && (header_add_member(a->towers, key, value) || err_memory(err, 0));
    json_decref(members);
    json_object_foreach(a->towers, key, value)
        ok = ok && adapter_check_members(value, metadata, err);
    return ok;
}

/* Returns the tower that a name is of, by its prefix. */
static int
tower_of(const char *key)
{
    char name[NUMBER_MAX];
    size_t n = strlen(key);
    if (n == 0 || n + 2 >= sizeof name)
        return TOWER_NONE;
    memcpy(name, key, n);
    strcpy(name + n, ".x");
    return towers_of(name, n + 2);
}

json_t *
adapter_tower(const struct adapter *a, const struct adapter_module *m, bool *named)
{
    json_t *value, *found = NULL, *other = NULL;
    const char *key;
    size_t len, best = 0, others = 0;
    int tower = towers_of(m->name, m->len);
    json_object_foreach(a->towers, key, value) {
        len = strlen(key);
        if (len > best && len + 1 < m->len && memcmp(m->name, key, len) == 0 && m->name[len] == '.') {
            found = value;
            best = len;
        }
        if (tower == TOWER_NONE || tower_of(key) == TOWER_NONE || tower == tower_of(key)) {
            other = value;
            others++;
        }
    }
    *named = found != NULL;
    if (found)
        return found;
    if (others == 1)
        return other;
    return NULL;
}

/* --- alpha as a text */

/* Sets *value to the number that a text of the header is. */
static bool
header_read_number(double *value, const struct meta *meta)
{
    char text[NUMBER_MAX], *end;
    size_t n = 0;
    const char *p = NULL;
    if (meta && meta->value.type == META_STRING)
        p = meta_bytes(&meta->value, &n);
    if (!p || n == 0 || n >= sizeof text)
        return false;
    memcpy(text, p, n);
    text[n] = '\0';
    *value = strtod(text, &end);
    return end == text + n && isfinite(*value);
}

/* Finds the number that one of several names has. Fails if two have different ones. */
static bool
find_number(const char **name, double *value, const struct adapter *a, const char *const names[], struct err *err)
{
    double one;
    for (size_t i = 0; names[i]; i++) {
        if (!header_read_number(&one, catalog_meta_find(a->file.catalog, names[i])))
            continue;
        if (*name && one != *value)
            return err_set(err, ERR_MALFORMED, "the header declares %s %g and %s %g", *name, *value, names[i], one);
        *name = names[i];
        *value = one;
    }
    return true;
}

/* Returns true if a text of the header has a name as a scale has, and a value that is not without effect. Kohya's ss_ are
 * settings of a training run, which its loaders do not read. */
static bool
is_scale(const struct meta *meta)
{
    static const char *const words[] = { "alpha", "scale", "scaling", "rslora", "strength", "multiplier", NULL };
    static const char *const none[] = { "", "none", "null", "false", NULL };
    const char *name = meta->key;
    size_t n = 0;
    const char *text = NULL;
    if (meta->value.type == META_STRING)
        text = meta_bytes(&meta->value, &n);
    double value = 0;
    bool number = header_read_number(&value, meta), says = false;
    for (size_t i = 0; words[i]; i++)
        says = says || strcasestr(name, words[i]);
    for (size_t i = 0; text && none[i]; i++)
        says = says && !(strlen(none[i]) == n && strncasecmp(none[i], text, n) == 0);
    bool rslora = strcasestr(name, "rslora") != NULL, alpha = strcasestr(name, "alpha") != NULL;
    if (!says || str_begins(name, "ss_") || str_begins(name, "modelspec."))
        return false;
    if (number)
        return value != 0 && (value != 1 || alpha || rslora);
    return rslora;
}

/* Refuses texts that look like a scale and that no loader is known to read. */
static bool
check_unknown(const struct adapter *a, struct err *err)
{
    char shown[STR_SHOWN];
    for (size_t i = 0; i < catalog_meta_count(a->file.catalog); i++) {
        const struct meta *meta = catalog_meta_at(a->file.catalog, i);
        bool known = false;
        for (size_t k = 0; alphas[k]; k++)
            known = known || strcmp(alphas[k], meta->key) == 0;
        if (!known && is_scale(meta))
            return err_set(err, ERR_UNSUPPORTED, "the header declares %s, which could change the weights: add alpha instead, "
                "or remove it if it does not", str_shown(shown, meta->key, meta->key_len));
    }
    return true;
}

bool
adapter_read_header(struct adapter *a, struct err *err)
{
    if (a->family != ADAPTER_SINGLE)
        return true;
    if (!read_towers(a, err))
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->module[i].factor[FACTOR_ALPHA])
            return true;                        /* tensors decide */
    return check_unknown(a, err) && find_number(&a->alpha_name, &a->alpha, a, alphas, err)
        && find_number(&a->rank_name, &a->declared_rank, a, ranks, err);
}
