/* Sources: PrismML's llama.cpp, which rotates activations if a GGUF file has keys prism.hadamard.*; compressed-tensors
 * transform/transform_config.py, which fuses some transforms into weights and applies others to
 * activations; auto-round docs/rotation_details.md, export_to_autoround and transforms/spinquant/serialize.py. */
#include "scheme/roles_priv.h"

#include "base/str.h"

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

/* Returns true if all transforms of a compressed-tensors model are folded into pairs of weights, whose product is the source's
 * product. */
static bool
is_folded(const json_t *transforms)
{
    const char *key;
    json_t *group;
    size_t folded = 0;
    json_object_foreach((json_t *)json_object_get(transforms, "config_groups"), key, group) {
        const json_t *apply = json_object_get(group, "apply");
        for (size_t i = 0; i < json_array_size(apply); i++, folded++) {
            const char *at = json_string_value(json_object_get(json_array_get(apply, i), "location"));
            if (!at || (!str_same_word(at, "weight_input") && !str_same_word(at, "weight_output")))
                return false;
        }
    }
    return folded != 0;
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
        if (str_prefixed(m->key, m->key_len, prism))
            return "prism.hadamard.*";
    }
    for (size_t i = 0; i < KEYS; i++) {
        const json_t *value = json_object_get(config_block(c->config), keys[i]);
        if (i == 0 && is_folded(value))
            catalog_tell(c->catalog, "rotations are folded into the weights (%s in config.json), so that they compute what the "
                "source computes with others", keys[i]);
        else if (says_something(value))
            return keys[i];
    }
    for (size_t t = 0; t < catalog_count(c->catalog); t++)
        for (size_t i = 0; i < SUFFIXES; i++)
            if (claims_strip_name(catalog_at(c->catalog, t), suffixes[i], &ignored))
                return suffixes[i];
    return NULL;
}
