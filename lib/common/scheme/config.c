#include "scheme/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/tree.h"

struct config {
    json_t *root;               /* owned */
    const json_t *quant;        /* its quantization block; borrowed, or NULL */
};

/* The quantization block: at top level, or in the block of the language model. */
static const json_t *
find_block(const json_t *root)
{
    static const char *const keys[] = { "quantization_config", "quantization", "compression_config" };
    static const char *const inside[] = { NULL, "text_config", "language_config", "llm_config" };
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        const json_t *at = inside[i] ? json_object_get(root, inside[i]) : root;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const json_t *found = json_object_get(at, keys[k]);
            if (json_is_object(found))
                return found;
        }
    }
    return NULL;
}

bool
config_new(struct config **out, const char *text, size_t n, struct err *err)
{
    struct config *config = calloc(1, sizeof *config);
    if (!config)
        return err_memory(err, sizeof *config);
    *out = config;
    if (!text)
        return true;
    if (!tree_read(&config->root, text, n, "config.json", err))
        return false;
    config->quant = find_block(config->root);
    return true;
}

void
config_free(struct config *config)
{
    if (!config)
        return;
    json_decref(config->root);
    free(config);
}

const char *
config_method(const struct config *config)
{
    return json_string_value(json_object_get(config->quant, "quant_method"));
}

bool
config_block_size(const struct config *config, uint64_t block[2])
{
    const json_t *size = json_object_get(config->quant, "weight_block_size");
    if (json_array_size(size) != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        json_int_t v = json_integer_value(json_array_get(size, i));
        if (v <= 0)
            return false;
        block[i] = (uint64_t)v;
    }
    return true;
}

/* Whether pattern names the module: itself, a whole dotted part of its path, or "re:..." with a plain tail. */
static bool
names_module(const char *pattern, const char *module, size_t n)
{
    if (strncmp(pattern, "re:", 3) == 0) {
        pattern += 3;
        if (strncmp(pattern, ".*", 2) == 0)
            pattern += 2;
        pattern += *pattern == '^';
    }
    size_t len = strcspn(pattern, "$");
    while (len > 0 && (pattern[len - 1] == '*' || pattern[len - 1] == '.'))
        len--;
    if (len == 0)
        return false;
    for (size_t at = 0; at + len <= n; at++)
        if (memcmp(module + at, pattern, len) == 0 && (at == 0 || module[at - 1] == '.' || pattern[0] == '.')
            && (at + len == n || module[at + len] == '.'))
            return true;
    return false;
}

bool
config_ignores(const struct config *config, const char *module, size_t n)
{
    static const char *const keys[] = { "modules_to_not_convert", "ignored_layers", "ignore", "exclude",
        "exclude_modules" };
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const json_t *list = json_object_get(config->quant, keys[k]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const char *pattern = json_string_value(json_array_get(list, i));
            if (pattern && names_module(pattern, module, n))
                return true;
        }
    }
    return false;
}
