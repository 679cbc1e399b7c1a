#include "hf/unconverted.h"

#include <stdlib.h>
#include <string.h>

#include "base/pull.h"
#include "base/tree.h"
#include "hf/folder.h"

/* The methods of quantization_config that have a list. Without one, those of transformers leave the head as it is. */
static const struct unconverted_list {
    const char *method, *list;
    bool head;
} lists[] = {
    { .method = "fp8", .list = "modules_to_not_convert", .head = true },
    { .method = "finegrained_fp8", .list = "modules_to_not_convert", .head = true },
    { .method = "fbgemm_fp8", .list = "modules_to_not_convert", .head = true },
    { .method = "mxfp4", .list = "modules_to_not_convert", .head = true },
    { .method = "mxfp8", .list = "modules_to_not_convert", .head = true },
    { .method = "awq", .list = "modules_to_not_convert", .head = true },
    { .method = "eetq", .list = "modules_to_not_convert", .head = true },
    { .method = "quanto", .list = "modules_to_not_convert", .head = true },
    { .method = "torchao", .list = "modules_to_not_convert", .head = true },
    { .method = "sdnq", .list = "modules_to_not_convert", .head = true },
    { .method = "bitnet", .list = "modules_to_not_convert", .head = true },
    { .method = "hqq", .list = "skip_modules", .head = true },
    { .method = "bitsandbytes", .list = "llm_int8_skip_modules", .head = true },
    { .method = "compressed-tensors", .list = "ignore" },
    { .method = "modelopt", .list = "ignore" },
    { .method = "quark", .list = "exclude" },
};

/* Returns the row of a config, or NULL. A config of MLX has no method, and a member for each exception. */
static const struct unconverted_list *
list_of(const json_t *config)
{
    const char *method = json_string_value(json_object_get(config, "quant_method"));
    for (size_t i = 0; method && i < sizeof lists / sizeof *lists; i++)
        if (strcmp(lists[i].method, method) == 0)
            return &lists[i];
    return NULL;
}

/* Returns the list of a config, which is made if it is absent or null. */
static json_t *
open_list(json_t *config, const struct unconverted_list *row)
{
    json_t *list = json_object_get(config, row->list);
    if (json_is_array(list))
        return list;
    list = json_array();
    json_object_set_new(config, row->list, list);
    if (row->head)
        json_array_append_new(list, json_string("lm_head"));
    return list;
}

/* Adds the modules to the config; returns false if it has no place for them. */
static bool
add_modules(json_t *config, const struct names *modules)
{
    const bool mlx = !json_object_get(config, "quant_method") && json_is_integer(json_object_get(config, "bits"));
    const struct unconverted_list *row = list_of(config);
    json_t *list = NULL;
    if (row)
        list = open_list(config, row);
    for (size_t i = 0; i < modules->n; i++)
        if (mlx)
            json_object_set_new(config, modules->name[i], json_false());
        else if (list)
            json_array_append_new(list, json_string(modules->name[i]));
    return mlx || list;
}

/* Appends the text of a config, p[0..n), with the modules. */
static bool
put_config(struct str *out, const char *p, size_t n, const struct names *modules, bool *declared, struct err *err)
{
    json_t *config = NULL;
    if (n == 0 || *p != '{') {
        str_add(out, p, n);
        return true;
    }
    if (!tree_read(&config, p, n, "quantization_config", err))
        return false;
    char *text = NULL;
    if (add_modules(config, modules))
        text = json_dumps(config, JSON_ENSURE_ASCII);
    if (text)
        str_text(out, text);
    else
        str_add(out, p, n);
    *declared = *declared || text;
    free(text);
    json_decref(config);
    return true;
}

/* Appends the text of config.json with the modules in each of its quantization configs. */
static bool
put_text(struct str *out, const struct catalog_config *config, const struct names *modules, bool *declared, struct err *err)
{
    struct pull json;
    const char *done = config->text, *p;
    size_t n;
    pull_init(&json, config->text, config->n, 0);
    json.words = true;
    for (enum pull_token t; (t = pull_next(&json)) != PULL_END;) {
        if (t == PULL_BAD)
            return err_set(err, ERR_MALFORMED, "config.json is not a JSON object");
        if (t != PULL_KEY || !(pull_text_is(&json.token, "quantization_config") || pull_text_is(&json.token, "quantization")))
            continue;
        if (!pull_value_text(&json, &p, &n))
            return err_set(err, ERR_MALFORMED, "config.json is not a JSON object");
        str_add(out, done, (size_t)(p - done));
        if (!put_config(out, p, n, modules, declared, err))
            return false;
        done = p + n;
    }
    str_add(out, done, (size_t)(config->text + config->n - done));
    return !out->failed || err_memory(err, out->room);
}

bool
hf_unconverted_declare(struct catalog *catalog, const struct names *modules, bool *declared, struct err *err)
{
    const struct catalog_config *config = hf_folder_config(catalog);
    struct str text = { 0 };
    *declared = false;
    if (!config)
        return true;
    bool ok = put_text(&text, config, modules, declared, err) && (!*declared
        || catalog_replace_config(catalog, (size_t)(config - catalog_config_at(catalog, 0)), text.p, text.len, err));
    str_clear(&text);
    return ok;
}
