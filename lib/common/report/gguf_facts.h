/* gguf_facts: the metadata of a GGUF file that describe the model. */
#ifndef REPORT_GGUF_FACTS_H
#define REPORT_GGUF_FACTS_H

#include <stdint.h>

#include "catalog/catalog.h"
#include "dtype/dtype.h"

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

/* What the towers of a model see and hear: of a file that llama.cpp loads beside a model. NULL as above. */
struct tower_facts {
    const char *kind;               /* "vision" or "audio" */
    const struct meta_value *projector;     /* "qwen2.5vl_merger" ... */
    const struct meta_value *layers, *width, *heads;
    const struct meta_value *picture, *patch;       /* of vision: edges in pixels */
    const struct meta_value *mels;          /* of audio: bands of the mel spectrum */
    const struct meta_value *text_width;    /* embedding length of the text model that it belongs to */
};

/* Collects the facts of tower i. Returns false after the last one, and for files without towers. */
bool gguf_facts_tower(struct tower_facts *facts, const struct catalog *catalog, size_t i);

/* --- gguf_names.c */

/* Returns a static name such as "Q4_K - Medium"; "unknown, may not work" for an unknown id. */
const char *gguf_names_file_type(uint64_t id);

/* Returns llama.cpp's static name for a file without the key whose most frequent tensor type is this one. */
const char *gguf_names_guess(enum dtype dtype);

#endif
