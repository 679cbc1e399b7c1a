/* rope_scaling and rope_parameters in all their spellings. Sources: TextModel.__init__ of llama.cpp's converter;
 * modeling_rope_utils.py of transformers. */
#include <string.h>
#include <strings.h>

#include "family/config_priv.h"

static const char original[] = "original_max_position_embeddings";

/* The default that declares a class whose rope_parameters are by layer type. */
static const char typed_default[] = "rope_parameters.full_attention.rope_type";

/* --- spellings */

static bool
is_nested(const json_t *rope)
{
    return json_object_get(rope, "full_attention") || json_object_get(rope, "sliding_attention");
}

bool
rope_begin(struct family_config *c, struct err *err)
{
    const char *name = "rope_scaling";
    if (config_get(c->members, "rope_parameters"))
        name = "rope_parameters";
    json_t *said = config_get(c->members, name);
    if (json_is_object(said) && json_object_size(said) == 0)
        said = NULL;
    bool ok = !said || json_is_object(said) || !expr_is_true(said) || config_wrong(name, "an object", err);
    if (ok && json_is_object(said))
        c->rope_all = json_deep_copy(said);
    else
        c->rope_all = json_object();
    return ok && (c->rope_all || err_memory(err, 0));
}

/* Returns the value of the first member that exists, or NULL if it is null or none exists. */
static json_t *
rope_first_of(const json_t *members, const char *const names[])
{
    for (; *names; names++)
        if (json_object_get(members, *names))
            return config_get(members, *names);
    return NULL;
}

/* Returns member i of rope_theta if it is a list, by layer, whose first layer is full and whose second slides. Sets *list. */
static json_t *
theta_at(bool *list, const json_t *members, size_t i)
{
    static const char *const thetas[] = { "global_rope_theta", "rope_global_theta", "rope_theta_global", "rope_theta",
        "rotary_emb_base", NULL };
    json_t *theta = rope_first_of(members, thetas);
    *list = json_is_array(theta);
    if (*list)
        return json_array_get(theta, i);
    return theta;
}

static bool
set_default(json_t *rope, const char *name, json_t *value, struct err *err)
{
    return !value || config_default(rope, name, json_incref(value), err);
}

static bool
set_sliding(json_t *rope, const json_t *members, struct err *err)
{
    static const char *const locals[] = { "local_rope_theta", "rope_local_theta", "rope_theta_local", "swa_rope_theta",
        "rope_local_base_freq", NULL };
    bool list;
    json_t *local = rope_first_of(members, locals), *second = theta_at(&list, members, 1);
    if (!local && list)
        local = second;
    if (!local || json_object_get(rope, "sliding_attention"))
        return true;
    return config_set(rope, "sliding_attention", json_pack("{s:O}", "rope_theta", local), err);
}

/* Returns the default row of a member, or NULL. */
static const struct family_member *
find_default(const struct model_family *family, const char *name)
{
    for (size_t i = 0; i < family->defaults.n; i++)
        if (strcmp(family->defaults.at[i].name, name) == 0)
            return &family->defaults.at[i];
    return NULL;
}

/* Sets the context length before scaling. The class of Phi-3 has a member for it, which replaces the one in rope_scaling. */
static bool
set_original(struct family_config *c, json_t *rope, struct err *err)
{
    json_t *outer = config_get(c->members, original);
    const json_t *type = json_object_get(rope, "rope_type");
    bool scales = config_is(type, "llama3") || config_is(type, "yarn") || config_is(type, "longrope") || config_is(type, "su");
    if (c->refused)
        return set_default(rope, original, outer, err);
    if (find_default(default_family_of(c), original))
        return !outer || !scales ? set_default(rope, original, outer, err)
            : config_set(rope, original, json_incref(outer), err);
    return !scales || set_default(rope, original, json_object_get(c->members, "max_position_embeddings"), err);
}

static bool
set_flat(struct family_config *c, json_t *rope, struct err *err)
{
    static const char *const partials[] = { "partial_rotary_factor", "rope_pct", "rope_percent", NULL };
    bool list;
    return set_sliding(rope, c->members, err) && set_default(rope, "rope_theta", theta_at(&list, c->members, 0), err)
        && set_default(rope, "rope_type", config_get(rope, "type"), err)
        && set_default(rope, "partial_rotary_factor", rope_first_of(c->members, partials), err) && set_original(c, rope, err);
}

/* Reads a family whose class has rope_parameters for each layer type, which it declares by a default of that name.
 * rope_scaling is merged into the parameters of the full layers, whose rope_type then overrides a "type" in it. */
static bool
set_nested(struct family_config *c, const struct family_member *m, struct err *err)
{
    static const char full[] = "full_attention", sliding[] = "sliding_attention";
    json_t *said = config_get(c->members, "rope_parameters"), *scaling = config_get(c->members, "rope_scaling"), *type = NULL;
    json_t *rope;
    if (said)
        rope = json_deep_copy(said);
    else
        rope = json_object();
    json_decref(c->rope_all);
    c->rope_all = rope;
    if (!rope || !family_member_value(&type, m, &c->scope, err))
        return err_memory(err, 0);
    bool ok = true;
    if (!config_get(rope, full))
        ok = config_set(rope, full, json_pack("{s:O}", "rope_type", type), err);
    if (ok && !config_get(rope, sliding))
        ok = config_set(rope, sliding, json_pack("{s:O}", "rope_type", type), err);
    json_decref(type);
    json_t *first = json_object_get(rope, full), *second = json_object_get(rope, sliding);
    json_t *local = config_get(c->members, "rope_local_base_freq");
    if (!ok || !json_is_object(first) || !json_is_object(second))
        return ok;
    if (json_is_object(scaling) && json_object_update(first, scaling) != 0)
        return err_memory(err, 0);
    return set_default(first, "rope_theta", config_get(c->members, "rope_theta"), err)
        && set_default(second, "rope_theta", local, err);
}

/* Applies `default rope_theta` unless rope_theta is set. */
static bool
set_theta(struct family_config *c, json_t *rope, struct err *err)
{
    const struct model_family *own = c->family, *family = default_family_of(c);
    bool ok = true;
    c->scope.family = family;
    c->scope.class = c->default_class;
    for (size_t i = 0; ok && !c->refused && i < family->defaults.n; i++) {
        const struct family_member *m = &family->defaults.at[i];
        json_t *value = NULL;
        bool applies = false;
        if (strcmp(m->name, "rope_theta") != 0 || json_object_get(rope, "rope_theta")
                || json_object_get(c->members, "rope_theta"))
            continue;
        ok = expr_true(&applies, m->when, &c->scope, 0, err)
            && (!applies || (family_member_value(&value, m, &c->scope, err) && config_set(rope, "rope_theta", value, err)));
    }
    c->scope.family = own;
    c->scope.class = c->class;
    return ok;
}

/* Sets the rope_type from "type", and the context length before scaling, of parameters for a layer type. */
static bool
set_original_of(struct family_config *c, bool nested, struct err *err)
{
    return !nested || c->refused || (set_default(c->scope.rope, "rope_type", config_get(c->scope.rope, "type"), err)
        && set_original(c, c->scope.rope, err));
}

/* Writes the one type in lower case that the converter compares without case. */
static bool
lower_llama3(json_t *rope, struct err *err)
{
    const char *type = json_string_value(json_object_get(rope, "rope_type"));
    return !type || strcasecmp(type, "llama3") != 0 || config_set(rope, "rope_type", json_string("llama3"), err);
}

bool
rope_settle(struct family_config *c, struct err *err)
{
    const struct family_member *typed = find_default(default_family_of(c), typed_default);
    if (typed && !c->refused && !set_nested(c, typed, err))
        return false;
    json_t *rope = c->rope_all, *full = json_object_get(rope, "full_attention"), *sliding;
    bool nested = is_nested(rope);
    if (nested ? !c->refused && !set_sliding(rope, c->members, err) : !set_flat(c, rope, err))
        return false;
    sliding = json_object_get(rope, "sliding_attention");
    if ((full && !json_is_object(full)) || (sliding && !json_is_object(sliding)))
        return config_wrong(full && !json_is_object(full) ? "full_attention" : "sliding_attention", "an object", err);
    c->scope.rope_all = rope;
    if (full)
        c->scope.rope = full;
    else
        c->scope.rope = rope;
    c->scope.rope_local = sliding;
    return set_original_of(c, nested, err) && set_theta(c, c->scope.rope, err) && lower_llama3(c->scope.rope, err);
}

/* --- files that the classes refuse */

static bool
has_all(const json_t *rope, const char *const names[])
{
    for (; *names; names++)
        if (!json_object_get(rope, *names))
            return false;
    return true;
}

/* Checks that the members required by a RoPE type exist. The class sets the optional ones. */
static bool
is_valid(const json_t *rope)
{
    static const struct {
        const char *type, *needs[6];
    } types[] = {
        { "linear", { "factor" } }, { "dynamic", { "factor" } }, { "yarn", { "factor" } },
        { "longrope", { "short_factor", "long_factor" } },
        { "llama3", { "factor", "low_freq_factor", "high_freq_factor" } },
    };
    const json_t *said = json_object_get(rope, "rope_type"), *type = said ? said : json_object_get(rope, "type");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (config_is(type, types[i].type))
            return has_all(rope, types[i].needs) || (config_is(type, "yarn") && json_object_get(rope, "long_factor"));
    return true;
}

bool
rope_fits(const struct family_config *c)
{
    const json_t *rope = c->rope_all, *full = config_get(rope, "full_attention");
    const json_t *said = config_get(c->members, "rope_parameters");
    bool typed = find_default(default_family_of(c), typed_default);
    json_int_t head = json_integer_value(json_object_get(c->members, "head_dim"));
    return (!said || json_is_object(said)) && (typed || is_valid(full ? full : rope)) && (head <= 4 || head % 2 == 0);
}
