/* The defaults of the configuration classes of transformers. A class that rejects a value rejects the whole file; llama.cpp's
 * converter then reads it without any default. Only rejections that occur in known files are implemented. Sources:
 * configuration_utils.py, modeling_rope_utils.py of transformers; huggingface_hub.dataclasses (no int for a float). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "family/builtin.h"
#include "family/config_priv.h"

/* --- the class of model_type */

/* Copies the letters and digits of a name in lower case, without its ending: "Qwen2MoeForCausalLM" and "qwen2_moe" are both
 * "qwen2moe". */
static void
stem(char *out, size_t room, const char *name, bool type)
{
    size_t n = 0;
    for (const char *p = name; *p != '\0' && n + 1 < room; p++) {
        bool ends;
        if (type)
            ends = strcmp(p, "_text") == 0;
        else
            ends = str_begins(p, "For") || strcmp(p, "Model") == 0 || strcmp(p, "LMHeadModel") == 0;
        if (ends)
            break;
        if (*p != '_')
            out[n++] = (char)tolower((unsigned char)*p);
    }
    out[n] = '\0';
}

static bool
same_stem(const char *class, const char *type)
{
    char a[64], b[64];
    stem(a, sizeof a, class, false);
    stem(b, sizeof b, type, true);
    return strcmp(a, b) == 0;
}

/* Returns the class of a family that a model_type belongs to, or NULL. */
static const char *
class_of_type(const struct model_family *family, const char *type)
{
    for (size_t i = 0; i < family->hf.n; i++)
        if (strcmp(family->hf.at[i].model_type, type) == 0)
            for (size_t k = 0; k < family->classes.n; k++)
                if (strcmp(family->classes.at[k], family->hf.at[i].class) == 0)
                    return family->hf.at[i].class;
    for (size_t i = 0; i < family->classes.n; i++)
        if (same_stem(family->classes.at[i], type))
            return family->classes.at[i];
    return NULL;
}

/* Finds the family of a model_type among the built-in ones: the first that has a class of this name. */
static bool
family_of_type(struct model_family **family, const char *type, struct err *err)
{
    struct names classes = { 0 };
    bool ok = family_classes(&classes, err);
    *family = NULL;
    for (size_t i = 0; ok && !*family && i < classes.n; i++)
        if (same_stem(classes.name[i], type))
            ok = family_of_class(family, FAMILY_LANGUAGE, classes.name[i], strlen(classes.name[i]), err);
    names_clear(&classes);
    return ok;
}

/* Sets c->default_class, and c->default_family if it is not the model's. An unknown model_type has the class's defaults. */
static bool
find_class(struct family_config *c, struct err *err)
{
    const json_t *type = json_object_get(c->members, "model_type");
    const char *found = c->class, *text = json_string_value(type);
    bool own = c->class && text && same_stem(c->class, text);
    if (text && !own && !c->family->tower && (found = class_of_type(c->family, text)) == NULL) {
        if (!family_of_type(&c->default_family, text, err))
            return false;
        if (c->default_family)
            found = class_of_type(c->default_family, text);
        else
            found = c->class;
        c->unknown_type = !c->default_family;
    }
    c->default_class = strdup(str_or(found, ""));
    return c->default_class || err_memory(err, 0);
}

const struct model_family *
default_family_of(const struct family_config *c)
{
    if (c->default_family)
        return c->default_family;
    return c->family;
}

/* --- files that the class refuses */

/* Checks that dtype is the name of a torch type. */
static bool
dtype_fits(const json_t *members)
{
    static const char *const types[] = { "bfloat16", "float16", "float32", "float64", "half", "float", "double",
        "float8_e4m3fn", "float8_e5m2", "int8", "uint8" };
    const json_t *type = config_get(members, "dtype");
    if (!type)
        type = config_get(members, "torch_dtype");
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (config_is(type, types[i]))
            return true;
    return !type || !json_is_string(type);
}

static bool
layer_types_fit(const json_t *members)
{
    static const char *const others[] = { "conv", "mamba", "moe", "dense", "sparse", "hybrid" };
    const json_t *types = config_get(members, "layer_types");
    json_int_t layers = json_integer_value(json_object_get(members, "num_hidden_layers"));
    for (size_t i = 0; i < json_array_size(types); i++) {
        const json_t *type = json_array_get(types, i);
        bool known = json_is_string(type) && strstr(json_string_value(type), "attention");
        for (size_t k = 0; !known && k < sizeof others / sizeof *others; k++)
            known = config_is(type, others[k]);
        if (!known)
            return false;
    }
    return !types || (json_is_array(types) && layers >= 0 && json_array_size(types) == (size_t)layers);
}

/* Checks that no member is an integer whose default is a fraction. RoPE members do not count. */
static bool
numbers_fit(struct family_config *c, struct err *err)
{
    const struct model_family *family = default_family_of(c);
    bool fits = true;
    for (size_t i = 0; fits && i < family->defaults.n; i++) {
        const struct family_member *m = &family->defaults.at[i];
        json_t *value = NULL;
        bool applies;
        if (!expr_is_literal(m->value) || str_begins(m->name, "rope")
                || !json_is_integer(json_object_get(c->members, m->name)))
            continue;
        if (!expr_true(&applies, m->when, &c->scope, 0, err) || !expr_value(&value, m->value, &c->scope, 0, err))
            return false;
        fits = !applies || !json_is_real(value);
        json_decref(value);
    }
    c->refused = c->refused || !fits;
    return true;
}

/* Sets c->refused. */
static bool
check_class(struct family_config *c, struct err *err)
{
    const json_t *m = c->members, *heads = config_get(m, "num_attention_heads"), *hidden = config_get(m, "hidden_size");
    c->refused = !json_is_string(json_object_get(m, "model_type")) || !dtype_fits(m) || !layer_types_fit(m)
        || (heads && !(json_integer_value(heads) > 0)) || (hidden && !(json_integer_value(hidden) >= 0));
    return numbers_fit(c, err);
}

/* --- the rows */

static bool
list_of_layers(json_t **value, const struct family_member *m, struct scope *scope, struct err *err)
{
    const json_t *layers = json_object_get(scope->config, "num_hidden_layers");
    json_int_t n = json_integer_value(layers);
    *value = json_array();
    if (!*value)
        return err_memory(err, 0);
    for (json_int_t b = 0; b < n && b < SCOPE_LAYERS_MAX; b++) {
        json_t *one;
        if (!expr_value(&one, m->value, scope, (uint64_t)b, err))
            return false;
        bool left_out = json_is_null(one);
        if (left_out)
            json_decref(one);
        else if (json_array_append_new(*value, one) != 0)
            return err_memory(err, 0);
    }
    return true;
}

bool
family_member_value(json_t **value, const struct family_member *m, struct scope *scope, struct err *err)
{
    *value = NULL;
    bool ok;
    if (m->each)
        ok = list_of_layers(value, m, scope, err);
    else
        ok = expr_value(value, m->value, scope, 0, err);
    if (!ok) {
        json_decref(*value);
        *value = NULL;
    }
    return ok;
}

/* Applies a row to the object that has its member. */
static bool
apply(struct family_config *c, const struct family_member *m, json_t *object, const char *name, struct err *err)
{
    const json_t *said = json_object_get(object, name);
    json_t *value;
    bool applies;
    if (said && (!json_is_null(said) || expr_is_literal(m->value)))
        return true;
    if (!expr_true(&applies, m->when, &c->scope, 0, err) || (applies && !family_member_value(&value, m, &c->scope, err)))
        return false;
    return !applies || config_set(object, name, value, err);
}

static bool
apply_all(struct family_config *c, struct err *err)
{
    const struct model_family *family = default_family_of(c);
    bool scaled = config_get(c->members, "rope_parameters") || config_get(c->members, "rope_scaling");
    for (size_t i = 0; i < family->defaults.n; i++) {
        const struct family_member *m = &family->defaults.at[i];
        bool rope = str_begins(m->name, "rope.");
        if (strcmp(m->name, "rope_theta") == 0 || str_begins(m->name, "rope_parameters.") || (rope && scaled))
            continue;           /* done by rope_settle() */
        if (!apply(c, m, rope ? c->rope_all : c->members, rope ? m->name + 5 : m->name, err))
            return false;
    }
    return true;
}

/* Applies the rows of the model's own family for sizes, which no class has a default for: other names of the same members. */
static bool
apply_sizes(struct family_config *c, struct err *err)
{
    static const char *const sizes[] = { "hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size" };
    for (size_t i = 0; i < c->family->defaults.n; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const struct family_member *m = &c->family->defaults.at[i];
            if (strcmp(m->name, sizes[k]) == 0 && !apply(c, m, c->members, m->name, err))
                return false;
        }
    return true;
}

bool
default_apply(struct family_config *c, struct err *err)
{
    if (!find_class(c, err))
        return false;
    const struct model_family *own = c->scope.family;
    c->scope.family = default_family_of(c);
    c->scope.class = c->default_class;
    bool ok = check_class(c, err);
    c->refused = c->refused || !rope_fits(c);
    ok = ok && (c->refused || apply_all(c, err));
    c->scope.family = own;
    c->scope.class = c->class;
    return ok && apply_sizes(c, err);
}
