/* rope_scaling and rope_parameters in all their spellings: first as the classes of transformers standardize them
 * (modeling_rope_utils.py: standardize_rope_params, validate_rope; configuration_gemma3.py, configuration_phi3.py), then as
 * llama.cpp's converter does (TextModel.__init__). */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "hf/config_priv.h"

static bool
is(const json_t *text, const char *word)
{
    return json_is_string(text) && strcmp(json_string_value(text), word) == 0;
}

/* Returns true for a value that is true in Python. */
static bool
is_true(const json_t *value)
{
    return json_is_true(value) || (json_is_string(value) && json_string_length(value) != 0)
        || json_array_size(value) != 0 || json_object_size(value) != 0
        || (json_is_number(value) && json_number_value(value) != 0);
}

/* Sets a member to a copy of another one, unless it exists. */
static bool
copy_default(json_t *to, const char *name, const json_t *value, struct err *err)
{
    return hf_config_default(to, name, json_incref((json_t *)value), err);
}

/* --- the classes */

static bool
has_all(const json_t *rope, const char *const names[])
{
    for (; *names; names++)
        if (!json_object_get(rope, *names))
            return false;
    return true;
}

/* Checks that the members required by the RoPE type exist. Unknown types require none. */
static bool
is_valid(const json_t *rope)
{
    static const struct {
        const char *type, *needs[6];
    } types[] = {
        { "linear", { "factor" } }, { "dynamic", { "factor" } }, { "yarn", { "factor", "original_max_position_embeddings" } },
        { "longrope", { "short_factor", "long_factor", "original_max_position_embeddings" } },
        { "llama3", { "factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor", "rope_theta" } },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is(json_object_get(rope, "rope_type"), types[i].type))
            return has_all(rope, types[i].needs);
    return true;
}

/* Checks that the head size is even. Sizes up to 4 occur in test models and are accepted. */
static bool
head_fits(const json_t *members)
{
    json_int_t n = json_integer_value(json_object_get(members, "head_dim"));
    return n <= 4 || n % 2 == 0;
}

/* Standardizes the parameters of all layers, or of one layer type. `pretrained` overrides original_max_position_embeddings
 * unless NULL. */
static bool
standardize(json_t *rope, const json_t *members, const json_t *pretrained, struct err *err)
{
    const json_t *type = json_object_get(rope, "type");
    if (!hf_config_default(rope, "rope_type", type ? json_incref((json_t *)type) : json_string("default"), err))
        return false;
    type = json_object_get(rope, "rope_type");
    if (!is(type, "llama3") && !is(type, "yarn") && !is(type, "longrope"))
        return true;
    if (pretrained)
        return hf_config_set(rope, "original_max_position_embeddings", json_incref((json_t *)pretrained), err);
    return copy_default(rope, "original_max_position_embeddings", json_object_get(members, "max_position_embeddings"), err);
}

static bool
set_theta(json_t *rope, const json_t *said, double theta, struct err *err)
{
    return hf_config_default(rope, "rope_theta", said ? json_incref((json_t *)said) : json_real(theta), err);
}

static bool
flat(json_t *members, json_t *rope, enum hf_kind kind, double theta, bool *accepted, struct err *err)
{
    const json_t *partial = json_object_get(members, "partial_rotary_factor");
    const json_t *pretrained = kind == HF_PHI3 ? json_object_get(members, "original_max_position_embeddings") : NULL;
    const json_t *type;
    if (!set_theta(rope, json_object_get(members, "rope_theta"), theta, err))
        return false;
    if (kind == HF_PHI3 && !hf_config_default(rope, "partial_rotary_factor",
            partial ? json_incref((json_t *)partial) : json_real(1), err))
        return false;
    if (kind != HF_PHI3 && partial && !json_is_null(partial)
            && !copy_default(rope, "partial_rotary_factor", partial, err))
        return false;
    if (!standardize(rope, members, pretrained, err))
        return false;
    type = json_object_get(rope, "rope_type");
    if (kind == HF_PHI3 && (is(type, "su") || is(type, "yarn"))
            && !hf_config_set(rope, "rope_type", json_string("longrope"), err))
        return false;
    type = json_object_get(rope, "rope_type");
    *accepted = is_valid(rope) && head_fits(members) && (kind != HF_PHI3 || is(type, "default") || is(type, "longrope"));
    if (kind != HF_PHI3)
        json_object_del(members, "partial_rotary_factor");
    return true;
}

/* Returns true if a Gemma 3 has a layer of this type, by layer_types, or else by sliding_window_pattern (default 6). */
static bool
has_layer(const json_t *members, const char *kind)
{
    const json_t *types = hf_config_get(members, "layer_types"), *every = json_object_get(members, "sliding_window_pattern");
    json_int_t layers = json_integer_value(json_object_get(members, "num_hidden_layers"));
    json_int_t pattern = every ? json_integer_value(every) : 6;
    for (size_t i = 0; i < json_array_size(types); i++)
        if (is(json_array_get(types, i), kind)
                || (is(json_array_get(types, i), "attention") && strcmp(kind, "full_attention") == 0))
            return true;
    if (types)
        return false;
    return strcmp(kind, "full_attention") == 0 ? pattern > 0 && layers >= pattern : pattern != 1 && layers > 0;
}

/* Returns the parameters of a layer type; creates them if missing. */
static json_t *
part(json_t *rope, const char *name, bool *accepted, struct err *err)
{
    json_t *found = json_object_get(rope, name);
    if (!found || json_is_null(found)) {
        if (!hf_config_set(rope, name, json_object(), err))
            return NULL;
        found = json_object_get(rope, name);
        return hf_config_set(found, "rope_type", json_string("default"), err) ? found : NULL;
    }
    *accepted = *accepted && json_is_object(found);
    return found;
}

static bool
finish_part(json_t *rope, json_t *members, const char *name, bool *accepted, struct err *err)
{
    json_t *found = json_object_get(rope, name);
    if (!has_layer(members, name))
        return true;
    if (!standardize(found, members, NULL, err))
        return false;
    *accepted = is_valid(found) && head_fits(members);
    return true;
}

/* Standardizes the two sets of parameters of Gemma 3. rope_scaling is merged into those of the full layers, whose rope_type
 * overrides a "type" in it. */
static bool
nested(json_t *members, json_t *rope, const json_t *scaling, double theta, bool *accepted, struct err *err)
{
    static const char full[] = "full_attention", sliding[] = "sliding_attention";
    json_t *first = part(rope, full, accepted, err);
    if (!*accepted)
        return true;
    if (!first)
        return false;
    *accepted = !scaling || json_is_object(scaling);
    if (!*accepted)
        return true;
    if (scaling && json_object_update(first, (json_t *)scaling) != 0)
        return err_memory(err, 0);
    if (!set_theta(first, json_object_get(members, "rope_theta"), theta, err))
        return false;
    json_t *second = part(rope, sliding, accepted, err);
    if (!*accepted)
        return true;
    if (!second || !set_theta(second, json_object_get(members, "rope_local_base_freq"), 1e4, err))
        return false;
    json_object_del(members, "rope_local_base_freq");
    return finish_part(rope, members, full, accepted, err)
        && (!*accepted || finish_part(rope, members, sliding, accepted, err));
}

bool
hf_class_rope(json_t *members, enum hf_kind kind, double theta, bool *accepted, struct err *err)
{
    const json_t *scaling = json_object_get(members, "rope_scaling"), *said = hf_config_get(members, "rope_parameters");
    bool two = kind == HF_GEMMA3;
    const json_t *of = is_true(scaling) && !two ? scaling : said;
    json_t *rope = of ? json_deep_copy(of) : json_object();
    if (!rope)
        return err_memory(err, 0);
    *accepted = json_is_object(rope);
    bool ok = true;
    if (*accepted && !two && (json_object_get(rope, "full_attention") || json_object_get(rope, "sliding_attention")))
        ok = err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "config.json: rope_parameters per layer type are not supported for "
            "this model class");
    else if (*accepted)
        ok = two ? nested(members, rope, json_is_null(scaling) ? NULL : scaling, theta, accepted, err)
            : flat(members, rope, kind, theta, accepted, err);
    ok = ok && hf_config_set(members, "rope_parameters", json_incref(rope), err);
    json_object_del(members, "rope_scaling");
    json_object_del(members, "rope_theta");
    json_decref(rope);
    return ok;
}

/* --- the converter */

static const json_t *
first_of(const json_t *members, const char *const names[])
{
    for (; *names; names++)
        if (json_object_get(members, *names))
            return hf_config_get(members, *names);
    return NULL;
}

static bool
set_default(json_t *rope, const char *name, const json_t *value, struct err *err)
{
    return !value || copy_default(rope, name, value, err);
}

static bool
fill_resolved(json_t *rope, const json_t *members, struct err *err)
{
    static const char *const thetas[] = { "global_rope_theta", "rope_global_theta", "rope_theta_global", "rope_theta",
        "rotary_emb_base", NULL };
    static const char *const locals[] = { "local_rope_theta", "rope_local_theta", "rope_theta_local", "swa_rope_theta",
        "rope_local_base_freq", NULL };
    static const char *const partials[] = { "partial_rotary_factor", "rope_pct", "rope_percent", NULL };
    const json_t *local = first_of(members, locals);
    if (json_object_get(rope, "full_attention") || json_object_get(rope, "sliding_attention"))
        return true;
    json_t *sliding = local ? json_object() : NULL;
    if (local && (!sliding || !hf_config_set(sliding, "rope_theta", json_incref((json_t *)local), err))) {
        json_decref(sliding);
        return err_memory(err, 0);
    }
    return (!local || hf_config_set(rope, "sliding_attention", sliding, err))
        && set_default(rope, "rope_theta", first_of(members, thetas), err)
        && set_default(rope, "rope_type", hf_config_get(rope, "type"), err)
        && set_default(rope, "partial_rotary_factor", first_of(members, partials), err)
        && set_default(rope, "original_max_position_embeddings",
            hf_config_get(members, "original_max_position_embeddings"), err);
}

bool
hf_rope_resolve(struct hf_config *config, struct err *err)
{
    static const char *const parts[] = { "full_attention", "sliding_attention" };
    const json_t *members = config->more->members, *said = json_object_get(members, "rope_parameters");
    const char *name = said ? "rope_parameters" : "rope_scaling";
    said = said ? said : json_object_get(members, "rope_scaling");
    if (is_true(said) && !json_is_object(said))
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "config.json: %s is not an object", name);
    json_t *rope = json_object_size(said) != 0 ? json_deep_copy(said) : json_object();
    config->more->rope = rope;
    if (!rope)
        return err_memory(err, 0);
    if (!fill_resolved(rope, members, err))
        return false;
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(rope, parts[i]) && !json_is_object(json_object_get(rope, parts[i])))
            return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "config.json: %s of %s is not an object", parts[i], name);
    return true;
}

const json_t *
hf_rope_full(const struct hf_config *config)
{
    const json_t *full = json_object_get(config->more->rope, "full_attention");
    return full ? full : config->more->rope;
}

bool
hf_rope_type(const char **type, const struct hf_config *config, struct err *err)
{
    static const char *const types[] = { "default", "linear", "yarn", "longrope", "su", "dynamic" };
    const json_t *said = json_object_get(hf_rope_full(config), "rope_type");
    char shown[STR_SHOWN];
    *type = "";
    if (!said || (json_is_null(said) && strcmp(config->family->arch, "llama") != 0))
        return true;
    if (!json_is_string(said))
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "config.json: rope_type is not a string");
    if (strcasecmp(json_string_value(said), "llama3") == 0) {
        *type = "llama3";
        return true;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!is(said, types[i]))
            continue;
        *type = i == 0 ? "" : strcmp(types[i], "su") == 0 ? "longrope" : types[i];
        return true;
    }
    return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "config.json: unknown rope_type '%s'",
        str_shown(shown, json_string_value(said), json_string_length(said)));
}
