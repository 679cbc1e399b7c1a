/* The text of a config is read with the pull reader, which needs no memory in proportion to it. Only the quantization block
 * is parsed into a tree. Python writes NaN and Infinity into such files; outside the block they are accepted and skipped. */
#include "scheme/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/pull.h"
#include "base/str.h"
#include "base/tree.h"
#include "scheme/modules.h"
#include "scheme/words.h"

enum { GROUPS = 256 };

/* A group of compressed-tensors (an entry of config_groups). */
struct group {
    struct modules targets;
    bool by_class;                      /* it also targets all modules of a class */
    const json_t *weights, *format;     /* its entries; borrowed from the block */
};

/* Caches which groups target a module by name, because a weight looks up several keys. */
struct module_cache {
    const char *module;                 /* borrowed */
    size_t n;
    bool named[GROUPS];
};

struct config {
    json_t *block;                      /* owned, or NULL */
    char model_type[32];                /* in quotes, as in config.json; or "" */
    bool engine;                        /* the file that is being read describes a checkpoint of TensorRT-LLM */
    json_t *metadata;                   /* the block in the metadata of the model's files; owned, or NULL */
    uint64_t size[CONFIG_SIZES];        /* or 0 */
    struct modules_cost cost;           /* shared by all lists of modules */
    struct modules ignored;
    struct group group[GROUPS];
    size_t ngroups;
    struct module_cache *cache;         /* owned */
};

/* --- finding the block */

/* The blocks of one text. The first one is used. */
enum { KEYS = 3, PLACES = 4 };
static const char *const keys[KEYS] = { "quantization_config", "quantization", "compression_config" };
static const char *const places[PLACES] = { "", "text_config", "language_config", "llm_config" };

struct config_found {
    struct { const char *p; size_t n; } block[PLACES][KEYS];
    bool itself;                        /* the top level has keys of a block */
    bool engine;                        /* it divides the model into ranks, as for TensorRT-LLM */
    char model_type[32];
    uint64_t size[PLACES][CONFIG_SIZES];        /* or 0 */
};

/* Reads a number of up to nine digits; 0 if it is something else. */
static uint64_t
read_count(const char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || n > 9)
            return 0;
        v = 10 * v + (uint64_t)(p[i] - '0');
    }
    return v;
}

/* Reads the object that was just opened. Place 0 is the top level; the other places are objects in it. */
static bool
look_for_blocks(struct config_found *f, struct pull *json, size_t place)
{
    static const char *const sizes[CONFIG_SIZES] = { "vocab_size", "hidden_size", "intermediate_size",
        "num_key_value_heads", "head_dim", "v_head_dim" };
    static const char *const own[] = { "quant_method", "weights_dtype", "bits", "w_bit" };
    enum pull_token token;
    while ((token = pull_next(json)) == PULL_KEY) {
        size_t key = 0, inner = 1;
        for (; key < KEYS && !pull_text_is(&json->token, keys[key]); key++)
            ;
        for (; inner < PLACES && !pull_text_is(&json->token, places[inner]); inner++)
            ;
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            f->itself = f->itself || (place == 0 && pull_text_is(&json->token, own[i]));
        size_t size = 0;
        for (; size < CONFIG_SIZES && !pull_text_is(&json->token, sizes[size]); size++)
            ;
        bool model_type = place == 0 && pull_text_is(&json->token, "model_type");
        bool mapping = place == 0 && pull_text_is(&json->token, "mapping");
        const char *p;
        size_t n;
        if (!pull_value_text(json, &p, &n))
            return false;
        f->engine = f->engine || (mapping && *p == '{');
        if (model_type && n < sizeof f->model_type)
            memcpy(f->model_type, p, n);
        if (size < CONFIG_SIZES)
            f->size[place][size] = read_count(p, n);
        if (key < KEYS && *p == '{') {
            if (f->block[place][key].p)
                return false;
            f->block[place][key].p = p;
            f->block[place][key].n = n;
        } else if (place == 0 && inner < PLACES && *p == '{') {
            struct pull inside;
            pull_init(&inside, p, n, 0);
            inside.words = true;
            pull_next(&inside);
            if (!look_for_blocks(f, &inside, inner))
                return false;
        }
    }
    return token == PULL_OBJECT_END;
}

/* Reads one block and its words. Keeps it if it is the first; others count for their words only, if they can be read. */
static bool
take_block(struct config *config, struct words *words, const char *name, const char *at, const char *p, size_t n,
    struct err *err)
{
    json_t *block;
    struct err ignored;
    err_init(&ignored);
    if (!tree_read(&block, p, n, name, config->block ? &ignored : err))
        return config->block != NULL;
    words_read_block(words, name, at, block, config->engine);
    if (config->block)
        json_decref(block);
    else
        config->block = block;
    return true;
}

/* Reads the blocks of one text, if it has any. */
static bool
read_blocks(struct config *config, struct words *words, const struct catalog_config *text, struct err *err)
{
    struct config_found f = { 0 };
    struct pull json;
    char why[PULL_EXPLAIN];
    pull_init(&json, text->text, text->n, 0);
    json.words = true;
    enum pull_token token = pull_next(&json);
    if (token != PULL_OBJECT && token != PULL_BAD)
        return err_at(err, ERR_MALFORMED, 0, "%s is not a JSON object", text->name);
    bool ok = look_for_blocks(&f, &json, 0) && pull_next(&json) == PULL_END;
    if (!ok && json.fault == PULL_OK)
        return err_set(err, ERR_MALFORMED, "%s declares the quantization of the model twice",
            text->name);
    if (!ok)
        return err_at(err, ERR_MALFORMED, pull_fault_at(&json), "%s is not valid JSON: %s", text->name,
            pull_explain(why, &json));
    config->engine = f.engine;
    if (*f.model_type)
        memcpy(config->model_type, f.model_type, sizeof f.model_type);
    for (size_t place = 0; place < PLACES; place++)
        for (size_t i = 0; i < CONFIG_SIZES; i++)
            config->size[i] = config->size[i] != 0 ? config->size[i] : f.size[place][i];
    bool any = false;
    for (size_t place = 0; ok && place < PLACES; place++)
        for (size_t key = 0; ok && key < KEYS; key++) {
            char at[64];
            snprintf(at, sizeof at, "%s%s%s", places[place], place != 0 ? "." : "", keys[key]);
            any = any || f.block[place][key].p;
            ok = !f.block[place][key].p
                || take_block(config, words, text->name, at, f.block[place][key].p, f.block[place][key].n, err);
        }
    return ok && (any || !f.itself || take_block(config, words, text->name, "", text->text, text->n, err));
}

/* --- reading the block */

/* Reads two positive numbers: [128, 128], or "128x128" as written by early compressed-tensors. */
static bool
read_pair(const json_t *list, uint64_t pair[2])
{
    const char *text = json_string_value(list);
    char end;
    if (text)
        return sscanf(text, "%9" SCNu64 "x%9" SCNu64 "%c", &pair[0], &pair[1], &end) == 2
            && pair[0] != 0 && pair[1] != 0;
    if (json_array_size(list) != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        json_int_t v = json_integer_value(json_array_get(list, i));
        if (v <= 0)
            return false;
        pair[i] = (uint64_t)v;
    }
    return true;
}

/* A class is one capitalised word: Linear. */
static bool
is_class(const json_t *target)
{
    const char *p = json_string_value(target);
    return p && *p >= 'A' && *p <= 'Z' && !strpbrk(p, ".*?[");
}

static bool
read_groups(struct config *config, struct err *err)
{
    const json_t *groups = json_object_get(config->block, "config_groups");
    for (void *it = json_object_iter((json_t *)groups); it; it = json_object_iter_next((json_t *)groups, it)) {
        const json_t *found = json_object_iter_value(it), *targets = json_object_get(found, "targets");
        const json_t *weights = json_object_get(found, "weights");
        struct group *group = &config->group[config->ngroups];
        if (!json_is_object(weights))
            continue;
        if (!limits_check(config->ngroups + 1, GROUPS, "groups of weights in config.json", err))
            return false;
        config->ngroups++;
        group->targets.cost = &config->cost;
        group->weights = weights;
        group->format = json_object_get(found, "format");
        for (size_t i = 0; i < json_array_size(targets); i++) {
            const json_t *target = json_array_get(targets, i);
            group->by_class = group->by_class || is_class(target);
            if (!is_class(target) && !modules_add(&group->targets, target, err))
                return false;
        }
        modules_seal(&group->targets);
    }
    return true;
}

static bool
read_ignored(struct config *config, struct err *err)
{
    static const char *const keys[] = { "modules_to_not_convert", "ignored_layers", "ignore", "exclude",
        "exclude_modules" };
    config->ignored.cost = &config->cost;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const json_t *list = json_object_get(config->block, keys[k]);
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!modules_add(&config->ignored, json_array_get(list, i), err))
                return false;
    }
    modules_seal(&config->ignored);
    return true;
}

/* Reads the block in the metadata. Ignores a value that is not a JSON object: another tool wrote it. */
static void
read_metadata(struct config *config, struct words *words, const struct catalog *catalog)
{
    const struct meta *meta = catalog_meta_find(catalog, "quantization_config");
    struct err ignored;
    size_t n;
    err_init(&ignored);
    const char *text = NULL;
    if (meta && meta->value.type == META_STRING)
        text = meta_bytes(&meta->value, &n);
    if (text && tree_read(&config->metadata, text, n, "quantization_config", &ignored))
        words_read_block(words, "the metadata", "quantization_config", config->metadata, false);
}

bool
config_new(struct config **out, const struct catalog *catalog, struct words *words, struct err *err)
{
    struct config *config = calloc(1, sizeof *config);
    if (!config)
        return err_memory(err, sizeof *config);
    *out = config;
    config->cost = modules_cost_most;
    config->cache = calloc(1, sizeof *config->cache);
    if (!config->cache)
        return err_memory(err, sizeof *config->cache);
    for (size_t i = 0; i < catalog_config_count(catalog); i++) {
        const struct catalog_config *text = catalog_config_at(catalog, i);
        bool first = !config->block;
        struct err ignored;
        if (str_begins(text->name, CATALOG_DESCRIPTION)) {
            if (!words_read_description(words, catalog, text, err))
                return false;
            continue;
        }
        err_init(&ignored);
        if (!read_blocks(config, words, text, first ? err : &ignored) && first)
            return false;
    }
    read_metadata(config, words, catalog);
    if (!config->block && json_object_get(config->metadata, "quant_method"))       /* one file has no config.json */
        config->block = json_incref(config->metadata);
    return read_groups(config, err) && read_ignored(config, err);
}

void
config_free(struct config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->ngroups; i++)
        modules_clear(&config->group[i].targets);
    modules_clear(&config->ignored);
    json_decref(config->block);
    json_decref(config->metadata);
    free(config->cache);
    free(config);
}

const json_t *
config_block(const struct config *config)
{
    return config->block;
}

const json_t *
config_metadata(const struct config *config)
{
    return config->metadata;
}

const char *
config_method(const struct config *config)
{
    const char *method = json_string_value(json_object_get(config->block, "quant_method"));
    if (method || !json_is_string(json_object_get(config->block, "quant_algo")))
        return method;
    return "modelopt";
}

bool
config_method_is(const struct config *config, const char *const methods[])
{
    const char *method = config_method(config);
    for (; method && *methods; methods++)
        if (strcmp(method, *methods) == 0)
            return true;
    return false;
}

uint64_t
config_number(const struct config *config, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(config->block, key));
    if (v > 0)
        return (uint64_t)v;
    return 0;
}

uint64_t
config_size(const struct config *config, enum config_size size)
{
    return config->size[size];
}

bool
config_is_model(const struct config *config, const char *model_type)
{
    size_t n = strlen(model_type);
    return strlen(config->model_type) == n + 2 && memcmp(config->model_type + 1, model_type, n) == 0;
}

static bool
fill_cache(const struct config *config, const char *module, size_t n, struct err *err)
{
    struct module_cache *cache = config->cache;
    if (cache->module == module && cache->n == n)
        return true;
    cache->module = NULL;
    for (size_t i = 0; i < config->ngroups; i++)
        if (!modules_have(&config->group[i].targets, module, n, &cache->named[i], err))
            return false;
    cache->module = module;
    cache->n = n;
    return true;
}

/* Looks up `key` in the weights of the groups that target a module, or their format if it is NULL. */
static bool
look_up(const struct config *config, const char *module, size_t n, const char *key, const json_t **value, struct err *err)
{
    bool by_name = false, agree = true;
    *value = NULL;
    if (!fill_cache(config, module, n, err))
        return false;
    for (size_t i = 0; i < config->ngroups; i++) {
        const struct group *group = &config->group[i];
        const json_t *declared;
        if (key)
            declared = json_object_get(group->weights, key);
        else
            declared = group->format;
        bool named = config->cache->named[i];
        if ((!named && !group->by_class) || (by_name && !named))
            continue;
        if (named && !by_name)
            *value = NULL;              /* a match by name overrides the classes, also in what it does not declare */
        by_name = named;
        if (!declared || json_is_null(declared))
            continue;
        agree = !*value || (agree && json_equal(*value, declared));
        *value = *value ? *value : declared;
    }
    if (!agree)
        *value = NULL;
    return true;
}

bool
config_weights(const struct config *config, const char *module, size_t n, const char *key, const json_t **value,
    struct err *err)
{
    return look_up(config, module, n, key, value, err);
}

bool
config_format(const struct config *config, const char *module, size_t n, const char **format, struct err *err)
{
    const json_t *value;
    if (!look_up(config, module, n, NULL, &value, err))
        return false;
    *format = json_string_value(value ? value : json_object_get(config->block, "format"));
    return true;
}

/* Sets *found if an entry of extra_config is for a module: it has its name, or is an expression that occurs in it. */
static bool
is_entry_of(const struct config *config, const char *entry, const char *module, size_t n, bool *found, struct err *err)
{
    struct modules_cost *cost = config_cost(config);
    struct matcher m;
    size_t len = strlen(entry), at;
    char shown[STR_SHOWN];
    *found = false;
    if (!strpbrk(entry, "*+?^$()[]{}|\\"))
        return true;
    if (!matcher_read(&m, entry, len, false))
        return err_set(err, ERR_UNSUPPORTED, "extra_config: the expression '%s' is not supported",
            str_shown(shown, entry, len));
    cost->steps -= num_min(cost->steps, len + 1);
    *found = matcher_find(&m, module, n, &at, &cost->steps);
    return modules_cost_left(cost, err);
}

enum { LONGEST = 1023 };        /* longest name that is looked up in extra_config, in bytes */

bool
config_data_type(const struct config *config, const char *module, size_t n, const char **word, struct err *err)
{
    const json_t *all = json_object_get(config->block, "extra_config"), *own = NULL;
    char name[LONGEST + 1] = "";
    const char *entry;
    json_t *value;
    bool found = false;
    if (n <= LONGEST && !memchr(module, '\0', n)) {
        memcpy(name, module, n);
        own = json_object_get(all, name);
    }
    json_object_foreach((json_t *)all, entry, value) {
        if (own)
            break;
        if (!is_entry_of(config, entry, module, n, &found, err))
            return false;
        if (found)
            own = value;
    }
    *word = json_string_value(json_object_get(own, "data_type"));
    if (!*word)
        *word = json_string_value(json_object_get(config->block, "data_type"));
    return true;
}

bool
config_says(const struct config *config, const char *key, const char *word)
{
    const char *value = json_string_value(json_object_get(config->block, key));
    return value && str_same_word(value, word);
}

/* Reads groups of a row: strategy "group" and their group_size. */
static bool
read_group(const struct config *config, const char *module, size_t n, uint64_t block[2], bool *known, struct err *err)
{
    const json_t *strategy, *size;
    if (!config_weights(config, module, n, "strategy", &strategy, err)
        || !config_weights(config, module, n, "group_size", &size, err))
        return false;
    *known = json_is_string(strategy) && strcmp(json_string_value(strategy), "group") == 0 && json_integer_value(size) > 0;
    block[0] = 1;
    if (*known)
        block[1] = (uint64_t)json_integer_value(size);
    else
        block[1] = 0;
    return true;
}

bool
config_block_size(const struct config *config, const char *module, size_t n, uint64_t block[2], bool *known,
    struct err *err)
{
    const json_t *value;
    *known = read_pair(json_object_get(config->block, "weight_block_size"), block);
    if (*known)
        return true;
    if (!config_weights(config, module, n, "block_structure", &value, err))
        return false;
    *known = read_pair(value, block);
    return *known || read_group(config, module, n, block, known, err);
}

bool
config_ignores(const struct config *config, const char *module, size_t n, bool *ignores, struct err *err)
{
    return modules_have(&config->ignored, module, n, ignores, err);
}

struct modules_cost *
config_cost(const struct config *config)
{
    return config->ignored.cost;
}
