/* split: the pre-tokenizer of a tokenizer.json, from llama.cpp's name for it. */
#ifndef TOKENIZER_BACK_SPLIT_H
#define TOKENIZER_BACK_SPLIT_H

#include "base/push.h"
#include "hf/member.h"
#include "tokenizer/vocabulary.h"

/* A pre-tokenizer and what its name implies in llama.cpp. */
struct back_split {
    const char *steps;          /* see pre_steps(); static */
    bool literal;               /* published regexes have line ends as characters and quotes as escapes */
    bool composes;              /* the normalizer is NFC */
    bool ignores_merges;        /* a word that is a token is not merged */
    bool adds_bos;              /* a BOS token is added unless a key says otherwise */
};

/* Finds the pre-tokenizer of a name: by the family's n rows, else by llama.cpp's names. Returns false if it is
 * unknown. */
bool back_split_find(struct back_split *split, const struct hf_string *name, const struct tokenizer_pre *rows, size_t n);

/* Writes the member "pre_tokenizer". */
void back_split_push(struct push *json, const struct back_split *split);

#endif
