/* folder: the files that lie beside the weights of a Hugging Face model and say what it is. */
#ifndef HF_FOLDER_H
#define HF_FOLDER_H

#include "base/names.h"
#include "model/model.h"

enum hf_file {
    HF_CONFIG,                  /* config.json */
    HF_GENERATION,              /* generation_config.json */
    HF_TOKENIZER,               /* tokenizer.json */
    HF_TOKENIZER_CONFIG,        /* tokenizer_config.json */
    HF_SENTENCEPIECE,           /* tokenizer.model */
    HF_ADDED_TOKENS,            /* added_tokens.json */
    HF_MERGES,                  /* merges.txt */
    HF_TEMPLATE,                /* chat_template.jinja */
    HF_TEMPLATE_JSON,           /* chat_template.json */
    HF_TEKKEN,                  /* tekken.json */
    HF_README,                  /* README.md */
    HF_VOCAB_JSON,              /* vocab.json */
    HF_FILES
};

/* One of them: n bytes, no NUL behind them. p is NULL when the file is not there. */
struct hf_text {
    const char *name;           /* "config.json", for messages; static */
    const char *p;
    size_t n;
};

/* More *.jinja files than any model has beside its chat_template.jinja. */
enum { HF_TEMPLATES_MAX = 256 };

/* A file of additional_chat_templates/. */
struct hf_named_template {
    struct hf_text text;        /* its name is "tool_use.jinja", owned by the folder's `names` */
    struct source *src;
};

/* Zeroed: none. Texts are borrowed from it. */
struct hf_folder {
    struct hf_text file[HF_FILES];
    struct source *src[HF_FILES];
    struct hf_named_template *templates;    /* ntemplates, sorted by name; owned */
    size_t ntemplates;
    struct names names;
};

/* The folder of named templates. */
#define HF_TEMPLATES "additional_chat_templates"

/* Returns config.json as the catalog of a model keeps it: that of the directory, beside the file, or named. NULL: none. */
const struct catalog_config *hf_folder_config(const struct catalog *catalog);

/* Checks that a file of a model's folder goes into a directory made of it: no weights, no index of their files, no hidden
 * name, and no config.json, which is written. `quantization`: what configs of quantizers say is no longer true. */
bool hf_folder_copies(const char *name, bool quantization);

/* Config.json alone, which the catalog of a model has; false when it has none. */
bool hf_folder_init(struct hf_folder *folder, const struct catalog *catalog);

/* Read the files in the folder of a model, which has one; each becomes an input of it. Config.json may be another, as the
 * user said: then the catalog has that. One that cannot be read is an error, one that is not there is none. Close also
 * after a failure. */
bool hf_folder_open(struct hf_folder *folder, struct model *model, struct err *err);
void hf_folder_close(struct hf_folder *folder);

#endif
