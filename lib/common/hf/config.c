#include "hf/config_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"

static const char file[] = "config.json";

/* Names in the order in which the converter looks for them. */
hf_names hf_names_layers = { "n_layers", "num_hidden_layers", "n_layer", "num_layers" };
hf_names hf_names_context = { "max_position_embeddings", "n_ctx", "n_positions", "max_length", "max_sequence_length",
    "model_max_length" };
hf_names hf_names_hidden = { "hidden_size", "n_embd", "dim" };
hf_names hf_names_ff = { "prefix_dense_intermediate_size", "dense_intermediate_size", "intermediate_size", "n_inner",
    "hidden_dim" };
hf_names hf_names_heads = { "num_attention_heads", "n_head", "n_heads" };
hf_names hf_names_kv_heads = { "num_key_value_heads", "n_kv_heads" };
hf_names hf_names_experts = { "num_local_experts", "num_experts", "n_routed_experts" };
hf_names hf_names_experts_used = { "num_experts_per_tok", "num_experts_per_token", "top_k_experts" };

/* --- members */

const json_t *
hf_config_get(const json_t *members, const char *name)
{
    const json_t *value = json_object_get(members, name);
    return value && !json_is_null(value) ? value : NULL;
}

const json_t *
hf_config_member(const json_t *members, hf_names names, const char **name)
{
    *name = names[0];
    for (size_t i = 0; names[i]; i++) {
        if (!json_object_get(members, names[i]))
            continue;
        *name = names[i];
        return hf_config_get(members, names[i]);
    }
    return NULL;
}

static bool
wrong(const char *of, const char *name, const char *expected, struct err *err)
{
    return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: %s is not %s", of, name, expected);
}

bool
hf_config_u32(uint32_t *out, const json_t *value, const char *of, const char *name, struct err *err)
{
    json_int_t n = json_integer_value(value);
    bool ok = json_is_integer(value) && n >= 0 && n <= UINT32_MAX;
    *out = ok ? (uint32_t)n : 0;
    return ok || wrong(of, name, "an integer from 0 to 4294967295", err);
}

bool
hf_config_i32(int32_t *out, const json_t *value, const char *of, const char *name, struct err *err)
{
    json_int_t n = json_integer_value(value);
    bool ok = json_is_integer(value) && n >= INT32_MIN && n <= INT32_MAX;
    *out = ok ? (int32_t)n : 0;
    return ok || wrong(of, name, "an integer from -2147483648 to 2147483647", err);
}

bool
hf_config_f32(float *out, const json_t *value, const char *of, const char *name, struct err *err)
{
    double x = json_number_value(value);
    *out = (float)x;
    return (json_is_number(value) && isfinite(*out)) || wrong(of, name, "a number in the range of F32", err);
}

bool
hf_config_missing(const char *name, struct err *err)
{
    return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: %s is missing", file, name);
}

bool
hf_config_set(json_t *members, const char *name, json_t *value, struct err *err)
{
    return (value && json_object_set_new(members, name, value) == 0) || err_memory(err, 0);
}

bool
hf_config_default(json_t *members, const char *name, json_t *value, struct err *err)
{
    if (!json_object_get(members, name))
        return hf_config_set(members, name, value, err);
    json_decref(value);
    return true;
}

/* --- the class */

static const json_t *
first_class(const json_t *root)
{
    const json_t *inner = hf_config_get(hf_config_get(root, "text_config"), "architectures");
    const json_t *classes = inner ? inner : hf_config_get(root, "architectures");
    return classes && (inner || json_array_size(classes) != 0 || !json_is_array(classes)) ? classes : NULL;
}

static bool
find_family(struct hf_config *config, struct err *err)
{
    const json_t *root = config->more->members, *classes = first_class(root), *class = json_array_get(classes, 0);
    char shown[STR_SHOWN];
    if (!classes)               /* a diffusers model has _class_name, and no family */
        return json_object_get(root, "_class_name") || err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: architectures, the "
            "model class, is missing; use --config none to keep the tensor names", file);
    if (!json_is_string(class))
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: architectures is not a list of strings", file);
    config->family = hf_family_find(json_string_value(class), json_string_length(class));
    return config->family || err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "%s: unknown model class '%s'; use --config none to "
        "keep the tensor names", file, str_shown(shown, json_string_value(class), json_string_length(class)));
}

bool
hf_config_open(struct hf_config *config, const struct hf_text *text, struct err *err)
{
    *config = (struct hf_config){ .more = calloc(1, sizeof *config->more) };
    if (!config->more)
        return err_memory(err, sizeof *config->more);
    return tree_read(&config->more->members, text->p, text->n, file, err) && find_family(config, err);
}

/* --- members used for keys */

/* Rejects members that change the model type, or that have no key here. */
static bool
check_foreign(const json_t *root, struct err *err)
{
    static const char *const names[] = { "llm_config", "lm_config", "thinker_config", "language_config", "lfm",
        "draft_vocab_size", "transformer_layer_config", "per_layer_config" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_object_get(root, names[i]))
            return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "%s: %s is not supported for this model class", file,
                names[i]);
    return true;
}

/* Replaces an object by the result of its configuration class. Keeps an object that the class rejects. */
static bool
apply_class(json_t **object, struct err *err)
{
    bool accepted = false;
    json_t *copy = json_deep_copy(*object);
    bool ok = (copy || err_memory(err, 0)) && hf_class_apply(copy, &accepted, err);
    if (ok && accepted) {
        json_decref(*object);
        *object = json_incref(copy);
    }
    json_decref(copy);
    return ok;
}

/* Applies the class and merges text_config, which overrides the outer members. Gemma 3 with images applies a class only to
 * text_config. */
static bool
make_members(struct hf_config *config, struct err *err)
{
    json_t **members = &config->more->members, *text = json_object_get(*members, "text_config");
    const json_t *type = json_object_get(*members, "model_type");
    bool images = json_is_string(type) && strcmp(json_string_value(type), "gemma3") == 0;
    if (text && !json_is_object(text))
        return wrong(file, "text_config", "an object", err);
    if (images && !text)
        return hf_config_missing("text_config", err);
    json_incref(text);
    bool ok = images ? hf_config_set(text, "model_type", json_string("gemma3_text"), err) && apply_class(&text, err)
        : apply_class(members, err);
    ok = ok && (!text || json_object_update(*members, text) == 0 || err_memory(err, 0));
    json_decref(text);
    return ok;
}

/* --- required numbers */

static bool
read_count(uint64_t *out, const json_t *members, hf_names names, struct err *err)
{
    const char *name;
    const json_t *value = hf_config_member(members, names, &name);
    uint32_t n;
    if (!value)
        return hf_config_missing(name, err);
    if (!hf_config_u32(&n, value, file, name, err))
        return false;
    if (n == 0)
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: %s is 0", file, name);
    *out = n;
    return true;
}

static bool
read_optional(uint64_t *out, const json_t *members, hf_names names, struct err *err)
{
    const char *name;
    const json_t *value = hf_config_member(members, names, &name);
    uint32_t n;
    if (!value)
        return true;
    if (!hf_config_u32(&n, value, file, name, err))
        return false;
    *out = n;
    return true;
}

/* Checks that an alternative name of a head count has the same value. */
static bool
check_again(const json_t *members, const char *name, uint64_t n, struct err *err)
{
    const json_t *value = hf_config_get(members, name);
    return !value || (json_is_integer(value) && json_integer_value(value) == (json_int_t)n)
        || err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: %s contradicts another member, expected %" PRIu64, file, name, n);
}

static bool
read_counts(struct hf_config *config, struct err *err)
{
    static hf_names vocabulary = { "vocab_size" }, head_dim = { "head_dim" };
    const json_t *members = config->more->members;
    uint64_t ff;
    if (!read_count(&config->vocab_size, members, vocabulary, err)
            || !read_count(&config->hidden_size, members, hf_names_hidden, err)
            || !read_count(&config->layers, members, hf_names_layers, err) || !read_count(&ff, members, hf_names_ff, err)
            || !read_count(&config->heads, members, hf_names_heads, err)
            || !read_optional(&config->kv_heads, members, hf_names_kv_heads, err)
            || !read_optional(&config->head_dim, members, head_dim, err)
            || !read_optional(&config->experts, members, hf_names_experts, err))
        return false;
    config->kv_heads = config->kv_heads != 0 ? config->kv_heads : config->heads;
    if (config->head_dim == 0 && hf_config_get(members, "head_dim"))
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: head_dim is 0", file);
    if (config->head_dim == 0 && config->hidden_size % config->heads != 0)
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: hidden_size %" PRIu64 " is not a multiple of "
            "num_attention_heads %" PRIu64, file, config->hidden_size, config->heads);
    return check_again(members, "n_heads", config->heads, err) && check_again(members, "n_kv_heads", config->kv_heads, err);
}

bool
hf_config_read(struct hf_config *config, const struct hf_text *generation, struct err *err)
{
    return check_foreign(config->more->members, err) && make_members(config, err)
        && read_counts(config, err)
        && hf_rope_resolve(config, err)
        && hf_rope_factors(config, err)
        && (!generation->p || tree_read(&config->more->generation, generation->p, generation->n, generation->name, err))
        && hf_config_check(config, err);
}

void
hf_config_clear(struct hf_config *config)
{
    for (size_t i = 0; i < config->nfactors; i++)
        free(config->factors[i].x);
    if (config->more) {
        json_decref(config->more->members);
        json_decref(config->more->rope);
        json_decref(config->more->generation);
    }
    free(config->more);
    *config = (struct hf_config){ 0 };
}
