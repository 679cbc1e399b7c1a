/* Tokenizers of small model directories as the keys tokenizer.* of GGUF: those of test/corpus/hf against the output of
 * llama.cpp's convert_hf_to_gguf.py (test/peers/make-hf-corpus.py); and broken copies of their files, which must yield keys
 * or an error that names the file.
 *
 * With directories as arguments: print the keys of each, for comparisons elsewhere. --kind WORD, --pre NAME SPLIT, --special
 * ROLE TEXT, --class NAME and --size N before a directory say what a family file would.
 */
#include "check.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hf/model.h"
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

/* What the family files of classes without struct hf_family say about the tokenizer. */
static const struct vocabulary_family {
    const char *class, *kinds[2];
    struct family_pre pre;
    struct family_special special[5];
    bool no_space_prefix;       /* a key that the family adds at the end */
} families[] = {
    { "BertModel", { "wordpiece" }, { "bert-bge", "*" }, { { NULL, NULL } }, false },
    { "DeepseekV3ForCausalLM", { "bpe", "tiktoken" }, { "deepseek-v3", "deepseek-v3" }, { { NULL, NULL } }, false },
    { "Gemma4ForCausalLM", { "gemma4" }, { NULL, NULL }, { { NULL, NULL } }, true },
    { "Glm4MoeForCausalLM", { "bpe" }, { "glm4", "llama3" },
        { { "bos", "[gMASK]" }, { "eot", "<|user|>" }, { "unk", "<|endoftext|>" }, { "eom", "<|observation|>" } }, false },
    { "GraniteForCausalLM", { "bpe" }, { "refact", "digits" }, { { NULL, NULL } }, false },
    { "HunYuanDenseV1ForCausalLM", { "bpe" }, { NULL, NULL }, { { NULL, NULL } }, false },
};

struct vocabulary_case {
    const struct hf_family *family;
    const struct vocabulary_family *other;      /* or NULL */
    uint64_t size;
};

static void
read_options(struct vocabulary_case *options, const struct hf_folder *folder)
{
    const char *at = member(&folder->file[HF_CONFIG], "architectures"), *end = folder->file[HF_CONFIG].p
        + folder->file[HF_CONFIG].n;
    const char *quote = at ? memchr(at, '"', (size_t)(end - at)) : NULL;
    const char *close = quote ? memchr(quote + 1, '"', (size_t)(end - quote - 1)) : NULL;
    *options = (struct vocabulary_case){ .family = hf_family_at(0) };
    if (close && hf_family_find(quote + 1, (size_t)(close - quote - 1)))
        options->family = hf_family_find(quote + 1, (size_t)(close - quote - 1));
    for (size_t i = 0; close && i < sizeof families / sizeof *families; i++)
        if (strncmp(families[i].class, quote + 1, (size_t)(close - quote - 1)) == 0)
            options->other = &families[i];
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

static bool
convert(struct str *out, const struct hf_folder *folder, const struct vocabulary_case *c, struct err *err)
{
    struct keys keys = { 0 };
    uint64_t tokens = 0;
    err_init(err);
    struct hf_vocabulary_options options = { .size = c->size, .pre_name = getenv("AMN_PRE") };
    const struct vocabulary_family *f = c->other;
    if (f) {
        options = (struct hf_vocabulary_options){ .class = f->class, .kinds = f->kinds, .nkinds = 1, .size = c->size,
            .pre = &f->pre, .npre = f->pre.name != NULL, .special = f->special };
        options.nkinds += f->kinds[1] != NULL;
        while (f->special[options.nspecial].role)
            options.nspecial++;
    }
    bool ok = f ? hf_vocabulary_keys(&keys, folder, &options, &tokens, err)
        && (!f->no_space_prefix || keys_put_bool(&keys, "tokenizer.ggml", "add_space_prefix", false, err))
        : hf_model_vocabulary(&keys, folder, c->family, &options, &tokens, err);
    for (size_t i = 0; ok && i < keys.n; i++)
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

/* --- a family on the command line */

enum { ROWS = 16 };

/* Takes an option and returns the number of its arguments; 0: not an option. */
static int
take(struct hf_vocabulary_options *o, const char **kinds, struct family_pre *pre, struct family_special *special, char **argv)
{
    if (strcmp(argv[0], "--kind") == 0)
        kinds[o->nkinds++ % ROWS] = argv[1];
    else if (strcmp(argv[0], "--class") == 0)
        o->class = argv[1];
    else if (strcmp(argv[0], "--size") == 0)
        o->size = strtoull(argv[1], NULL, 10);
    else if (strcmp(argv[0], "--pre") == 0)
        pre[o->npre++ % ROWS] = (struct family_pre){ argv[1], argv[2] };
    else if (strcmp(argv[0], "--special") == 0)
        special[o->nspecial++ % ROWS] = (struct family_special){ argv[1], argv[2] };
    else
        return 0;
    return strcmp(argv[0], "--pre") == 0 || strcmp(argv[0], "--special") == 0 ? 2 : 1;
}

static void
print_as(int argc, char **argv)
{
    const char *kinds[ROWS];
    struct family_pre pre[ROWS];
    struct family_special special[ROWS];
    struct hf_vocabulary_options options = { .class = "model", .kinds = kinds, .pre = pre, .special = special };
    struct hf_folder folder;
    struct keys keys = { 0 };
    struct str out = { 0 };
    struct err err;
    uint64_t tokens;
    int i = 1, n;
    for (; i < argc && (n = take(&options, kinds, pre, special, argv + i)) != 0; i += n + 1)
        ;
    open_folder(&folder, argv[i]);
    err_init(&err);
    bool ok = hf_vocabulary_keys(&keys, &folder, &options, &tokens, &err);
    for (size_t k = 0; ok && k < keys.n; k++)
        add_key(&out, &keys.list[k]);
    if (ok)
        printf("%stokens %" PRIu64 "\n", out.p ? out.p : "", tokens);
    else
        printf("error %s: %s\n", err_kind_word(err.kind), err.text);
    keys_clear(&keys);
    str_clear(&out);
    close_folder(&folder);
}

int
main(int argc, char **argv)
{
    if (argc > 2 && strncmp(argv[1], "--", 2) == 0) {
        print_as(argc, argv);
        return 0;
    }
    for (int i = 1; i < argc; i++)
        print(argv[i]);
    if (argc > 1)
        return 0;
    check_corpus(check_rounds(20, 100));
    return check_done("vocabulary");
}
