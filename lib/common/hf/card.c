#include "hf/card.h"

#include <stdio.h>
#include <string.h>

#include "base/tree.h"
#include "hf/title.h"
#include "writer/put.h"

/* Keys with one text, in the order of the file, and the members of a card that give them. */
static const struct card_row {
    const char *key;
    const char *member[3];
    int part;                   /* of the model's name that is used without such a member; -1: none */
} rows[] = {
    { "name", { "name", "model_name" }, TITLE_NAME },
    { "author", { "author", "model_author", "model_creator" }, -1 },
    { "version", { "version", "model_version" }, TITLE_VERSION },
    { "organization", { "organization", "model_organization" }, TITLE_ORGANIZATION },
    { "finetune", { "finetune", "model_finetune" }, TITLE_FINETUNE },
    { "basename", { "basename", "model_basename", "model_type" }, TITLE_BASENAME },
    { "description", { "description", "model_description" }, -1 },
    { "size_label", { "size_label", "model_size_label" }, TITLE_SIZE },
    { "license", { "license" }, -1 },
    { "license.name", { "license_name" }, -1 },
    { "license.link", { "license_link" }, -1 },
    { "source.url", { "url", "model_url" }, -1 },
    { "source.doi", { "doi", "model_doi" }, -1 },
    { "source.uuid", { "uuid", "model_uuid" }, -1 },
    { "source.repo_url", { "repo_url", "model_repo_url" }, -1 },
};

static const char general[] = "general";

/* What the keys are made of. */
struct card {
    struct keys *keys;
    json_t *front;              /* owned */
    struct hf_title title[2];   /* from config.json and from the directory, the first one that has a part counts; owned */
    double params;
    struct catalog *warnings;
};

/* Puts a text, unless it is empty. */
static bool
card_put_text(const struct card *c, const char *prefix, const char *key, const struct str *s, struct err *err)
{
    if (s->failed)
        return err_memory(err, s->len);
    return s->len == 0 || keys_put_text(c->keys, prefix, key, s->p, s->len, err);
}

/* Returns the value of a member that is there and not null. */
static const json_t *
card_member(const struct card *c, const char *name)
{
    const json_t *value = json_object_get(c->front, name);
    if (json_is_null(value))
        catalog_warn(c->warnings, "README.md: %s is left out: its value is not read", name);
    return json_is_null(value) ? NULL : value;
}

/* Appends a text, or the texts of a list with commas between them. */
static void
add_value(struct str *s, const json_t *value)
{
    size_t i;
    json_t *item;
    if (json_is_string(value))
        str_add(s, json_string_value(value), json_string_length(value));
    json_array_foreach((json_t *)value, i, item) {
        if (i != 0)
            str_text(s, ",");
        str_add(s, json_string_value(item), json_string_length(item));
    }
}

static bool
put_row(const struct card *c, const struct card_row *row, struct err *err)
{
    const json_t *value = NULL;
    struct str s = { 0 };
    for (size_t i = 0; i < 3 && row->member[i] && !value; i++)
        value = card_member(c, row->member[i]);
    for (size_t i = 0; i < 2 && !value && row->part >= 0 && s.len == 0; i++) {
        const struct str *part = &c->title[i].part[row->part];
        if (row->part == TITLE_NAME || row->part == TITLE_ORGANIZATION)
            hf_title_add(&s, part->p ? part->p : "", part->len);
        else
            str_add(&s, part->p ? part->p : "", part->len);
    }
    if (value)
        add_value(&s, value);
    bool ok = card_put_text(c, general, row->key, &s, err);
    str_clear(&s);
    return ok;
}

/* --- models and data sets that the card names */

/* Returns the part of a URL that names a model of Hugging Face, or NULL. */
static const char *
hub_id(const char *url)
{
    static const char *const starts[] = { "http://huggingface.co/", "https://huggingface.co/" };
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(starts[i]);
        const char *id = strncmp(url, starts[i], n) == 0 ? url + n : "", *slash = strchr(id, '/');
        if (slash && slash != id && slash[1] && !strchr(slash + 1, '/'))
            return id;
    }
    return NULL;
}

static bool
is_url(const char *id)
{
    return str_begins(id, "http://") || str_begins(id, "https://") || str_begins(id, "ssh://");
}

/* Puts the keys of one of them, general.base_model.0.name and so on. */
static bool
put_source(const struct card *c, const char *prefix, const char *id, struct err *err)
{
    const char *of = is_url(id) ? hub_id(id) : id;
    struct hf_title t = { 0 };
    struct str name = { 0 }, organization = { 0 }, url = { 0 };
    bool ok = !of || hf_title_read(&t, of, strlen(of), c->params, err);
    if (ok && of) {
        hf_title_add(&name, t.part[TITLE_NAME].p ? t.part[TITLE_NAME].p : "", t.part[TITLE_NAME].len);
        hf_title_add(&organization, t.part[TITLE_ORGANIZATION].p ? t.part[TITLE_ORGANIZATION].p : "", t.part[TITLE_ORGANIZATION].len);
    }
    if (is_url(id))
        str_text(&url, id);
    else if (ok && t.has[TITLE_ORGANIZATION])
        str_format(&url, "https://huggingface.co/%s/%s", t.part[TITLE_ORGANIZATION].p ? t.part[TITLE_ORGANIZATION].p : "",
            t.part[TITLE_NAME].p ? t.part[TITLE_NAME].p : "");
    ok = ok && card_put_text(c, prefix, "name", &name, err) && card_put_text(c, prefix, "version", &t.part[TITLE_VERSION], err)
        && card_put_text(c, prefix, "organization", &organization, err) && card_put_text(c, prefix, "repo_url", &url, err);
    str_clear(&name);
    str_clear(&organization);
    str_clear(&url);
    hf_title_clear(&t);
    return ok;
}

/* Puts the keys of the models, or data sets, that the first of these members lists. */
static bool
put_sources(const struct card *c, const char *key, const char *const member[3], struct err *err)
{
    const json_t *value = NULL;
    char prefix[64];
    for (size_t i = 0; i < 3 && !value; i++)
        value = card_member(c, member[i]);
    size_t n = json_is_string(value) ? 1 : json_array_size(value);
    snprintf(prefix, sizeof prefix, "general.%s", key);
    if (value && !keys_put_u32(c->keys, prefix, "count", (uint32_t)n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        snprintf(prefix, sizeof prefix, "general.%s.%zu", key, i);
        if (!put_source(c, prefix, json_string_value(json_is_string(value) ? value : json_array_get(value, i)), err))
            return false;
    }
    return true;
}

/* Puts a list of texts, those of two members. */
static bool
put_list(const struct card *c, const char *key, const char *one, const char *two, struct err *err)
{
    const json_t *values[] = { card_member(c, one), card_member(c, two) };
    struct str bytes = { 0 };
    uint64_t count = 0;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < (json_is_string(values[i]) ? 1 : json_array_size(values[i])); k++, count++) {
            const json_t *item = json_is_string(values[i]) ? values[i] : json_array_get(values[i], k);
            put_counted(&bytes, json_string_value(item), json_string_length(item));
        }
    if (count != 0)
        return keys_put_array(c->keys, general, key, META_STRING, count, &bytes, err);
    str_clear(&bytes);
    return true;
}

/* --- the whole */

/* Reads the name of the model in config.json, unless it is a path. */
static bool
read_config(struct hf_title *t, const struct hf_text *config, double params, struct err *err)
{
    json_t *root = NULL;
    if (!config->p)
        return true;
    if (!tree_read(&root, config->p, config->n, config->name, err))
        return false;
    const char *id = json_string_value(json_object_get(root, "_name_or_path")), *slash = id ? strchr(id, '/') : NULL;
    bool ok = !id || (slash && strchr(slash + 1, '/')) || hf_title_read(t, id, strlen(id), params, err);
    json_decref(root);
    return ok;
}

bool
hf_card_put(struct keys *keys, const struct hf_text *card, const struct hf_text *config, const char *name, double params,
    struct catalog *warnings, struct err *err)
{
    static const char *const bases[] = { "base_model", "base_models", "base_model_sources" };
    static const char *const sets[] = { "datasets", "dataset", "dataset_sources" };
    struct card c = { .keys = keys, .params = params, .warnings = warnings };
    bool ok = hf_front_matter(&c.front, card, err) && read_config(&c.title[0], config, params, err)
        && hf_title_read(&c.title[1], name, strlen(name), params, err);
    for (size_t i = 0; ok && i < sizeof rows / sizeof *rows; i++)
        ok = put_row(&c, &rows[i], err);
    ok = ok && put_sources(&c, "base_model", bases, err) && put_sources(&c, "dataset", sets, err)
        && put_list(&c, "tags", "tags", "pipeline_tag", err) && put_list(&c, "languages", "languages", "language", err);
    json_decref(c.front);
    hf_title_clear(&c.title[0]);
    hf_title_clear(&c.title[1]);
    return ok;
}
