#include "family/config_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "family/builtin.h"

static const char file[] = "config.json";

/* --- members */

json_t *
config_get(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    if (value && !json_is_null(value))
        return value;
    return NULL;
}

bool
config_set(json_t *object, const char *name, json_t *value, struct err *err)
{
    return (value && json_object_set_new(object, name, value) == 0) || err_memory(err, 0);
}

bool
config_default(json_t *object, const char *name, json_t *value, struct err *err)
{
    if (!json_object_get(object, name))
        return config_set(object, name, value, err);
    json_decref(value);
    return true;
}

bool
config_is(const json_t *value, const char *word)
{
    return json_is_string(value) && strcmp(json_string_value(value), word) == 0;
}

bool
config_wrong(const char *name, const char *expected, struct err *err)
{
    return err_set(err, ERR_MALFORMED, "%s: %s is not %s", file, name, expected);
}

/* --- the class */

/* Returns the classes of the text model. */
static const json_t *
text_classes(const json_t *root)
{
    const json_t *inner = config_get(config_get(root, "text_config"), "architectures");
    const json_t *classes = config_get(root, "architectures"), *outer = json_array_get(classes, 0);
    if (inner && !(json_is_string(outer) && family_is_outer(json_string_value(outer), json_string_length(outer))))
        classes = inner;
    if (classes && (inner || json_array_size(classes) != 0 || !json_is_array(classes)))
        return classes;
    return NULL;
}

/* Returns the classes that say which towers a model has: of the tower if a family has it, else of the model. */
static const json_t *
tower_classes(const json_t *root)
{
    const json_t *inner = config_get(config_get(root, "vision_config"), "architectures"), *class = json_array_get(inner, 0);
    if (json_is_string(class) && family_has_tower(json_string_value(class), json_string_length(class)))
        return inner;
    return config_get(root, "architectures");
}

/* Fails for an unknown class, naming those nearest to it. */
static bool
unknown_class(const char *class, size_t n, struct err *err)
{
    char shown[STR_SHOWN];
    struct str hint = { 0 };
    str_shown(shown, class, n);
    if (family_nearest_classes(&hint, shown, err))
        err_set(err, ERR_UNSUPPORTED, "%s: unknown model class '%s'%s; use --family FILE to give its family, or "
            "--config none to keep the tensor names", file, shown, hint.p && !hint.failed ? hint.p : "");
    str_clear(&hint);
    return false;
}

/* Fails for a model whose towers no family has. */
static bool
no_tower(const struct family_config *c, struct err *err)
{
    struct model_family *text;
    char shown[STR_SHOWN];
    if (!family_of_class(&text, FAMILY_LANGUAGE, c->class, strlen(c->class), err))
        return false;
    family_free(text);
    if (!text)
        return unknown_class(c->class, strlen(c->class), err);
    return err_set(err, ERR_UNSUPPORTED, "%s: no family has the towers of class '%s'; amn list families shows those that --mmproj "
        "writes", file, str_shown(shown, c->class, strlen(c->class)));
}

static bool
find_family(struct family_config *c, enum family_kind kind, struct model_family *given, struct err *err)
{
    const json_t *classes = kind == FAMILY_TOWER ? tower_classes(c->members) : text_classes(c->members), *class = json_array_get(classes, 0);
    c->family = given;
    if (!classes)               /* a diffusers model has _class_name, and no family */
        return given || json_object_get(c->members, "_class_name") || err_set(err, ERR_MALFORMED,
            "%s: architectures, the model class, is missing; use --config none to keep the tensor names", file);
    if (!json_is_string(class))
        return err_set(err, ERR_MALFORMED, "%s: architectures is not a list of strings", file);
    c->class = strdup(json_string_value(class));
    if (!c->class)
        return err_memory(err, json_string_length(class));
    if (!given && !family_of_class(&c->family, kind, c->class, json_string_length(class), err))
        return false;
    if (!c->family && kind == FAMILY_TOWER)
        return no_tower(c, err);
    return c->family || unknown_class(c->class, json_string_length(class), err);
}

bool
family_config_open(struct family_config *c, enum family_kind kind, const struct hf_text *text, struct model_family *given,
    struct err *err)
{
    *c = (struct family_config){ .family = given };
    if (!tree_read(&c->members, text->p, text->n, file, err) || !find_family(c, kind, given, err))
        return false;
    c->scope = (struct scope){ .family = c->family, .class = c->class, .config = c->members, .mtp = true };
    return true;
}

/* --- members used for keys */

/* Merges the members of an object into `members`, over members of the same name. */
static bool
merge(json_t *members, const json_t *of, const char *name, struct err *err)
{
    json_t *inner = json_object_get(of, name);
    if (!inner || json_is_null(inner))
        return true;
    if (!json_is_object(inner))
        return config_wrong(name, "an object", err);
    json_incref(inner);
    bool ok = json_object_update(members, inner) == 0 || err_memory(err, 0);
    json_decref(inner);
    return ok;
}

static bool
merge_all(json_t *members, struct err *err)
{
    static const char *const names[] = { "text_config", "llm_config", "lm_config", "language_config", "lfm", "transformer_layer_config" };
    json_t *class = json_incref(json_object_get(members, "architectures"));
    bool ok = merge(members, json_object_get(members, "thinker_config"), "text_config", err);
    for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++)
        ok = merge(members, members, names[i], err);
    json_decref(class);
    return ok;
}

static bool
has_let(const struct model_family *family, const char *name)
{
    for (size_t i = 0; i < family->lets.n; i++)
        if (strcmp(family->lets.at[i].name, name) == 0)
            return true;
    return false;
}

/* Reads a member that every family needs which uses it; `layers` is num_hidden_layers unless there is a let. */
static bool
require(uint64_t *out, const struct family_config *c, const char *name, struct err *err)
{
    const json_t *value = config_get(c->members, name);
    json_int_t n = json_integer_value(value);
    if (json_is_integer(value) && n > 0)
        *out = (uint64_t)n;
    else
        *out = 0;
    bool layers = strcmp(name, "num_hidden_layers") == 0 && !has_let(c->family, "layers");
    if (!value && !layers && !family_uses(c->family, name))
        return true;
    if (!value)
        return err_set(err, ERR_MALFORMED, "%s: %s is missing", file, name);
    if (json_is_integer(value) && n == 0)
        return err_set(err, ERR_MALFORMED, "%s: %s is 0", file, name);
    return (*out != 0 && *out <= UINT32_MAX) || config_wrong(name, "an integer from 0 to 4294967295", err);
}

/* Checks members that llama.cpp needs, and that divide each other. */
static bool
check_sizes(const struct family_config *c, struct err *err)
{
    const json_t *dim = config_get(c->members, "head_dim");
    if (dim && !(json_integer_value(dim) > 0))
        return config_wrong("head_dim", "a positive integer", err);
    bool derived = c->heads != 0 && (!dim || (uint64_t)json_integer_value(dim) == c->hidden_size / c->heads);
    return !derived || c->hidden_size % c->heads == 0 || err_set(err, ERR_MALFORMED, "%s: hidden_size %" PRIu64
        " is not a multiple of num_attention_heads %" PRIu64, file, c->hidden_size, c->heads);
}

/* Gives the family the architecture of this model. */
static bool
choose_arch(struct family_config *c, struct err *err)
{
    bool is = false;
    for (size_t i = 0; i < c->family->variants.n && !is; i++) {
        const struct family_variant *variant = &c->family->variants.at[i];
        if (!expr_true(&is, variant->when, &c->scope, 0, err))
            return false;
        if (is)
            c->family->arch = variant->arch;
    }
    return true;
}

bool
family_config_read(struct family_config *c, const struct hf_folder *folder, struct model *model, struct err *err)
{
    return merge_all(c->members, err) && rope_begin(c, err) && default_apply(c, err) && rope_settle(c, err)
        && require(&c->vocab_size, c, "vocab_size", err) && require(&c->hidden_size, c, "hidden_size", err)
        && require(&c->layers, c, "num_hidden_layers", err) && require(&c->heads, c, "num_attention_heads", err)
        && check_sizes(c, err) && choose_arch(c, err) && family_config_files(c, folder, model, err);
}

void
family_config_clear(struct family_config *c)
{
    json_decref(c->members);
    json_decref(c->rope_all);
    json_decref(c->tokenizer_config);
    json_decref(c->generation_config);
    json_decref(c->file);
    json_decref(c->preprocessor);
    free(c->class);
    free(c->default_class);
    family_free(c->family);
    family_free(c->default_family);
    *c = (struct family_config){ 0 };
}
