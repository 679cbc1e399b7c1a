/* hf/name: general.name against gguf-py's for the same files (test/corpus/hf-titles.json, made by
 * test/peers/make-hf-titles.py); and the names by which llama.cpp strips spaces. */
#include "check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "hf/name.h"

/* Puts tokens into the keys, like a vocabulary. */
static void
put_tokens(struct keys *keys, const char *model, const char *const *tokens, size_t n)
{
    struct str s = { 0 };
    struct err err;
    err_init(&err);
    for (size_t i = 0; i < n; i++) {
        uint8_t size[8] = { (uint8_t)strlen(tokens[i]) };
        str_add(&s, (const char *)size, 8);
        str_text(&s, tokens[i]);
    }
    CHECK(keys_put_text(keys, "tokenizer.ggml", "model", model, strlen(model), &err));
    CHECK(keys_put_array(keys, "tokenizer.ggml", "tokens", META_STRING, n, &s, &err));
}

/* Checks the name made from two files; NULL for none. */
static bool
is_named(struct keys *keys, const char *class, const char *card, const char *config, const char *want)
{
    struct hf_folder folder = { .file = { [HF_CONFIG] = { "config.json", config, strlen(config) } } };
    struct err err;
    err_init(&err);
    folder.file[HF_README] = (struct hf_text){ "README.md", card, card ? strlen(card) : 0 };
    if (!CHECK_ROW(hf_name_put(keys, &folder, strcmp(class, "Phi3ForCausalLM") == 0, &err), err.text))
        return false;
    const struct meta_value *value = keys_find(keys, "general.name");
    size_t n = 0;
    const char *got = value ? meta_bytes(value, &n) : NULL;
    bool same = want && *want ? got && n == strlen(want) && memcmp(got, want, n) == 0 : !got;
    if (!same)
        printf("%s, %s: \"%.*s\", expected \"%s\"\n", card ? card : "", config, (int)n, got ? got : "", want ? want : "");
    return same;
}

static void
test_rows(void)
{
    json_error_t error;
    json_t *rows = json_load_file("test/corpus/hf-titles.json", 0, &error), *row;
    size_t i;
    CHECK_ROW(rows, error.text);
    json_array_foreach(rows, i, row) {
        struct keys keys = { 0 };
        json_t *config = json_object(), *id = json_object_get(row, "id");
        if (json_is_string(id))
            json_object_set(config, "_name_or_path", id);
        char *text = json_dumps(config, 0);
        const char *want = json_string_value(json_object_get(row, "name"));
        if (json_is_true(json_object_get(row, "left")))
            want = "By Config";
        CHECK(is_named(&keys, "LlamaForCausalLM", json_string_value(json_object_get(row, "card")), text, want));
        free(text);
        json_decref(config);
        keys_clear(&keys);
    }
    json_decref(rows);
}

static void
test_phi3(void)
{
    static const char *const all[] = { "<unk>", "<s>", "</s>", "x", "<|endoftext|>" };
    static const struct { const char *class, *model, *config, *want; size_t n; } rows[] = {
        { "Phi3ForCausalLM", "llama", "{}", "Phi-3", 5 },
        { "Phi3ForCausalLM", "llama", "{\"_name_or_path\":\"microsoft/Phi-3-mini-4k-instruct\"}", "Phi-3 Mini 4k Instruct", 5 },
        { "Phi3ForCausalLM", "llama", "{\"_name_or_path\":\"microsoft/Phi-3.5-mini\"}", "Phi-3.5 Mini", 5 },
        { "Phi3ForCausalLM", "llama", "{\"_name_or_path\":\"mine\"}", "Mine (Phi-3)", 5 },
        { "Phi3ForCausalLM", "llama", "{\"_name_or_path\":\"my_phi3\"}", "My_Phi-3", 5 },
        { "Phi3ForCausalLM", "llama", "{}", NULL, 4 },
        { "Phi3ForCausalLM", "gpt2", "{}", NULL, 5 },
        { "Phi3ForCausalLM", "gpt2", "{\"_name_or_path\":\"phi-4\"}", "Phi 4", 4 },
        { "LlamaForCausalLM", "gpt2", "{\"_name_or_path\":\"phi3-llama\"}", "Phi 3 Llama", 4 },
        { "LlamaForCausalLM", "llama", "{\"_name_or_path\":\"phi3-llama\"}", "Phi3 Llama", 5 },
        { "LlamaForCausalLM", "llama", "{}", NULL, 5 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct keys keys = { 0 };
        put_tokens(&keys, rows[i].model, all, rows[i].n);
        CHECK(is_named(&keys, rows[i].class, NULL, rows[i].config, rows[i].want));
        keys_clear(&keys);
    }
}

int
main(void)
{
    test_rows();
    test_phi3();
    return check_done("hf_title");
}
