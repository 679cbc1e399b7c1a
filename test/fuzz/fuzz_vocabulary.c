/* The files of a tokenizer. An input is a byte that selects the family, then the files, each of which starts with a line "="
 * and the number of enum hf_file as a character from '0' on. */
#include <assert.h>
#include <string.h>

#include "family/hf_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const char *const names[HF_FILES] = {
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "tokenizer.model",
    "added_tokens.json", "merges.txt", "chat_template.jinja", "chat_template.json", "tekken.json",
    "README.md", "vocab.json", "tiktoken.model",
};

/* Finds the files in p[0..n), ignoring bytes before the first one. */
static void
split(struct hf_folder *folder, const char *p, size_t n)
{
    struct hf_text *file = NULL;
    for (size_t i = 0; i < n; i++) {
        bool begins = n - i >= 3 && p[i] == '=' && p[i + 1] >= '0' && p[i + 1] < '0' + HF_FILES && p[i + 2] == '\n'
            && (i == 0 || p[i - 1] == '\n');
        if (begins) {
            file = &folder->file[p[i + 1] - '0'];
            file->p = p + i + 3;
            file->n = 0;
            i += 2;
        } else if (file)
            file->n++;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    size_t families = 0;
    while (family_name_at(families))
        families++;
    if (n == 0)
        return 0;
    struct hf_folder folder = { 0 };
    for (int i = 0; i < HF_FILES; i++)
        folder.file[i].name = names[i];
    split(&folder, (const char *)p + 1, n - 1);
    struct vocabulary_options options = {
        .size = p[0] & 64 ? 300 : 0, .pre_name = p[0] & 128 ? "llama-bpe" : NULL,
    };
    struct keys keys = { 0 };
    struct err err;
    uint64_t tokens;
    err_init(&err);
    static const char text[] = "{\"architectures\":[\"X\"],\"vocab_size\":300}";
    struct family_config config = { 0 };
    struct model_family *family;
    bool ok = family_builtin(&family, family_name_at(p[0] % families), &err)
        && family_config_open(&config, FAMILY_LANGUAGE, &(struct hf_text){ "config.json", text, sizeof text - 1 }, family, &err)
        && family_config_files(&config, &folder, NULL, &err)
        && hf_model_vocabulary(&keys, &folder, &config, &options, &tokens, &err);
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG && err.kind != ERR_USAGE);
    for (size_t i = 0; i < keys.n; i++) {
        struct meta_value value;
        if (keys.list[i].value.type != META_ARRAY)
            continue;
        struct meta_iter it = meta_first(&keys.list[i].value.as.a);
        while (meta_next(&it, &value))
            assert(value.type != META_STRING || value.as.s.n <= n + 16 + 3 * n);
        assert(it.left == 0);
    }
    keys_clear(&keys);
    family_config_clear(&config);
    return 0;
}
