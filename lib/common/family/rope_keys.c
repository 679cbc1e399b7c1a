/* The rope keys of a GGUF file from rope_parameters, and back. Source: set_gguf_parameters of llama.cpp's converter. */
#include "family/rope_keys.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/push.h"
#include "family/back_keys.h"
#include "family/config_priv.h"

static const char factors_name[] = "rope_freqs.weight";
static const char original[] = "original_max_position_embeddings";

/* Members that are keys. The first ROPE_LINEAR belong to rope_type linear, the first ROPE_YARN to yarn, the last to all. */
static const struct {
    const char *member, *key;
    enum meta_type type;
} rows[] = {
    { "factor", "rope.scaling.factor", META_F32 },
    { original, "rope.scaling.original_context_length", META_U32 },
    { "extrapolation_factor", "rope.scaling.yarn_ext_factor", META_F32 },
    { "attention_factor", "rope.scaling.yarn_attn_factor", META_F32 },
    { "beta_fast", "rope.scaling.yarn_beta_fast", META_F32 },
    { "beta_slow", "rope.scaling.yarn_beta_slow", META_F32 },
    { "rope_theta", "rope.freq_base", META_F32 },
};

enum { ROPE_LINEAR = 1, ROPE_YARN = 6, ROPE_ROWS = sizeof rows / sizeof *rows };

/* --- to GGUF */

/* Sets *type to the rope_type, "" for none. */
static bool
rope_type(const char **type, const json_t *rope, struct err *err)
{
    static const char *const types[] = { "default", "linear", "yarn", "longrope", "su", "dynamic", "proportional", "llama3",
        "xdrope", "mrope" };
    const json_t *said = json_object_get(rope, "rope_type");
    char shown[STR_SHOWN];
    *type = "";
    if (!said || json_is_null(said))
        return true;
    if (!json_is_string(said))
        return config_wrong("rope_type", "a string", err);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (config_is(said, types[i])) {
            *type = types[i];
            return true;
        }
    return err_set(err, ERR_UNSUPPORTED, "config.json: unknown rope_type '%s'",
        str_shown(shown, json_string_value(said), json_string_length(said)));
}

/* Puts a key from a member, if there is one. */
static bool
put(struct keys *keys, const struct family_config *c, const char *key, enum meta_type type, const json_t *rope,
    const char *name, struct err *err)
{
    const json_t *value = config_get(rope, name);
    const struct family_key row = { .name = key, .type = type };
    return !value || config_put(keys, c->family->arch, &row, value, name, err);
}

/* Puts the first n rows of the table. */
static bool
put_scaling(struct keys *keys, const struct family_config *c, const json_t *rope, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *member = rows[i].member;
        if (strcmp(member, original) == 0 && !config_get(rope, member))
            return err_set(err, ERR_MALFORMED, "config.json: %s is missing", member);
        /* A null attention_factor hides attn_factor, as in the converter. */
        if (strcmp(member, "attention_factor") == 0 && !json_object_get(rope, member))
            member = "attn_factor";
        if (!put(keys, c, rows[i].key, rows[i].type, rope, member, err))
            return false;
    }
    return true;
}

static bool
put_sections(struct keys *keys, const struct family_config *c, struct err *err)
{
    const json_t *said = config_get(c->rope_all, "mrope_section");
    const struct family_key row = { .name = "rope.dimension_sections", .type = META_I32, .array = true };
    if (!said)
        return true;
    json_t *four = json_deep_copy(said);
    while (four && json_is_array(four) && json_array_size(four) < 4)
        if (json_array_append_new(four, json_integer(0)) != 0)
            break;
    bool ok;
    if (four)
        ok = config_put(keys, c->family->arch, &row, four, "mrope_section", err);
    else
        ok = err_memory(err, 0);
    json_decref(four);
    return ok;
}

bool
rope_keys_put(struct keys *keys, struct family_config *c, struct err *err)
{
    const json_t *rope = c->scope.rope;
    const char *type, *arch = c->family->arch, *name = NULL;
    if (!rope_type(&type, rope, err))
        return false;
    bool factor = config_get(rope, "factor"), yarn = strcmp(type, "yarn") == 0 && factor;
    bool scales = yarn || (strcmp(type, "linear") == 0 && factor);
    if (scales)
        name = type;
    else if (strcmp(type, "su") == 0 || strcmp(type, "longrope") == 0)
        name = "longrope";
    return (!name || keys_put_text(keys, arch, "rope.scaling.type", name, strlen(name), err))
        && (!scales || put_scaling(keys, c, rope, yarn ? ROPE_YARN : ROPE_LINEAR, err)) && put_sections(keys, c, err)
        && put(keys, c, "rope.freq_base", META_F32, rope, "rope_theta", err)
        && put(keys, c, "rope.freq_base_swa", META_F32, c->scope.rope_local, "rope_theta", err);
}

/* --- from GGUF */

/* Copies the value of a key to a member, if there is one. */
static bool
copy(json_t *rope, const char *member, const json_t *keys, const struct model_family *family, const char *name, struct err *err)
{
    json_t *value = family_key_value(keys, family, name);
    return !value || json_is_null(value) || back_set(rope, member, json_incref(value), err);
}

bool
rope_keys_reads(const char *key)
{
    static const char *const others[] = { "rope.dimension_sections", "rope.scaling.type", "rope.freq_base_swa" };
    for (size_t i = 0; i < ROPE_ROWS; i++)
        if (strcmp(key, rows[i].key) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(key, others[i]) == 0)
            return true;
    return false;
}

static bool
copy_all(json_t *rope, const json_t *keys, const struct model_family *family, struct err *err)
{
    const json_t *sections = family_key_value(keys, family, "rope.dimension_sections");
    json_t *three = NULL;
    if (json_is_array(sections))
        three = json_array();
    for (size_t i = 0; i < ROPE_ROWS; i++)
        if (!copy(rope, rows[i].member, keys, family, rows[i].key, err))
            return false;
    for (size_t i = 0; three && i < 3 && i < json_array_size(sections); i++)
        json_array_append(three, json_array_get(sections, i));
    return !three || back_set(rope, "mrope_section", three, err);
}

static bool
makes(const struct model_family *family, enum make_function function)
{
    for (size_t i = 0; i < family->makes.n; i++)
        if (family->makes.at[i].function == function && strcmp(family->makes.at[i].gguf, factors_name) == 0)
            return true;
    return false;
}

/* Reads rope_freqs.weight. Sets *n to 0 if the file lacks it. */
static bool
read_factors(float x[FAMILY_MADE_MAX], size_t *n, struct model *model, struct err *err)
{
    const struct tensor *t = catalog_find(model->catalog, factors_name, strlen(factors_name));
    uint8_t *bytes = (uint8_t *)x;      /* decoded in place */
    uint64_t numel;
    *n = 0;
    if (!t)
        return true;
    if (t->dtype != DTYPE_F32 || !shape_numel(&t->shape, &numel) || numel == 0 || numel > FAMILY_MADE_MAX)
        return err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "expected 1 to %d elements of F32", factors_name, FAMILY_MADE_MAX);
    if (!model_read(model, t, bytes, err))
        return false;
    *n = (size_t)numel;
    for (size_t i = 0; i < *n; i++) {
        uint32_t bits;
        if (t->big_endian)
            bits = load_be32(bytes + 4 * i);
        else
            bits = load_le32(bytes + 4 * i);
        memcpy(&x[i], &bits, sizeof bits);
    }
    return true;
}

static bool
llama3(json_t *rope, const struct model_family *family, struct model *model, struct err *err)
{
    float x[FAMILY_MADE_MAX];
    size_t n;
    struct llama3_rope r = { .theta = json_number_value(json_object_get(rope, "rope_theta")) };
    if (!read_factors(x, &n, model, err))
        return false;
    if (n == 0)
        return true;
    if (!llama3_solve(&r, x, makes(family, MAKE_LLAMA3_HALF) ? n / 2 : n))
        return err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "not the frequency factors of rope_type llama3", factors_name);
    return back_set(rope, "rope_type", json_string("llama3"), err) && back_set(rope, "factor", json_real(push_real_of((float)r.factor)), err)
        && back_set(rope, "low_freq_factor", json_real(r.low), err) && back_set(rope, "high_freq_factor", json_real(r.high), err)
        && back_set(rope, "original_max_position_embeddings", json_integer((json_int_t)r.length), err);
}

/* Returns true if the family has the rope keys and the model has no table of positions. */
static bool
rotates(const struct model_family *family, const struct model *model)
{
    static const char positions[] = "position_embd.weight";
    bool has = false;
    for (size_t i = 0; i < family->keys.n; i++)
        has = has || !family->keys.at[i].name;
    return has && !catalog_find(model->catalog, positions, sizeof positions - 1);
}

static bool
rope_keys_fill(json_t *rope, const json_t *keys, const struct model_family *family, struct model *model, struct err *err)
{
    const json_t *type = family_key_value(keys, family, "rope.scaling.type");
    const char *word = json_string_value(type);
    if (!copy_all(rope, keys, family, err) || !back_set(rope, "rope_type", json_string(word && strcmp(word, "none") != 0 ? word
            : "default"), err))
        return false;
    if (!json_object_get(rope, "rope_theta") && rotates(family, model) && !back_set(rope, "rope_theta", json_real(10000), err))
        return false;
    return (!makes(family, MAKE_LLAMA3) && !makes(family, MAKE_LLAMA3_HALF)) || llama3(rope, family, model, err);
}

bool
rope_keys_back(json_t *config, const json_t *keys, const struct model_family *family, struct model *model, struct err *err)
{
    json_t *rope = json_object(), *local = family_key_value(keys, family, "rope.freq_base_swa");
    if (!rope || !rope_keys_fill(rope, keys, family, model, err)) {
        json_decref(rope);
        return rope || err_memory(err, 1);
    }
    if (json_object_size(rope) == 1 && !local) {        /* only the type: the model has no such position codes */
        json_decref(rope);
        return true;
    }
    if (!local)
        return back_set(config, "rope_parameters", rope, err);
    return back_set(config, "rope_parameters.full_attention", rope, err)
        && back_set(config, "rope_parameters.sliding_attention.rope_type", json_string("default"), err)
        && back_set(config, "rope_parameters.sliding_attention.rope_theta", json_incref(local), err);
}

/* Returns rope_scaling as transformers 4 reads it: Phi-3 allows no other members than these. A new reference, or NULL. */
static json_t *
old_scaling(const json_t *rope)
{
    json_t *old = json_copy((json_t *)rope);
    json_object_del(old, "rope_theta");
    if (json_object_get(old, "long_factor")) {
        json_object_clear(old);
        json_object_set_new(old, "type", json_string("longrope"));
        json_object_set(old, "long_factor", json_object_get(rope, "long_factor"));
        json_object_set(old, "short_factor", json_object_get(rope, "short_factor"));
    }
    return old;
}

bool
rope_keys_old(json_t *config, struct err *err)
{
    const json_t *rope = json_object_get(config, "rope_parameters");
    const json_t *local = json_object_get(json_object_get(rope, "sliding_attention"), "rope_theta");
    json_t *theta = json_object_get(local ? json_object_get(rope, "full_attention") : rope, "rope_theta");
    const char *type = json_string_value(json_object_get(rope, "rope_type"));
    if (theta && !json_object_get(config, "rope_theta") && !back_set(config, "rope_theta", json_incref(theta), err))
        return false;
    return !type || strcmp(type, "default") == 0 || json_object_get(config, "rope_scaling")
        || back_set(config, "rope_scaling", old_scaling(rope), err);
}
