/* family/config: keys and factors against the output of llama.cpp's converter for the configs of test/corpus/hf-configs.json
 * (test/peers/make-hf-configs.py), and broken texts. usage: test_hf_config [FILE] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/tree.h"
#include "check.h"
#include "family/config.h"
#include "sha256.h"

enum { FILE_TYPE = 32, MUTATIONS = 40 };

static char *
slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *p = NULL;
    *n = 0;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        long size = ftell(f);
        rewind(f);
        p = size > 0 ? malloc((size_t)size) : NULL;
        *n = p ? fread(p, 1, (size_t)size, f) : 0;
    }
    if (f)
        fclose(f);
    return p;
}

static void
add_hex(struct str *s, const void *of, size_t n)
{
    const uint8_t *p = of;
    for (size_t i = 0; i < n; i++)
        str_format(s, "%02x", p[i]);
}

/* Appends "NAME TYPE HEX" for a key. */
static void
show(struct str *s, const struct meta *m)
{
    uint32_t n = (uint32_t)m->value.as.u;
    float x = (float)m->value.as.f;
    str_add(s, m->key, m->key_len);
    str_format(s, " %s ", meta_type_name(m->value.type));
    switch (m->value.type) {
    case META_U32:
        add_hex(s, &n, 4);
        break;
    case META_I32:
        n = (uint32_t)(int32_t)m->value.as.i;
        add_hex(s, &n, 4);
        break;
    case META_F32:
        add_hex(s, &x, 4);
        break;
    case META_BOOL:
        add_hex(s, &(uint8_t){ (uint8_t)n }, 1);
        break;
    default:
        add_hex(s, m->value.as.s.p, m->value.as.s.n);
    }
}

/* Appends "NAME N HEX"; for many factors HEX is their SHA-256. */
static void
show_factors(struct str *s, const struct family_made *f)
{
    char digest[65];
    str_format(s, "%s %zu ", f->name, f->n);
    if (f->n * sizeof *f->x < 32)
        add_hex(s, f->x, f->n * sizeof *f->x);
    else
        str_text(s, (sha256_hex(digest, f->x, f->n * sizeof *f->x), digest));
}

/* Reads the text of a file and appends a NUL. The caller frees it. The text shared by most configs is written as one '$'. */
static struct hf_text
text_of(const char *name, const json_t *s, const json_t *common)
{
    struct str text = { 0 };
    for (const char *p = json_string_value(s); p && *p != '\0'; p++)
        str_add(&text, *p == '$' ? json_string_value(common) : p, *p == '$' ? json_string_length(common) : 1);
    return (struct hf_text){ name, text.p, text.len };
}

static void
folder_of(struct hf_folder *folder, const json_t *row, const json_t *common)
{
    *folder = (struct hf_folder){ 0 };
    folder->file[HF_CONFIG] = text_of("config.json", json_object_get(row, "config"), common);
    folder->file[HF_GENERATION] = text_of("generation_config.json", json_object_get(row, "generation"), common);
}

static void
folder_free(struct hf_folder *folder)
{
    free((char *)folder->file[HF_CONFIG].p);
    free((char *)folder->file[HF_GENERATION].p);
}

/* Reads a whole case: the class, the config, its keys. */
static bool
convert(struct family_config *config, struct keys *keys, const struct hf_folder *folder, struct err *err)
{
    *config = (struct family_config){ 0 };
    *keys = (struct keys){ .max = limits_default.alloc };
    err_init(err);
    if (!family_config_open(config, FAMILY_LANGUAGE, &folder->file[HF_CONFIG], NULL, err))
        return false;
    config->scope.file_type = FILE_TYPE;
    return (config->family || err_set(err, ERR_MALFORMED, "no architectures"))
        && family_config_read(config, folder, NULL, err) && family_config_refuse(config, err)
        && family_config_keys(keys, config, err);
}

static bool
same_line(const struct str *got, const json_t *expected)
{
    return expected && json_string_length(expected) == got->len && memcmp(json_string_value(expected), got->p, got->len) == 0;
}

/* Returns line i of those expected, or NULL. */
static const json_t *
line_at(const json_t *all, const json_t *expected, size_t i)
{
    return json_array_get(all, (size_t)json_integer_value(json_array_get(expected, i)));
}

static bool
same_keys(const struct keys *keys, const json_t *expected, const json_t *all)
{
    static const char attn[] = "phi3.rope.scaling.attn_factor";
    bool ok = keys->n == json_array_size(expected);
    size_t first = 0;
    for (size_t i = 0; i < keys->n; i++) {
        struct str line = { 0 };
        /* This key stands before general.type in the reference. */
        bool early = keys->list[i].key_len == strlen(attn) && memcmp(keys->list[i].key, attn, strlen(attn)) == 0;
        const json_t *second = line_at(all, expected, 1);
        first += first == 1 && second && strncmp(json_string_value(second), attn, strlen(attn)) == 0;
        const json_t *want = early ? second : line_at(all, expected, first++);
        show(&line, &keys->list[i]);
        if (!same_line(&line, want) && ok)
            printf("found %s, expected %s\n", line.p, i < json_array_size(expected) ? json_string_value(want) : "no more");
        ok = ok && same_line(&line, want);
        str_clear(&line);
    }
    return ok;
}

static bool
same_factors(struct family_config *config, const json_t *expected, struct err *err)
{
    const struct model_family *family = config->family;
    static struct family_made made;
    bool ok = true;
    size_t n = 0;
    for (size_t i = 0; ok && i < family->makes.n; i++) {
        struct str line = { 0 };
        bool applies;
        ok = expr_true(&applies, family->makes.at[i].when, &config->scope, 0, err)
            && (!applies || family_make(&made, config, &family->makes.at[i], err));
        if (!ok || !applies)
            continue;
        show_factors(&line, &made);
        if (!same_line(&line, json_array_get(expected, n)))
            printf("found %s\n", line.p);
        ok = same_line(&line, json_array_get(expected, n++));
        str_clear(&line);
    }
    return ok && n == json_array_size(expected);
}

static bool
is_refusal(const struct err *err)
{
    return (err->kind == ERR_MALFORMED || err->kind == ERR_UNSUPPORTED) && err->text[0] != '\0';
}

/* Files that amn reads otherwise than the reference, on purpose: a class of text with a text_config, from which the reference
 * takes everything except RoPE; a null rope_type, at which the reference stops; Gemma 3 of two layers, whose parameters for
 * full layers the reference does not check. */
static bool
is_otherwise(const char *text)
{
    return (strstr(text, "ForCausalLM") && strstr(text, "\"text_config\":{\"hidden_size\":64")) || strstr(text,
        "\"rope_type\":null")
        || (strstr(text, "Gemma3") && strstr(text, "\"rope_scaling\":{\"rope_type\":\"yarn\"") && strstr(text, "layers\":2"));
}

static void
test_case(const json_t *row, const json_t *all, const json_t *common)
{
    struct hf_folder folder;
    struct family_config config;
    struct keys keys;
    struct err err;
    folder_of(&folder, row, common);
    const char *refused = json_string_value(json_object_get(row, "refused"));
    bool fails = json_is_true(json_object_get(row, "error")), may = refused && strcmp(refused, "maybe") == 0;
    bool ok = convert(&config, &keys, &folder, &err)
        && (!refused || strcmp(refused, "needed") != 0 || family_config_check_keys(&keys, &config, &err));
    if (is_otherwise(folder.file[HF_CONFIG].p))
        CHECK_ROW(ok || is_refusal(&err), folder.file[HF_CONFIG].p);
    else if (!ok)
        CHECK_ROW(is_refusal(&err) && (fails || refused), folder.file[HF_CONFIG].p);
    else
        CHECK_ROW(!fails && (!refused || may) && same_keys(&keys, json_object_get(row, "keys"), all)
            && same_factors(&config, json_object_get(row, "tensors"), &err), folder.file[HF_CONFIG].p);
    if (!ok && !fails && !refused)
        printf("fails: %s\n", err.text);
    keys_clear(&keys);
    family_config_clear(&config);
    folder_free(&folder);
}

/* Truncated or changed texts: an error or a result, but no crash. */
static void
test_broken(const json_t *row, const json_t *common, uint32_t *seed)
{
    struct hf_folder folder;
    struct family_config config;
    struct keys keys;
    struct err err;
    static const char bytes[] = "0129{}[],:\"-.eE nulltruefalse\x80";
    folder_of(&folder, row, common);
    struct hf_text *text = &folder.file[folder.file[HF_GENERATION].n != 0 ? HF_GENERATION : HF_CONFIG];
    char *copy = malloc(text->n);
    bool ok = copy != NULL;
    const char *whole = text->p;
    size_t n = text->n;
    for (unsigned k = 0; ok && k < MUTATIONS; k++) {
        memcpy(copy, whole, n);
        for (unsigned j = 0; j <= k % 3; j++) {
            *seed = *seed * 1664525 + 1013904223;
            copy[(*seed >> 8) % n] = bytes[(*seed >> 3) % (sizeof bytes - 1)];
        }
        text->p = copy;
        text->n = k % 8 == 7 ? (*seed >> 8) % n : n;
        ok = convert(&config, &keys, &folder, &err) || is_refusal(&err);
        keys_clear(&keys);
        family_config_clear(&config);
    }
    CHECK_ROW(ok, whole);
    text->p = whole;
    folder_free(&folder);
    free(copy);
}

/* Each message names the member and the class. */
static void
test_messages(void)
{
    static const struct { const char *config, *says; enum err_kind kind; } rows[] = {
        { "{\"architectures\":[\"NoSuchForCausalLM\"]}", "NoSuchForCausalLM", ERR_UNSUPPORTED },
        { "{\"architectures\":[1]}", "architectures", ERR_MALFORMED },
        { "[]", "config.json", ERR_MALFORMED },
        { "{\"architectures\":[\"LlamaForCausalLM\"]}", "config.json: vocab_size is missing", ERR_MALFORMED },
        { "{\"architectures\":[\"LlamaForCausalLM\"],\"vocab_size\":8,\"hidden_size\":4,\"num_hidden_layers\":1,"
            "\"num_attention_heads\":0,\"intermediate_size\":4}", "config.json: num_attention_heads is 0", ERR_MALFORMED },
        { "{\"architectures\":[\"LlamaForCausalLM\"],\"vocab_size\":8,\"hidden_size\":4,\"num_hidden_layers\":1,"
            "\"num_attention_heads\":3,\"intermediate_size\":4}", "hidden_size 4 is not a multiple", ERR_MALFORMED },
        { "{\"architectures\":[\"LlamaForCausalLM\"],\"vocab_size\":8,\"hidden_size\":4,\"num_hidden_layers\":1,"
            "\"num_attention_heads\":2,\"intermediate_size\":4,\"rope_scaling\":{\"type\":\"spiral\"}}", "rope_type 'spiral'",
            ERR_UNSUPPORTED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hf_folder folder = { .file[HF_CONFIG] = { "config.json", rows[i].config, strlen(rows[i].config) } };
        struct family_config config;
        struct keys keys;
        struct err err;
        CHECK_ROW(!convert(&config, &keys, &folder, &err) && err.kind == rows[i].kind && strstr(err.text, rows[i].says),
            err.text);
        keys_clear(&keys);
        family_config_clear(&config);
    }
}

int
main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "test/corpus/hf-configs.json";
    size_t n;
    uint32_t seed = 1;
    char *text = slurp(path, &n);
    json_t *root = NULL;
    struct err err;
    err_init(&err);
    if (text)
        tree_read(&root, text, n, path, &err);
    const json_t *rows = json_object_get(root, "cases"), *all = json_object_get(root, "keys");
    const json_t *common = json_object_get(root, "common");
    if (CHECK_ROW(json_array_size(rows) != 0, path)) {
        for (size_t i = 0; i < json_array_size(rows); i++)
            test_case(json_array_get(rows, i), all, common);
        for (size_t i = 0; i < json_array_size(rows); i++)
            test_broken(json_array_get(rows, i), common, &seed);
    }
    json_decref(root);
    free(text);
    test_messages();
    return check_done("hf_config");
}
