/* gguf_facts: what the metadata of a GGUF file say about the model, found under its own keys. */
#ifndef REPORT_GGUF_FACTS_H
#define REPORT_GGUF_FACTS_H

#include "catalog/catalog.h"

/* Each value is borrowed from the catalog, of any type, or NULL when the file does not have it. */
struct gguf_facts {
    const struct meta_value *architecture, *name;
    const struct meta_value *context_length, *embedding_length, *block_count, *head_count, *head_count_kv;
    const struct meta_value *tokenizer, *pre_tokenizer;
    bool vocabulary_known;
    uint64_t vocabulary;            /* tokens */
    bool file_type_guessed;         /* from the tensors, for the key is absent */
    const char *file_type;          /* "Q4_K - Medium"; static */
};

/* False when the catalog is not of a GGUF file. */
bool gguf_facts_find(struct gguf_facts *facts, const struct catalog *catalog);

#endif
