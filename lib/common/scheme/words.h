/* words: the words by which a config declares how weights are stored: quant_method, format and others. Tensors of two formats
 * can have the same names, types and shapes, so a word that no scheme knows means that nothing is known about the tensors.
 * The table of places is in words.c; each scheme lists its own words (scheme.h). */
#ifndef SCHEME_WORDS_H
#define SCHEME_WORDS_H

#include <jansson.h>

#include "base/pull.h"
#include "catalog/catalog.h"
#include "scheme/scheme.h"

enum { WORDS_TEXT = 768 };

/* The worst word that was found. Plain; starts as zeros. */
struct words {
    enum { WORDS_GOOD, WORDS_UNDECODED, WORDS_UNKNOWN } fault;
    const struct scheme *scheme;        /* UNDECODED: the scheme of the word */
    char text[WORDS_TEXT];      /* where the word stands and what it is; escaped, one line */
    const char *hint;           /* what to do; static */
};

/* Looks at the words of a quantization block: `at` is the key under which `file` has it, or "" if the file is the block.
 * `engine`: the file describes a checkpoint of TensorRT-LLM. */
void words_read_block(struct words *words, const char *file, const char *at, const json_t *block, bool engine);

/* Looks at the keys of a GGUF file that declare a quantization. */
void words_read_keys(struct words *words, const struct catalog *catalog);

/* Looks at the words that a description file of ModelSlim, "tensor": "word", has for the tensors of the model. Fails with
 * ERR_MALFORMED if it is not JSON. */
bool words_read_description(struct words *words, const struct catalog *catalog, const struct catalog_config *file,
    struct err *err);

/* Reads the next member of a description file: its name, and its value without quotes, `escaped` if that is not plain text. Returns
 * false after the last one, or on a fault. */
bool words_next_member(struct pull *json, struct pull_text *name, struct pull_text *word);

/* Finds the scheme that a word declares, preferably one that is decoded. Returns false if no row knows the word. *scheme is
 * NULL for a general word. */
bool words_find(enum word_place place, const char *word, const struct scheme **scheme);

/* Returns true if a scheme knows the word. */
bool words_has(const struct scheme *scheme, enum word_place place, const char *word);

/* Fails with ERR_UNSUPPORTED, naming the word; always returns false. */
bool words_refuse(const struct words *words, struct err *err);

#endif
