/* One JSON text through everything that reads JSON: the tokens, a tree, the index of a sharded model, config.json. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/pull.h"
#include "base/tree.h"
#include "model/index.h"
#include "scheme/config.h"
#include "scheme/words.h"
#include "writer/keys.h"
#include "writer/meta_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static enum pull_fault
run_tokens(const char *text, size_t n, bool words)
{
    struct pull json;
    enum pull_token token;
    char said[PULL_EXPLAIN];
    char *plain = malloc(n + 1);
    pull_init(&json, text, n, 0);
    json.words = words;
    do {
        token = pull_next(&json);
        uint64_t whole;
        double real;
        if (plain && (token == PULL_KEY || token == PULL_STRING))
            assert(pull_unescape(plain, &json.token) <= json.token.n);
        if (token == PULL_NUMBER && pull_as_u64(&json, &whole))
            pull_as_double(&json, &real);
        assert(pull_token_at(&json) <= n);
    } while (token != PULL_BAD && token != PULL_END);
    assert((token == PULL_BAD) == (json.fault != PULL_OK) && pull_fault_at(&json) <= n);
    pull_explain(said, &json);
    free(plain);
    return json.fault;
}

/* Skipping a value is as strict as reading it. */
static void
check_skip(const char *text, size_t n, enum pull_fault fault)
{
    struct pull json;
    pull_init(&json, text, n, 0);
    bool ok = pull_skip(&json) && pull_next(&json) == PULL_END;
    assert(ok == (fault == PULL_OK) && json.fault == fault);
}

/* The tree accepts nothing that the tokens refuse. */
static void
run_tree(const char *text, size_t n, enum pull_fault fault)
{
    json_t *root = NULL;
    struct err err;
    err_init(&err);
    bool ok = tree_read(&root, text, n, "text", &err);
    assert(ok == (err.kind == ERR_NONE) && ok == (root != NULL));
    assert(!ok || fault == PULL_OK || fault == PULL_TOO_DEEP);
    json_decref(root);
}

static void
run_index(const char *text, size_t n)
{
    struct index index = { 0 };
    struct budget budget = { .limits = limits_default };
    struct err err;
    err_init(&err);
    assert(index_read(&index, text, n, &budget, &err) == (err.kind == ERR_NONE) && err.kind != ERR_BUG);
    index_clear(&index);
}

static void
run_config(const char *text, size_t n)
{
    static const char module[] = "model.layers.0.self_attn.q_proj";
    const struct catalog_config one = { "config.json", text, n };
    struct words words = { 0 };
    struct config *config = NULL;
    struct err err;
    err_init(&err);
    struct catalog *catalog = catalog_new(&limits_default, &err);
    if (catalog && catalog_add_config(catalog, &one, &err) && config_new(&config, catalog, &words, &err)) {
        const json_t *value;
        uint64_t block[2];
        bool known, ignores;
        config_method(config);
        config_size(config, CONFIG_VOCAB);
        config_number(config, "bits");
        if (config_weights(config, module, sizeof module - 1, "num_bits", &value, &err)
            && config_block_size(config, module, sizeof module - 1, block, &known, &err))
            config_ignores(config, module, sizeof module - 1, &ignores, &err);
    }
    assert(err.kind != ERR_BUG && err.kind != ERR_USAGE);
    config_free(config);
    catalog_free(catalog);
}

/* A value written as text is read as the same value. */
static void
check_value(const struct meta_value *value)
{
    struct str type = { 0 }, text = { 0 }, again = { 0 }, bytes = { 0 };
    struct meta_value back;
    const char *why = NULL;
    meta_text_type(&type, value);
    meta_text(&text, value);
    assert(meta_read_text(&back, &bytes, type.p, text.p ? text.p : "", text.len, &why));
    meta_text(&again, &back);
    assert(back.type == value->type && str_compare(text.p, text.len, again.p, again.len) == 0);
    str_clear(&type);
    str_clear(&text);
    str_clear(&again);
    str_clear(&bytes);
}

/* The text as given keys, and as the types that strings have. */
static void
run_keys(const char *text, size_t n)
{
    static const char key[] = META_TEXT_TYPES;
    struct meta types = { .key = key, .key_len = sizeof key - 1, .value.type = META_STRING };
    struct meta one = { .key = "a", .key_len = 1, .value = types.value };
    struct keys_given given = { .path = "text", .json = text, .njson = n };
    uint32_t again;
    types.value.as.s.p = one.value.as.s.p = text;
    types.value.as.s.n = one.value.as.s.n = n;
    for (int typed = 0; typed < 2; typed++) {
        struct keys keys = { 0 };
        struct err err;
        err_init(&err);
        struct catalog *catalog = catalog_new(&limits_default, &err);
        struct choice choice = { .input = catalog };
        given.json = typed ? NULL : text;
        bool ok = catalog && (!typed || (catalog_add_meta(catalog, &types, &again, &err)
            && catalog_add_meta(catalog, &one, &again, &err)));
        ok = ok && keys_make(&keys, KEYS_TYPED, &given, &choice, &err);
        assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG && err.kind != ERR_USAGE);
        for (size_t i = 0; ok && i < keys.n; i++)
            check_value(&keys.list[i].value);
        keys_clear(&keys);
        catalog_free(catalog);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const char *text = (const char *)p;
    enum pull_fault fault = run_tokens(text, n, false);
    run_tokens(text, n, true);
    check_skip(text, n, fault);
    run_tree(text, n, fault);
    run_index(text, n);
    run_config(text, n);
    run_keys(text, n);
    return 0;
}
