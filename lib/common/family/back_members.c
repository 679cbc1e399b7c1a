#include "family/back_priv.h"

#include <string.h>

#include "family/back_keys.h"
#include "family/rope_keys.h"

/* --- `key` rows */

/* Returns true if a name is a member of config.json: not one of a let, and no value of another kind. */
static bool
is_member(const char *name, const struct model_family *family)
{
    static const char *const others[] = { "b", "class", "mtp", "file_type", "tokens", "vocab_rows", "layers", "main" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return false;
    for (size_t i = 0; i < family->lets.n; i++)
        if (strcmp(name, family->lets.at[i].name) == 0)
            return false;
    return !strchr(name, '.');
}

/* Sets *value to a new reference to the value of a key that is one number for the model. A list has one number for each layer;
 * layers without the part have 0. Fails if the remaining numbers differ. */
static bool
one_value(json_t **value, json_t *stored, const char *name, struct err *err)
{
    json_t *one = stored;
    if (json_is_array(stored))
        one = json_array_get(stored, 0);
    for (size_t i = 0; i < json_array_size(stored); i++) {
        json_t *next = json_array_get(stored, i);
        if (json_number_value(next) == 0)
            continue;
        if (json_number_value(one) != 0 && !json_equal(one, next))
            return err_set(err, ERR_UNSUPPORTED, "key %s differs between layers, but config.json has one value for all",
                name);
        one = next;
    }
    if (one)
        *value = json_incref(one);
    else
        *value = NULL;
    return true;
}

/* Copies keys to the members that their rows name. The last row of a key decides. */
static bool
copy_keys(struct scope *scope, struct err *err)
{
    const struct model_family *family = scope->family;
    json_t *last = json_object();
    bool ok = last || err_memory(err, 1);
    for (size_t i = 0; ok && i < family->keys.n; i++)
        if (family->keys.at[i].name)
            ok = json_object_set_new(last, family->keys.at[i].name, json_integer((json_int_t)i)) == 0 || err_memory(err, 1);
    for (size_t i = 0; ok && i < family->keys.n; i++) {
        const struct family_key *row = &family->keys.at[i];
        const char *member = NULL;
        if (row->name && row->value && !row->each)
            member = expr_member(row->value);
        if (!member || json_integer_value(json_object_get(last, row->name)) != (json_int_t)i || !is_member(member, family))
            continue;
        json_t *stored = family_key_value(scope->keys, family, row->name), *value = stored ? json_incref(stored) : NULL;
        if (!row->array && json_is_array(stored)) {
            json_decref(value);
            value = NULL;
            ok = one_value(&value, stored, row->name, err);
        }
        if (ok && value && !json_is_null(value))
            ok = back_set(scope->config, member, json_incref(value), err);
        json_decref(value);
    }
    json_decref(last);
    return ok;
}

/* --- `back` and `const` rows */

/* Returns the full path of a member: rope.X is rope_parameters.X. Returns NULL if it does not fit. */
static const char *
path_of(char path[512], const char *name)
{
    bool rope = str_begins(name, "rope.");
    int n = snprintf(path, 512, "%s%s", rope ? "rope_parameters." : "", rope ? name + 5 : name);
    if (n > 0 && n < 512)
        return path;
    return NULL;
}

/* Returns the value of a member at a path, borrowed, or NULL. */
static json_t *
get(const json_t *object, const char *path)
{
    const char *dot;
    char name[512];
    while (object && (dot = strchr(path, '.')) != NULL && (size_t)(dot - path) < sizeof name) {
        memcpy(name, path, (size_t)(dot - path));
        name[dot - path] = '\0';
        object = json_object_get(object, name);
        path = dot + 1;
    }
    return json_object_get(object, path);
}

/* Sets a member by a `back` row. Null removes a value that was copied from a key: the row decides, not the key. `given`: the
 * members that such rows have set. */
static bool
set_back(struct scope *scope, const struct family_member *row, json_t *given, struct err *err)
{
    json_t *value = NULL;
    bool yes;
    char path[512];
    if (!expr_true(&yes, row->when, scope, 0, err))
        return false;
    if (!yes)
        return true;
    bool ok = family_member_value(&value, row, scope, err);
    if (ok && json_is_null(value) && !json_object_get(given, row->name))
        json_object_del(scope->config, row->name);
    else if (ok && !json_is_null(value))
        ok = path_of(path, row->name) && back_set(scope->config, path, json_incref(value), err)
            && (json_object_set_new(given, row->name, json_true()) == 0 || err_memory(err, 1));
    json_decref(value);
    return ok;
}

static bool
set_const(struct scope *scope, const struct family_const *row, struct str *constants, struct err *err)
{
    bool yes;
    char path[512];
    if (!expr_true(&yes, row->when, scope, 0, err))
        return false;
    if (!yes)
        return true;
    if (!path_of(path, row->name) || get(scope->config, path))
        return true;
    str_format(constants, "%s%s", constants->len != 0 ? ", " : "", row->name);
    return back_set(scope->config, path, json_incref(row->value), err);
}

/* --- the other members */

/* Adds a member unless it is there. Consumes the value. */
static bool
set_if_absent(json_t *config, const char *name, json_t *value, struct err *err)
{
    if (!json_object_get(config, name))
        return back_set(config, name, value, err);
    json_decref(value);
    return true;
}

static bool
set_vocab_size(json_t *config, const struct model *model, struct err *err)
{
    static const char embeddings[] = "token_embd.weight";
    const struct tensor *t = catalog_find(model->catalog, embeddings, sizeof embeddings - 1);
    return !t || t->shape.rank == 0
        || back_set(config, "vocab_size", json_integer((json_int_t)shape_dim(&t->shape, 0)), err);
}

static bool
set_token_ids(json_t *config, const struct back_tokens *tokens, struct err *err)
{
    static const struct {
        enum back_role role;
        const char *member;
    } ids[] = { { BACK_BOS, "bos_token_id" }, { BACK_EOS, "eos_token_id" }, { BACK_PAD, "pad_token_id" } };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (tokens->role[ids[i].role].n != 0
                && !set_if_absent(config, ids[i].member, json_integer((json_int_t)tokens->id[ids[i].role]), err))
            return false;
    return true;
}

/* Sets the names of the classes of a classifier. */
static bool
set_labels(json_t *config, const json_t *labels, struct err *err)
{
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const char *label = json_string_value(json_array_get(labels, i));
        json_t *names = json_object_get(config, "id2label"), *ids = json_object_get(config, "label2id");
        char id[24];
        snprintf(id, sizeof id, "%zu", i);
        if ((!names && !back_set(config, "id2label", names = json_object(), err))
            || (!ids && !back_set(config, "label2id", ids = json_object(), err)))
            return false;
        if (label && (json_object_set_new(names, id, json_string(label)) != 0
            || json_object_set_new(ids, label, json_integer((json_int_t)i)) != 0))
            return err_memory(err, 1);
    }
    return true;
}

bool
back_members_class(const struct family_hf **hf, struct scope *scope, struct err *err)
{
    const struct model_family *family = scope->family;
    const struct family_hf *plain = NULL;
    *hf = NULL;
    for (size_t i = 0; i < family->hf.n && !*hf; i++) {
        const struct family_hf *row = &family->hf.at[i];
        bool yes = false;
        if (row->when && !expr_true(&yes, row->when, scope, 0, err))
            return false;
        if (yes)
            *hf = row;
        plain = plain || row->when ? plain : row;
    }
    *hf = *hf ? *hf : plain;
    return true;
}

static bool
set_class(struct scope *scope, struct err *err)
{
    const struct family_hf *hf;
    if (!back_members_class(&hf, scope, err))
        return false;
    if (!hf)
        return err_set(err, ERR_UNSUPPORTED, "family %s has no class for this model (hf)", scope->family->name);
    json_t *classes = json_array();
    json_array_append_new(classes, json_string(hf->class));
    return back_set(scope->config, "architectures", classes, err)
        && back_set(scope->config, "model_type", json_string(hf->model_type), err);
}

bool
back_members(struct scope *scope, struct model *model, const struct back_tokens *tokens, struct str *constants, struct err *err)
{
    static const char output[] = "output.weight";
    const struct model_family *family = scope->family;
    json_t *given = json_object();
    bool ok = (given || err_memory(err, 1)) && copy_keys(scope, err) && rope_keys_back(scope->config, scope->keys, family, model, err)
        && set_vocab_size(scope->config, model, err);
    for (size_t i = 0; ok && i < family->back.n; i++)
        ok = set_back(scope, &family->back.at[i], given, err);
    json_decref(given);
    for (size_t i = 0; ok && i < family->consts.n; i++)
        ok = set_const(scope, &family->consts.at[i], constants, err);
    return ok && set_if_absent(scope->config, "tie_word_embeddings",
            json_boolean(!catalog_find(model->catalog, output, sizeof output - 1)), err)
        && set_token_ids(scope->config, tokens, err)
        && set_labels(scope->config, json_object_get(scope->file, "labels"), err) && set_class(scope, err) && rope_keys_old(scope->config, err);
}
