#include "family/back_rope.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/push.h"
#include "family/back_keys.h"

static const char factors_name[] = "rope_freqs.weight";

/* Copies the value of a key to a member, if there is one. */
static bool
copy(json_t *rope, const char *member, const json_t *keys, const struct model_family *family, const char *name, struct err *err)
{
    json_t *value = family_key_value(keys, family, name);
    return !value || json_is_null(value) || back_set(rope, member, json_incref(value), err);
}

static const char *const copied[][2] = {
    { "factor", "rope.scaling.factor" }, { "original_max_position_embeddings", "rope.scaling.original_context_length" },
    { "extrapolation_factor", "rope.scaling.yarn_ext_factor" }, { "attention_factor", "rope.scaling.yarn_attn_factor" },
    { "beta_fast", "rope.scaling.yarn_beta_fast" }, { "beta_slow", "rope.scaling.yarn_beta_slow" },
    { "rope_theta", "rope.freq_base" },
};

bool
back_rope_reads(const char *key)
{
    static const char *const others[] = { "rope.dimension_sections", "rope.scaling.type", "rope.freq_base_swa" };
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (strcmp(key, copied[i][1]) == 0)
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
    json_t *three = json_is_array(sections) ? json_array() : NULL;
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (!copy(rope, copied[i][0], keys, family, copied[i][1], err))
            return false;
    for (size_t i = 0; three && i < 3 && i < json_array_size(sections); i++)
        json_array_append(three, json_array_get(sections, i));
    return !three || back_set(rope, "mrope_section", three, err);
}

/* --- llama3 */

static bool
makes_llama3(const struct model_family *family)
{
    for (size_t i = 0; i < family->makes.n; i++)
        if (family->makes.at[i].function == MAKE_LLAMA3 && strcmp(family->makes.at[i].gguf, factors_name) == 0)
            return true;
    return false;
}

/* Reads rope_freqs.weight. Sets *n to 0 if the file lacks it. */
static bool
read_factors(float x[BACK_FACTORS], size_t *n, struct model *model, struct err *err)
{
    const struct tensor *t = catalog_find(model->catalog, factors_name, strlen(factors_name));
    uint8_t *bytes = (uint8_t *)x;      /* decoded in place */
    uint64_t numel;
    *n = 0;
    if (!t)
        return true;
    if (t->dtype != DTYPE_F32 || !shape_numel(&t->shape, &numel) || numel == 0 || numel > BACK_FACTORS)
        return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, ERR_TENSOR "expected 1 to %d elements of F32", factors_name, BACK_FACTORS);
    if (!model_read(model, t, bytes, err))
        return false;
    *n = (size_t)numel;
    for (size_t i = 0; i < *n; i++) {
        uint32_t bits = t->big_endian ? load_be32(bytes + 4 * i) : load_le32(bytes + 4 * i);
        memcpy(&x[i], &bits, sizeof bits);
    }
    return true;
}

static bool
llama3(json_t *rope, struct model *model, struct err *err)
{
    float x[BACK_FACTORS];
    size_t n;
    struct llama3_rope r = { .theta = json_number_value(json_object_get(rope, "rope_theta")) };
    if (!read_factors(x, &n, model, err) || n == 0)
        return err->kind == ERR_NONE;
    if (!back_llama3_solve(&r, x, n))
        return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, ERR_TENSOR "not the frequency factors of rope_type llama3", factors_name);
    return back_set(rope, "rope_type", json_string("llama3"), err) && back_set(rope, "factor", json_real(push_real_of((float)r.factor)), err)
        && back_set(rope, "low_freq_factor", json_real(r.low), err) && back_set(rope, "high_freq_factor", json_real(r.high), err)
        && back_set(rope, "original_max_position_embeddings", json_integer((json_int_t)r.length), err);
}

/* --- */

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
fill(json_t *rope, const json_t *keys, const struct model_family *family, struct model *model, struct err *err)
{
    const json_t *type = family_key_value(keys, family, "rope.scaling.type");
    const char *word = json_string_value(type);
    if (!copy_all(rope, keys, family, err) || !back_set(rope, "rope_type", json_string(word && strcmp(word, "none") != 0 ? word
            : "default"), err))
        return false;
    if (!json_object_get(rope, "rope_theta") && rotates(family, model) && !back_set(rope, "rope_theta", json_real(10000), err))
        return false;
    return !makes_llama3(family) || llama3(rope, model, err);
}

bool
back_rope(json_t *config, const json_t *keys, const struct model_family *family, struct model *model, struct err *err)
{
    json_t *rope = json_object(), *local = family_key_value(keys, family, "rope.freq_base_swa");
    if (!rope || !fill(rope, keys, family, model, err)) {
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
back_rope_old(json_t *config, struct err *err)
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
