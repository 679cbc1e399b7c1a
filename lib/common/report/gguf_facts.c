#include "report/gguf_facts.h"

#include <stdio.h>
#include <string.h>


enum { KEY_ROOM = 256 };

static const struct meta_value *
gguf_facts_value_of(const struct catalog *catalog, const char *key)
{
    const struct meta *meta = catalog_meta_find(catalog, key);
    if (meta)
        return &meta->value;
    return NULL;
}

/* Returns the value of "ARCHITECTURE.what", or NULL. An architecture that is not a short plain text has no such keys. */
static const struct meta_value *
value_of_arch(const struct catalog *catalog, const struct meta_value *arch, const char *what)
{
    char key[KEY_ROOM];
    if (!arch || arch->type != META_STRING || memchr(arch->as.s.p, '\0', arch->as.s.n))
        return NULL;
    if (arch->as.s.n + 1 + strlen(what) >= sizeof key)
        return NULL;
    snprintf(key, sizeof key, "%.*s.%s", (int)arch->as.s.n, arch->as.s.p, what);
    return gguf_facts_value_of(catalog, key);
}

/* Returns the most frequent tensor type, the first one to reach the maximum, as llama.cpp counts; F32 for a file
 * without tensors. */
static enum dtype
commonest_dtype(const struct catalog *catalog)
{
    size_t count[DTYPE_COUNT] = { 0 };
    enum dtype most = DTYPE_F32;
    size_t max = 0;
    for (size_t i = 0; i < catalog_count(catalog); i++) {
        enum dtype dtype = catalog_at(catalog, i)->dtype;
        if (++count[dtype] > max) {
            max = count[dtype];
            most = dtype;
        }
    }
    return most;
}

/* Returns true if file type 4, which is Q4_1 in llama.cpp, was written by Ollama, where it is MXFP4. */
static bool
is_mxfp4_of_ollama(const struct catalog *catalog, uint64_t id)
{
    bool mxfp4 = false, q4_1 = false;
    for (size_t i = 0; i < catalog_count(catalog); i++) {
        mxfp4 = mxfp4 || catalog_at(catalog, i)->dtype == DTYPE_MXFP4;
        q4_1 = q4_1 || catalog_at(catalog, i)->dtype == DTYPE_Q4_1;
    }
    return id == 4 && mxfp4 && !q4_1;
}

static void
find_file_type(struct gguf_facts *facts, const struct catalog *catalog)
{
    const struct meta_value *value = gguf_facts_value_of(catalog, "general.file_type");
    uint64_t id;
    facts->file_type_guessed = !(value && meta_as_u64(value, &id));
    if (facts->file_type_guessed)
        facts->file_type = gguf_names_guess(commonest_dtype(catalog));
    else if (is_mxfp4_of_ollama(catalog, id))
        facts->file_type = gguf_names_guess(DTYPE_MXFP4);
    else
        facts->file_type = gguf_names_file_type(id);
}

static void
find_vocabulary(struct gguf_facts *facts, const struct catalog *catalog)
{
    const struct meta_value *tokens = gguf_facts_value_of(catalog, "tokenizer.ggml.tokens");
    const struct meta_value *size = value_of_arch(catalog, facts->architecture, "vocab_size");
    if (tokens && tokens->type == META_ARRAY) {
        facts->vocabulary = tokens->as.a.count;
        facts->vocabulary_known = true;
    } else {
        facts->vocabulary_known = size && meta_as_u64(size, &facts->vocabulary);
    }
}

bool
gguf_facts_find(struct gguf_facts *facts, const struct catalog *catalog)
{
    *facts = (struct gguf_facts){ 0 };
    if (strcmp(catalog_facts_of(catalog)->format, "GGUF") != 0)
        return false;
    const struct meta_value *arch = gguf_facts_value_of(catalog, "general.architecture");
    facts->architecture = arch;
    facts->name = gguf_facts_value_of(catalog, "general.name");
    facts->context_length = value_of_arch(catalog, arch, "context_length");
    facts->embedding_length = value_of_arch(catalog, arch, "embedding_length");
    facts->block_count = value_of_arch(catalog, arch, "block_count");
    facts->head_count = value_of_arch(catalog, arch, "attention.head_count");
    facts->head_count_kv = value_of_arch(catalog, arch, "attention.head_count_kv");
    facts->tokenizer = gguf_facts_value_of(catalog, "tokenizer.ggml.model");
    facts->pre_tokenizer = gguf_facts_value_of(catalog, "tokenizer.ggml.pre");
    find_vocabulary(facts, catalog);
    find_file_type(facts, catalog);
    return true;
}

/* --- towers */

static const struct meta_value *
value_of_tower(const struct catalog *catalog, const char *kind, const char *what)
{
    char key[KEY_ROOM];
    snprintf(key, sizeof key, "clip.%s.%s", kind, what);
    return gguf_facts_value_of(catalog, key);
}

bool
gguf_facts_tower(struct tower_facts *facts, const struct catalog *catalog, size_t i)
{
    static const char *const kinds[] = { "vision", "audio" };
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && (!value_of_tower(catalog, kinds[k], "block_count") || i-- != 0))
        k++;
    if (k == sizeof kinds / sizeof *kinds)
        return false;
    *facts = (struct tower_facts){ .kind = kinds[k], .projector = value_of_tower(catalog, kinds[k], "projector_type"),
        .layers = value_of_tower(catalog, kinds[k], "block_count"), .width = value_of_tower(catalog, kinds[k], "embedding_length"),
        .heads = value_of_tower(catalog, kinds[k], "attention.head_count"), .picture = value_of_tower(catalog, kinds[k], "image_size"),
        .patch = value_of_tower(catalog, kinds[k], "patch_size"), .mels = value_of_tower(catalog, kinds[k], "num_mel_bins"),
        .text_width = value_of_tower(catalog, kinds[k], "projection_dim") };
    if (!facts->projector)
        facts->projector = gguf_facts_value_of(catalog, "clip.projector_type");
    return true;
}
