/* Sources: PrismML's llama.cpp, which rotates activations if a GGUF file has keys prism.hadamard.*; compressed-tensors
 * transform/transform_config.py, which fuses some transforms into weights and applies others to
 * activations; auto-round docs/rotation_details.md, export_to_autoround and transforms/spinquant/serialize.py. */
#include "scheme/rotation.h"

/* Returns true unless the value is null, false or empty. An object whose config_groups are empty counts as empty. */
static bool
says_something(const json_t *v)
{
    const json_t *groups = json_object_get(v, "config_groups");
    if (json_is_object(groups) || json_is_array(groups))
        v = groups;
    return json_object_size(v) != 0 || json_array_size(v) != 0 || json_is_true(v)
        || (json_is_string(v) && json_string_length(v) != 0);
}

const char *
rotation_evidence(const struct claims *c)
{
    static const char *const keys[] = { "transform_config", "hadamard_config", "rotation_config", "spinquant_config" };
    static const char *const suffixes[] = { ".forward_hadamard_transform", ".spinquant_r1_type", ".spinquant_r4_type" };
    enum { KEYS = sizeof keys / sizeof *keys, SUFFIXES = sizeof suffixes / sizeof *suffixes };
    static const char prism[] = "prism.hadamard.";
    struct part_name ignored;
    for (size_t i = 0; i < catalog_meta_count(c->catalog); i++) {
        const struct meta *m = catalog_meta_at(c->catalog, i);
        if (m->key_len >= sizeof prism - 1 && memcmp(m->key, prism, sizeof prism - 1) == 0)
            return "prism.hadamard.*";
    }
    for (size_t i = 0; i < KEYS; i++)
        if (says_something(json_object_get(config_block(c->config), keys[i])))
            return keys[i];
    for (size_t t = 0; t < catalog_count(c->catalog); t++)
        for (size_t i = 0; i < SUFFIXES; i++)
            if (claims_strip_name(catalog_at(c->catalog, t), suffixes[i], &ignored))
                return suffixes[i];
    return NULL;
}
