/* One JSON text through all that reads JSON: the tokens, a tree, the index of a sharded model, config.json. */
#include <assert.h>
#include <stdlib.h>

#include "base/json_pull.h"
#include "base/tree.h"
#include "container/index.h"
#include "scheme/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static enum pull_fault
run_tokens(const char *text, size_t n, bool words)
{
    struct pull json;
    enum pull_token token;
    char said[PULL_EXPLAIN];
    char *plain = malloc(n + 1);
    pull_init(&json, text, n, 0, 127);
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

/* Passing over a value is as strict as reading it. */
static void
check_skip(const char *text, size_t n, enum pull_fault fault)
{
    struct pull json;
    pull_init(&json, text, n, 0, 127);
    bool ok = pull_skip(&json) && pull_next(&json) == PULL_END;
    assert(ok == (fault == PULL_OK) && json.fault == fault);
}

/* The tree takes nothing that the tokens refuse. */
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
    struct config *config = NULL;
    struct err err;
    err_init(&err);
    struct catalog *catalog = catalog_new(&limits_default, &err);
    if (catalog && catalog_add_config(catalog, &one, &err) && config_new(&config, catalog, &err)) {
        const json_t *value;
        uint64_t block[2];
        bool known, ignores;
        config_method(config);
        config_vocab(config);
        config_number(config, "bits");
        if (config_weights(config, module, sizeof module - 1, "num_bits", &value, &err)
            && config_block_size(config, module, sizeof module - 1, block, &known, &err))
            config_ignores(config, module, sizeof module - 1, &ignores, &err);
    }
    assert(err.kind != ERR_BUG && err.kind != ERR_USAGE);
    config_free(config);
    catalog_free(catalog);
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
    return 0;
}
