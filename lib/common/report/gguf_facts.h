/* gguf_facts: the metadata of a GGUF file that describe the model. */
#ifndef REPORT_GGUF_FACTS_H
#define REPORT_GGUF_FACTS_H

#include "catalog/catalog.h"

/* Values are borrowed from the catalog, have any type, and are NULL if the file does not declare them. */
struct gguf_facts {
    const struct meta_value *architecture, *name;
    const struct meta_value *context_length, *embedding_length, *block_count, *head_count, *head_count_kv;
    const struct meta_value *tokenizer, *pre_tokenizer;
    bool vocabulary_known;
    uint64_t vocabulary;            /* tokens */
    bool file_type_guessed;         /* guessed from the tensors because the key is missing */
    const char *file_type;          /* "Q4_K - Medium"; static */
};

/* Collects the facts. Returns false if the catalog was not read from a GGUF file. */
bool gguf_facts_find(struct gguf_facts *facts, const struct catalog *catalog);

#endif
