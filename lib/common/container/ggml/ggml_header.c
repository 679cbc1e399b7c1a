/* ggml_header: what precedes the tensors of a model of whisper.cpp.
 *
 *      Whisper   | 11 x i32 | mel filters | vocabulary |
 *      Parakeet  | 15 x i32, or 14 without n_conv_kernel | mel filters | window | durations | vocabulary |
 *      Silero    | length i32, "silero-16k" | 3 x i32 | window, context, n_layers i32 | n_layers x 3 x i32 | 4 x i32 |
 *
 *      mel filters   n_mel i32 | n_fft i32 | n_mel x n_fft x F32
 *      window        n i32 | n x F32
 *      durations     n_tdt_durations x u32
 *      vocabulary    n i32 | n x (length i32, bytes)
 *
 * Nothing but the structure tells Whisper from Parakeet: the filters repeat n_mels.
 */
#include "container/ggml/ggml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"

enum {
    MAGIC = 4, WORD = 4,
    FILTERS_MOST = 1 << 22,     /* elements */
    MELS_MOST = 4096, BINS_MOST = 1 << 20,
    LAYERS_MOST = 64
};

/* A header that begins with integers. */
struct ggml_layout {
    const char *model;
    const char *const *words;   /* nwords of them */
    size_t nwords;
    size_t mels;                /* position of n_mels */
    size_t durations;           /* position of n_tdt_durations, or 0: no window and no durations */
};

#define WORDS(list) .words = list, .nwords = sizeof list / sizeof *list

static const char *const whisper_words[] = { "n_vocab", "n_audio_ctx", "n_audio_state", "n_audio_head", "n_audio_layer", "n_text_ctx",
    "n_text_state", "n_text_head", "n_text_layer", "n_mels", "ftype" };
static const char *const parakeet_words[] = { "n_vocab", "n_audio_ctx", "n_audio_state", "n_audio_head", "n_audio_layer", "n_mels",
    "ftype", "n_fft", "subsampling_factor", "n_subsampling_channels", "n_conv_kernel", "n_pred_dim", "n_pred_layers",
    "n_tdt_durations", "n_max_tokens" };
static const char *const older_parakeet_words[] = { "n_vocab", "n_audio_ctx", "n_audio_state", "n_audio_head", "n_audio_layer", "n_mels",
    "ftype", "n_fft", "subsampling_factor", "n_subsampling_channels", "n_pred_dim", "n_pred_layers", "n_tdt_durations",
    "n_max_tokens" };

static const struct ggml_layout layouts[] = {
    { .model = "whisper", WORDS(whisper_words), .mels = 9 },
    { .model = "parakeet", WORDS(parakeet_words), .mels = 5, .durations = 13 },
    { .model = "parakeet", WORDS(older_parakeet_words), .mels = 5, .durations = 12 },
};

static const char silero[] = "silero-16k";

static bool
is_silero(const uint8_t *head, size_t n)
{
    size_t length = sizeof silero - 1;
    return n >= MAGIC + WORD + length && load_le32(head + MAGIC) == length && memcmp(head + MAGIC + WORD, silero, length) == 0;
}

/* Returns the layout whose filters have n_mels rows, or NULL. */
static const struct ggml_layout *
find_layout(const uint8_t *head, size_t n)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const struct ggml_layout *l = &layouts[i];
        size_t filters = MAGIC + WORD * l->nwords;
        if (n < filters + 2 * WORD)
            continue;
        uint32_t mels = load_le32(head + MAGIC + WORD * l->mels), bins = load_le32(head + filters + WORD);
        if (mels != 0 && mels <= MELS_MOST && mels == load_le32(head + filters) && bins != 0 && bins <= BINS_MOST)
            return l;
    }
    return NULL;
}

bool
ggml_probe(const uint8_t *head, size_t n, uint64_t size)
{
    (void)size;
    return n >= MAGIC && memcmp(head, "lmgg", MAGIC) == 0 && (is_silero(head, n) || find_layout(head, n));
}

static bool
add_key(struct ggml *g, const char *model, const char *word, const struct meta_value *value, struct err *err)
{
    char key[64];
    uint32_t again;
    int n = snprintf(key, sizeof key, "%s.%s", model, word);
    const struct meta m = { .key = key, .key_len = (uint32_t)n, .file = g->file, .value = *value };
    return catalog_add_meta(g->catalog, &m, &again, err);
}

static bool
add_word(struct ggml *g, const char *model, const char *word, uint32_t *n, struct err *err)
{
    if (!ggml_count(g, n, word, err))
        return false;
    return add_key(g, model, word, &(struct meta_value){ .type = META_U32, .as.u = *n }, err);
}

static bool
add_model(struct ggml *g, const char *model, struct err *err)
{
    return add_key(g, "ggml", "model", &(struct meta_value){ .type = META_STRING, .as.s = { model, strlen(model) } }, err);
}

/* Adds an array of n numbers of 4 bytes. */
static bool
add_numbers(struct ggml *g, const char *model, const char *word, enum meta_type type, uint64_t n, struct err *err)
{
    uint64_t nbytes = n * WORD;
    if (n > FILTERS_MOST || nbytes > g->size - g->at)
        return err_at(err, ERR_MALFORMED, g->at, "%s: %" PRIu64 " numbers, but only %" PRIu64 " bytes follow: the file is truncated or "
            "damaged", word, n, g->size - g->at);
    if (!budget_bytes(catalog_budget(g->catalog), nbytes, "header bytes", err))
        return false;
    uint8_t *p = malloc((size_t)nbytes + 1);
    if (!p)
        return err_memory(err, nbytes + 1);
    const struct meta_value value = { .type = META_ARRAY, .as.a = { .type = type, .count = n, .p = p, .nbytes = nbytes } };
    bool ok = source_read(g->src, g->at, p, (size_t)nbytes, err) && add_key(g, model, word, &value, err);
    g->at += nbytes;
    free(p);
    return ok;
}

static bool
read_filters(struct ggml *g, const char *model, struct err *err)
{
    uint32_t mels, bins;
    uint64_t n;
    if (!ggml_count(g, &mels, "n_mel", err) || !add_word(g, model, "n_filter_bins", &bins, err))
        return false;
    num_mul(&n, mels, bins);    /* cannot overflow: both have 31 bits */
    return add_numbers(g, model, "mel_filters", META_F32, n, err);
}

/* The tokens of a vocabulary, as a value of GGUF. */
struct ggml_tokens {
    uint8_t *p;                 /* owned */
    size_t n, room;
};

static bool
add_token(struct ggml *g, struct ggml_tokens *t, struct err *err)
{
    enum { LENGTH = 8 };
    uint32_t n;
    if (!ggml_count(g, &n, "length of a token", err))
        return false;
    if (n > g->size - g->at || n > META_KEY_MAX)
        return err_at(err, ERR_MALFORMED, g->at - WORD, "token of %" PRIu32 " bytes, but %" PRIu64 " bytes follow, and a token has at most "
            "%d", n, g->size - g->at, META_KEY_MAX);
    if (t->room - t->n < LENGTH + (size_t)n) {
        size_t room = 2 * t->room + LENGTH + n;
        uint8_t *p = NULL;
        if (budget_bytes(catalog_budget(g->catalog), room - t->room, "header bytes", err) && !(p = realloc(t->p, room)))
            err_memory(err, room);
        if (!p)
            return false;
        t->p = p;
        t->room = room;
    }
    store_le64(t->p + t->n, n);
    t->n += LENGTH;
    while (n != 0) {
        size_t step = (size_t)num_min(n, GGML_WINDOW);
        const uint8_t *p = ggml_take(g, step, "a token", err);
        if (!p)
            return false;
        memcpy(t->p + t->n, p, step);
        t->n += step;
        n -= (uint32_t)step;
    }
    return true;
}

static bool
read_vocabulary(struct ggml *g, const char *model, struct err *err)
{
    struct ggml_tokens t = { 0 };
    uint32_t n = 0;
    bool ok = ggml_count(g, &n, "number of tokens", err);
    if (ok && (n > META_ARRAY_MAX || n > (g->size - g->at) / WORD))
        ok = err_at(err, ERR_MALFORMED, g->at - WORD, "%" PRIu32 " tokens, but only %" PRIu64 " bytes follow: the file is truncated or "
            "damaged", n, g->size - g->at);
    ok = ok && budget_items(catalog_budget(g->catalog), n, "tokens", err);
    for (uint32_t i = 0; ok && i < n; i++)
        ok = add_token(g, &t, err);
    const struct meta_value value = { .type = META_ARRAY, .as.a = { .type = META_STRING, .count = n, .p = t.p, .nbytes = t.n } };
    ok = ok && add_key(g, model, "tokens", &value, err);
    free(t.p);
    return ok;
}

static bool
read_words(struct ggml *g, const struct ggml_layout *l, struct err *err)
{
    uint32_t word[GGML_WORDS];
    bool ok = add_model(g, l->model, err);
    for (size_t i = 0; ok && i < l->nwords; i++)
        ok = add_word(g, l->model, l->words[i], &word[i], err);
    ok = ok && read_filters(g, l->model, err);
    if (ok && l->durations != 0) {
        uint32_t n;
        ok = ggml_count(g, &n, "length of the window", err) && add_numbers(g, l->model, "window", META_F32, n, err)
            && add_numbers(g, l->model, "tdt_durations", META_U32, word[l->durations], err);
    }
    return ok && read_vocabulary(g, l->model, err);
}

static bool
read_silero(struct ggml *g, struct err *err)
{
    static const char *const before[] = { "version_major", "version_minor", "version_patch", "n_window", "n_context" };
    static const char *const layer[] = { "in", "out", "kernel" };
    static const char *const after[] = { "lstm_input", "lstm_hidden", "final_conv_in", "final_conv_out" };
    uint32_t layers, n;
    bool ok = add_model(g, "silero", err) && ggml_take(g, WORD + sizeof silero - 1, "the name of the model", err);
    for (size_t i = 0; ok && i < sizeof before / sizeof *before; i++)
        ok = add_word(g, "silero", before[i], &n, err);
    if (!ok || !add_word(g, "silero", "n_encoder_layers", &layers, err))
        return false;
    if (layers > LAYERS_MOST)
        return err_at(err, ERR_MALFORMED, g->at - WORD, "%" PRIu32 " layers, expected at most %d", layers, LAYERS_MOST);
    for (uint32_t i = 0; ok && i < layers * 3; i++) {
        char word[32];
        snprintf(word, sizeof word, "encoder.%" PRIu32 ".%s", i / 3, layer[i % 3]);
        ok = add_word(g, "silero", word, &n, err);
    }
    for (size_t i = 0; ok && i < sizeof after / sizeof *after; i++)
        ok = add_word(g, "silero", after[i], &n, err);
    return ok;
}

bool
ggml_read_header(struct ggml *g, const uint8_t *head, size_t n, struct err *err)
{
    g->at = MAGIC;
    if (is_silero(head, n))
        return read_silero(g, err);
    const struct ggml_layout *l = find_layout(head, n);
    if (!l)
        return err_at(err, ERR_MALFORMED, 0, "not a model of whisper.cpp");
    return read_words(g, l, err);
}
