/* Tokenizers of small model directories as the keys tokenizer.* of GGUF: test/corpus/hf against the output of
 * llama.cpp's convert_hf_to_gguf.py (test/peers/make-hf-corpus.py); and broken copies of their files, which must yield keys
 * or an error that names the file.
 *
 * With directories as arguments: print the keys of each, for comparisons elsewhere.
 */
#include "check.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "family/hf_model.h"
#include "sha256.h"

#define CORPUS "test/corpus/hf"

static const char *const names[HF_FILES] = {
    [HF_CONFIG] = "config.json", [HF_GENERATION] = "generation_config.json", [HF_TOKENIZER] = "tokenizer.json",
    [HF_TOKENIZER_CONFIG] = "tokenizer_config.json", [HF_SENTENCEPIECE] = "tokenizer.model",
    [HF_ADDED_TOKENS] = "added_tokens.json", [HF_MERGES] = "merges.txt", [HF_TEMPLATE] = "chat_template.jinja",
    [HF_TEMPLATE_JSON] = "chat_template.json", [HF_TEKKEN] = "tekken.json",
    [HF_README] = "README.md", [HF_VOCAB_JSON] = "vocab.json", [HF_TIKTOKEN] = "tiktoken.model",
};

/* Reads a file into a block of exactly its size, so that a sanitizer detects a read past its end. Returns NULL if it is
 * missing. */
static char *
read_file(const char *dir, const char *name, size_t *n)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *p = malloc(*n != 0 ? *n : 1);
    *n = fread(p, 1, *n, f);
    fclose(f);
    return p;
}

static void
open_templates(struct hf_folder *folder, const char *dir)
{
    char path[1024];
    struct err err;
    err_init(&err);
    snprintf(path, sizeof path, "%s/additional_chat_templates", dir);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            names_add(&folder->names, e->d_name, strlen(e->d_name), &err);
    if (!d)
        return;
    closedir(d);
    names_sort(&folder->names);
    folder->templates = calloc(folder->names.n + 1, sizeof *folder->templates);
    for (; folder->ntemplates < folder->names.n; folder->ntemplates++) {
        struct hf_text *text = &folder->templates[folder->ntemplates].text;
        text->name = folder->names.name[folder->ntemplates];
        text->p = read_file(path, text->name, &text->n);
    }
}

static void
open_folder(struct hf_folder *folder, const char *dir)
{
    *folder = (struct hf_folder){ 0 };
    for (int i = 0; i < HF_FILES; i++) {
        folder->file[i].name = names[i];
        folder->file[i].p = read_file(dir, names[i], &folder->file[i].n);
    }
    open_templates(folder, dir);
}

static void
close_folder(struct hf_folder *folder)
{
    for (int i = 0; i < HF_FILES; i++)
        free((char *)folder->file[i].p);
    for (size_t i = 0; i < folder->ntemplates; i++)
        free((char *)folder->templates[i].text.p);
    free(folder->templates);
    names_clear(&folder->names);
}

/* Finds the member of config.json that the test needs: the text after "name": */
static const char *
member(const struct hf_text *config, const char *name)
{
    char quoted[64];
    int n = snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = config->p ? memmem(config->p, config->n, quoted, (size_t)n) : NULL;
    return at ? at + n : NULL;
}

struct vocabulary_case {
    const char *class;          /* nclass bytes */
    size_t nclass;
    uint64_t size;
};

static void
read_options(struct vocabulary_case *options, const struct hf_folder *folder)
{
    const char *at = member(&folder->file[HF_CONFIG], "architectures"), *end = folder->file[HF_CONFIG].p
        + folder->file[HF_CONFIG].n;
    const char *quote = at ? memchr(at, '"', (size_t)(end - at)) : NULL;
    const char *close = quote ? memchr(quote + 1, '"', (size_t)(end - quote - 1)) : NULL;
    *options = (struct vocabulary_case){ .class = close ? quote + 1 : "LlamaForCausalLM", .nclass = close
        ? (size_t)(close - quote - 1)
        : strlen("LlamaForCausalLM") };
    at = member(&folder->file[HF_CONFIG], "vocab_size");
    for (; at && at < end && *at == ' '; at++)
        ;
    for (; at && at < end && *at >= '0' && *at <= '9'; at++)
        options->size = options->size * 10 + (uint64_t)(*at - '0');
}

/* Appends "key type value" lines; for text and arrays the value is their length and the start of their SHA-256. */
static void
add_key(struct str *s, const struct meta *m)
{
    char digest[65] = "";
    const struct meta_value *v = &m->value;
    size_t n;
    const void *bytes = meta_bytes(v, &n);
    str_add(s, m->key, m->key_len);
    str_text(s, " ");
    meta_add_type(s, v);
    if (v->type == META_STRING || v->type == META_ARRAY)
        sha256_hex(digest, bytes ? bytes : "", n);
    if (v->type == META_ARRAY)
        str_format(s, " %" PRIu64 " %.16s\n", v->as.a.count, digest);
    else if (v->type == META_STRING)
        str_format(s, " %zu %.16s\n", n, digest);
    else if (v->type == META_BOOL)
        str_format(s, " %s\n", v->as.u ? "true" : "false");
    else
        str_format(s, " %" PRIu64 "\n", v->as.u);
}

/* Converts with the family of the class, or with Llama's for an unknown class. */
static bool
convert_family(struct keys *keys, const struct hf_folder *folder, const struct vocabulary_case *c,
    struct vocabulary_options *options, uint64_t *tokens, struct err *err)
{
    struct family_config config = { 0 };
    struct model_family *family;
    char text[128];
    if (!family_of_class(&family, FAMILY_LANGUAGE, c->class, c->nclass, err) || (!family && !family_builtin(&family, "llama", err)))
        return false;
    snprintf(text, sizeof text, "{\"architectures\":[\"%.*s\"],\"vocab_size\":%" PRIu64 "}", (int)c->nclass, c->class, c->size);
    bool ok = family_config_open(&config, FAMILY_LANGUAGE, &(struct hf_text){ "config.json", text, strlen(text) }, family, err)
        && family_config_files(&config, folder, NULL, err) && hf_model_vocabulary(keys, folder, &config, options, tokens, err);
    family_config_clear(&config);
    return ok;
}

static bool
convert(struct str *out, const struct hf_folder *folder, const struct vocabulary_case *c, struct err *err)
{
    struct keys keys = { 0 };
    uint64_t tokens = 0;
    err_init(err);
    struct vocabulary_options options = { .size = c->size, .pre_name = getenv("AMN_PRE") };
    bool ok = convert_family(&keys, folder, c, &options, &tokens, err);
    for (size_t i = 0; ok && i < keys.n; i++)           /* token_type_count is a number of config.json */
        if (strcmp(keys.list[i].key, "tokenizer.ggml.token_type_count") != 0)
            add_key(out, &keys.list[i]);
    keys_clear(&keys);
    return ok;
}

static void
print(const char *dir)
{
    struct hf_folder folder;
    struct vocabulary_case options;
    struct str out = { 0 };
    struct err err;
    open_folder(&folder, dir);
    read_options(&options, &folder);
    if (convert(&out, &folder, &options, &err))
        printf("= %s\n%s", dir, out.p ? out.p : "");
    else
        printf("= %s\nerror %s: %s\n", dir, err_kind_word(err.kind), err.text);
    str_clear(&out);
    close_folder(&folder);
}

/* --- the corpus: a folder and its keys, "= folder" and then the lines */

static void
check_folder(const char *name, const char *want, size_t n)
{
    char dir[256];
    struct hf_folder folder;
    struct vocabulary_case options;
    struct str out = { 0 };
    struct err err;
    snprintf(dir, sizeof dir, CORPUS "/%s", name);
    open_folder(&folder, dir);
    read_options(&options, &folder);
    bool ok = convert(&out, &folder, &options, &err);
    if (!ok)
        str_format(&out, "error %s: %s\n", err_kind_word(err.kind), err.text);
    if (!CHECK_ROW(out.p && out.len == n && memcmp(out.p, want, n) == 0, name))
        printf("%s:\n%s--- expected:\n%.*s", name, out.p, (int)n, want);
    str_clear(&out);
    close_folder(&folder);
}

/* --- broken files */

static uint32_t
next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* One file of a folder, truncated or with some bytes changed. */
static void
check_broken(const char *name, int rounds)
{
    char dir[256];
    struct hf_folder folder;
    struct vocabulary_case options;
    uint32_t state = 1;
    snprintf(dir, sizeof dir, CORPUS "/%s", name);
    open_folder(&folder, dir);
    read_options(&options, &folder);
    for (int i = 0; i < HF_FILES; i++)
        for (int round = 0; folder.file[i].p && folder.file[i].n != 0 && round < rounds; round++) {
            struct hf_text whole = folder.file[i];
            struct str out = { 0 };
            struct err err;
            size_t n = round % 2 ? whole.n : next_random(&state) % whole.n;
            char *copy = malloc(n != 0 ? n : 1);
            memcpy(copy, whole.p, n);
            for (unsigned k = 0, flips = n == whole.n ? 1 + next_random(&state) % 4 : 0; k < flips; k++)
                copy[next_random(&state) % n] = round % 4 == 1 ? (char)next_random(&state)
                    : "{}[]\",:019-ntf\\ "[next_random(&state) % 16];
            folder.file[i].p = copy;
            folder.file[i].n = n;
            bool ok = convert(&out, &folder, &options, &err);
            CHECK_ROW(ok ? err.kind == ERR_NONE : err.kind == ERR_MALFORMED || err.kind == ERR_UNSUPPORTED
                || err.kind == ERR_LIMIT, err.text);
            folder.file[i] = whole;
            free(copy);
            str_clear(&out);
        }
    close_folder(&folder);
}

static void
check_corpus(int rounds)
{
    size_t n;
    char *all = read_file(CORPUS, "expected.txt", &n);
    if (!CHECK(all != NULL))
        return;
    const char *end = all + n;
    for (const char *p = all; p + 2 < end;) {
        char name[64];
        const char *line = memchr(p, '\n', (size_t)(end - p));
        snprintf(name, sizeof name, "%.*s", (int)(line - p - 2), p + 2);
        const char *next = memmem(line, (size_t)(end - line), "\n= ", 3);
        next = next ? next + 1 : end;
        check_folder(name, line + 1, (size_t)(next - line - 1));
        check_broken(name, rounds);
        p = next;
    }
    free(all);
}

int
main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        print(argv[i]);
    if (argc > 1)
        return 0;
    check_corpus(check_rounds(20, 100));
    return check_done("vocabulary");
}
