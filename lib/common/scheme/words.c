#include "scheme/words.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/pull.h"
#include "base/str.h"
#include "scheme/table.h"

/* --- the places */

enum { PATH = 4 };

/* A member of a quantization block whose value is a word. */
static const struct place {
    enum word_place place;
    const char *path[PATH];     /* keys, outermost first; "*": every key */
    const char *beside;         /* another key that the same object must have, because the name alone is ambiguous; or NULL */
} places[] = {
    { WORD_METHOD, { "quant_method" }, NULL },
    { WORD_FORMAT, { "format" }, NULL },
    { WORD_FORMAT, { "config_groups", "*", "format" }, NULL },                  /* compressed-tensors */
    { WORD_FORMAT, { "checkpoint_format" }, NULL },                             /* GPTQModel, AutoGPTQ */
    { WORD_ALGO, { "quant_algo" }, NULL },                                      /* ModelOpt, TensorRT-LLM */
    { WORD_ALGO, { "quantized_layers", "*", "quant_algo" }, NULL },
    { WORD_PACKING, { "packing_format" }, NULL },                               /* AutoRound */
    { WORD_PACKING, { "packing" }, "quant_algo" },                              /* ModelOpt */
    { WORD_PACKING, { "quantized_layers", "*", "packing" }, "quant_algo" },
    { WORD_DATA_TYPE, { "data_type" }, NULL },
    { WORD_DATA_TYPE, { "extra_config", "*", "data_type" }, NULL },
    { WORD_PACK_METHOD, { "export", "pack_method" }, NULL },                    /* Quark */
    { WORD_PACK_METHOD, { "pack_method" }, NULL },
    { WORD_MODE, { "mode" }, "bits" },                                          /* MLX */
    { WORD_MODE, { "*", "mode" }, "bits" },
    { WORD_SEMANTICS, { "weight_scale_semantics" }, NULL },                     /* GPTQModel's FP8 */
    { WORD_WEIGHTS_DTYPE, { "weights_dtype" }, NULL },                          /* SDNQ */
    { WORD_WEIGHTS_DTYPE, { "modules_quant_config", "*", "weights_dtype" }, NULL },
    { WORD_QUANT_TYPE, { "bnb_4bit_quant_type" }, NULL },                       /* bitsandbytes */
};

/* Words that describe weights of several schemes, or weights that are not quantized. */
static const struct scheme_word_row general[] = {
    { WORD_FORMAT, "dense" }, { WORD_FORMAT, "mixed-precision" }, { WORD_ALGO, "MIXED_PRECISION" }, { WORD_ALGO, "NO_QUANT" },
    { WORD_PACKING, "auto_round:fake" }, { WORD_DATA_TYPE, "float" }, { WORD_DATA_TYPE, "fp" }, { WORD_DATA_TYPE, "fp16" },
    { WORD_DATA_TYPE, "bf16" }, { WORD_DATA_TYPE, "fp32" }, { WORD_DESCRIPTION, "FLOAT" }, { WORD_DESCRIPTION, "W16A16S" },
    { WORD_DESCRIPTION, "C8" }, { WORD_DESCRIPTION, "FAQuant" },
    { 0 },
};

/* What to do about an unknown word in a file. */
static const char hint[] = "ignore the config with --config none, name the scheme with --input-scheme, or ";

/* --- one word */

static bool
is_word(const char *known, const char *word)
{
    return str_same_word(known, word) || (strchr(known, '*') && fnmatch(known, word, FNM_CASEFOLD) == 0);
}

static bool
has_word(const struct scheme_word_row *list, enum word_place place, const char *word)
{
    for (; list && list->text; list++)
        if (list->place == place && is_word(list->text, word))
            return true;
    return false;
}

bool
words_has(const struct scheme *scheme, enum word_place place, const char *word)
{
    return has_word(scheme->words, place, word) || (scheme->knows && scheme->knows(place, word));
}

bool
words_find(enum word_place place, const char *word, const struct scheme **scheme)
{
    const struct scheme *s;
    *scheme = NULL;
    if (has_word(general, place, word))
        return true;
    for (size_t i = 0; (s = table_scheme(i)) != NULL && (!*scheme || !(*scheme)->decode); i++)
        if ((!*scheme || s->decode) && words_has(s, place, word))
            *scheme = s;
    return *scheme != NULL;
}

/* Records a fault, unless one as bad is recorded already. */
static void
judge(struct words *words, enum word_place place, const char *word, const char *where, const char *what)
{
    const struct scheme *scheme;
    char shown[STR_SHOWN];
    bool known = words_find(place, word, &scheme);
    int fault = WORDS_GOOD;
    if (!known)
        fault = WORDS_UNKNOWN;
    else if (scheme && !scheme->decode)
        fault = WORDS_UNDECODED;
    if (fault <= (int)words->fault)
        return;
    str_shown(shown, word, strlen(word));
    words->fault = fault;
    words->scheme = scheme;
    if (known)
        snprintf(words->text, sizeof words->text, "%s: '%s' means %s, which cannot be decoded yet", where, shown, scheme->name);
    else
        snprintf(words->text, sizeof words->text, "%s: unknown %s '%s', so tensors may not be what they look like", where, what,
            shown);
}

/* --- blocks */

/* A walk through a block. */
struct words_walk {
    struct words *words;
    const char *file, *at;
    const char *key[PATH];      /* the path so far */
    const char *last;           /* the last word that was judged, to skip repetitions; borrowed */
    bool engine;                /* algorithms are TensorRT-LLM's */
};

static void
words_look(struct words_walk *walk, const struct place *place, const char *word, size_t depth)
{
    char where[WORDS_TEXT / 2], shown[STR_SHOWN];
    const struct scheme *scheme;
    enum word_place kind = place->place;
    size_t n = 0;
    if (walk->engine && kind == WORD_ALGO && words_find(WORD_ENGINE, word, &scheme))
        kind = WORD_ENGINE;
    if (walk->last && strcmp(walk->last, word) == 0)
        return;
    walk->last = word;
    n += (size_t)snprintf(where, sizeof where, "%s: %s", walk->file, walk->at);
    for (size_t i = 0; i < depth && n < sizeof where; i++)
        n += (size_t)snprintf(where + n, sizeof where - n, "%s%s", i != 0 || *walk->at ? "." : "",
            str_shown(shown, walk->key[i], strlen(walk->key[i])));
    judge(walk->words, kind, word, where, walk->key[depth - 1]);
}

/* Follows the path of a place from depth `depth` on; v is the object there. */
static void
follow(struct words_walk *walk, const struct place *place, size_t depth, const json_t *v)
{
    const char *want = place->path[depth], *key;
    bool last = depth + 1 == PATH || !place->path[depth + 1];
    json_t *child;
    if (strcmp(want, "*") == 0) {
        json_object_foreach((json_t *)v, key, child) {
            walk->key[depth] = key;
            follow(walk, place, depth + 1, child);
        }
        return;
    }
    walk->key[depth] = want;
    child = json_object_get(v, want);
    if (!last)
        follow(walk, place, depth + 1, child);
    else if (json_is_string(child) && (!place->beside || json_object_get(v, place->beside)))
        words_look(walk, place, json_string_value(child), depth + 1);
}

void
words_read_block(struct words *words, const char *file, const char *at, const json_t *block, bool engine)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct words_walk walk = { .words = words, .file = file, .at = at, .engine = engine };
        follow(&walk, &places[i], 0, block);
    }
    words->hint = hint;
}

/* --- description files */

/* Judges the word of one member, if the member describes a tensor, or sums all of them up: then the tensors have other words. */
static void
read_member(struct words *words, const struct catalog *catalog, const char *file, const struct pull_text *name,
    const struct pull_text *value)
{
    char where[WORDS_TEXT / 2], shown[STR_SHOWN], word[SCHEME_DETAIL];
    const struct scheme *ignored;
    if (name->escaped || value->escaped || value->n >= sizeof word
        || (!catalog_find(catalog, name->p, name->n) && !pull_text_is(name, "model_quant_type")))
        return;
    snprintf(where, sizeof where, "%s: %s", file, str_shown(shown, name->p, name->n));
    snprintf(word, sizeof word, "%.*s", (int)value->n, value->p);
    if (pull_text_is(name, "model_quant_type") && words_find(WORD_DESCRIPTION, word, &ignored))
        return;
    words->hint = hint;
    judge(words, WORD_DESCRIPTION, word, where, "word");
}

bool
words_next_member(struct pull *json, struct pull_text *name, struct pull_text *word)
{
    const char *p;
    size_t n;
    if (pull_next(json) != PULL_KEY)
        return false;
    *name = json->token;
    if (!pull_value_text(json, &p, &n))
        return false;
    *word = (struct pull_text){ .p = p + 1, .n = n >= 2 ? n - 2 : 0, .escaped = *p != '"' || memchr(p, '\\', n) };
    return true;
}

bool
words_read_description(struct words *words, const struct catalog *catalog, const struct catalog_config *file,
    struct err *err)
{
    struct pull json;
    struct pull_text name, word;
    char why[PULL_EXPLAIN];
    pull_init(&json, file->text, file->n, 0);
    if (pull_next(&json) == PULL_OBJECT)
        while (words_next_member(&json, &name, &word))
            read_member(words, catalog, file->name, &name, &word);
    return json.fault == PULL_OK || err_at(err, ERR_MALFORMED, pull_fault_at(&json), "%s is not valid JSON: %s", file->name,
        pull_explain(why, &json));
}

/* --- keys of GGUF */

enum { QUANTIZATION_VERSION = 2 };      /* of ggml's blocks, since before there were GGUF files */

/* Returns true if some scheme, or a block type, has this name or word. */
static bool
is_known_anywhere(const char *word)
{
    const struct scheme *ignored;
    bool known = false;
    for (enum word_place p = 1; p < WORD_PLACES && !known; p++)
        known = words_find(p, word, &ignored);
    for (size_t i = 0; !known && scheme_code(i); i++)
        known = scheme_is_called(word, scheme_code(i));
    return known;
}

void
words_read_keys(struct words *words, const struct catalog *catalog)
{
    static const char front[] = "general.", by[] = "general.quantized_by", version[] = "general.quantization_version";
    for (size_t i = 0; i < catalog_meta_count(catalog); i++) {
        const struct meta *m = catalog_meta_at(catalog, i);
        char key[STR_SHOWN], word[STR_SHOWN];
        uint64_t number;
        size_t n;
        if (m->key_len < sizeof front || memcmp(m->key, front, sizeof front - 1) != 0
            || !memmem(m->key, m->key_len, "quant", strlen("quant")))
            continue;
        str_shown(key, m->key, m->key_len);
        if (m->value.type == META_STRING && strcmp(key, by) != 0) {
            const char *p = meta_bytes(&m->value, &n);
            str_shown(word, p, n);
            if (!is_known_anywhere(word) && words->fault < WORDS_UNKNOWN) {
                words->fault = WORDS_UNKNOWN;
                snprintf(words->text, sizeof words->text, "key %s: unknown quantization '%s'", key, word);
            }
        } else if (strcmp(key, version) == 0 && meta_as_u64(&m->value, &number) && number > QUANTIZATION_VERSION
            && words->fault < WORDS_UNKNOWN) {
            words->fault = WORDS_UNKNOWN;
            snprintf(words->text, sizeof words->text, "key %s: unknown version %" PRIu64 " of ggml's blocks", key, number);
        }
    }
}

bool
words_refuse(const struct words *words, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "%s; %suse the unquantized model or another quantization of it",
        words->text, words->fault == WORDS_UNKNOWN ? str_or(words->hint, "") : "");
}
