#include "scheme/declared.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

enum { DEPTH = 8 };             /* of objects in the quantization block */

/* The scales of n rows or columns: `found` of them, which blocks of the declared size do not give. */
struct contradiction {
    struct doubt doubt;
    uint64_t n, block, found;
    bool rows;
};

/* Names both numbers. */
static bool
declared_refuse(const struct weight *w, struct err *err)
{
    const struct contradiction *why = (const struct contradiction *)w->doubt;
    const struct tensor *t = why->doubt.tensor;
    const char *axis = "columns";
    if (why->rows)
        axis = "rows";
    char name[STR_SHOWN];
    return err_at(err, ERR_UNSUPPORTED, t->extent.at, "tensor %s: %" PRIu64 " scales for %" PRIu64 " %s, but blocks of %" PRIu64
        " as declared in config.json would have %" PRIu64 "; correct config.json, or use another version of the model",
        str_shown(name, t->name, t->name_len), why->found, why->n, axis, why->block, num_ceil_div(why->n, why->block));
}

static bool
contradict(const struct doubt **out, struct claims *c, const struct contradiction *why, struct err *err)
{
    struct contradiction *own = claims_alloc(c, sizeof *own, err);
    if (!own)
        return false;
    *own = *why;
    *out = &own->doubt;
    return true;
}

bool
declared_blocks(const struct doubt **out, struct claims *c, const struct tensor *scale, const uint64_t n[2],
    const uint64_t block[2], const uint64_t k[2], struct err *err)
{
    *out = NULL;
    for (unsigned i = 0; i < 2; i++)
        if (num_ceil_div(n[i], block[i]) != k[i])
            return contradict(out, c, &(struct contradiction){ { declared_refuse, scale }, n[i], block[i], k[i], i == 0 }, err);
    return true;
}

/* Collects the sizes of groups of weights: *first is the first one, *fitting the first that gives k groups of n columns. */
static void
declared_collect(const json_t *block, uint64_t n, uint64_t k, uint64_t *first, uint64_t *fitting, unsigned depth)
{
    static const char *const others[] = { "activations", "kv_cache" };
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)block, key, value) {
        size_t len = strlen(key);
        bool other = str_find_word(key, len, others[0]) < len || str_find_word(key, len, others[1]) < len;
        bool is_size = strcmp(key, "group_size") == 0 || strcmp(key, "q_group_size") == 0;
        if (is_size && json_integer_value(value) > 0) {
            uint64_t size = (uint64_t)json_integer_value(value);
            if (*first == 0)
                *first = size;
            if (*fitting == 0 && num_ceil_div(n, size) == k)
                *fitting = size;
        } else if (!other && depth < DEPTH) {
            declared_collect(value, n, k, first, fitting, depth + 1);
        }
    }
}

bool
declared_by_module(const struct claims *c)
{
    return json_object_size(json_object_get(config_block(c->config), "config_groups")) != 0;
}

bool
declared_groups(uint64_t *size, const struct doubt **out, struct claims *c, const struct part_name *module,
    const struct tensor *scale, uint64_t n, uint64_t k, struct err *err)
{
    const json_t *block = config_block(c->config), *value = NULL;
    uint64_t first = 0;
    *size = 0;
    *out = NULL;
    if (!declared_by_module(c)) {
        declared_collect(block, n, k, &first, size, 0);
    } else if (!config_weights(c->config, module->base, module->base_len, "group_size", &value, err)) {
        return false;
    } else if (json_integer_value(value) > 0) {
        first = (uint64_t)json_integer_value(value);
        if (num_ceil_div(n, first) == k)
            *size = first;
        else
            *size = 0;
    }
    if (first == 0 || *size != 0)
        return true;
    return contradict(out, c, &(struct contradiction){ { declared_refuse, scale }, n, first, k, false }, err);
}
