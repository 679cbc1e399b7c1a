/* folder: the JSON, tokenizer and template files next to the weights of a Hugging Face model. */
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
    HF_TIKTOKEN,                /* tiktoken.model */
    HF_SPIECE,                  /* spiece.model: a tokenizer.model of T5 */
    HF_WORLD,                   /* rwkv_vocab_v20230424.txt: the vocabulary of RWKV */
    HF_LINES,                   /* tokenizer.jsonl: the vocabulary of PLaMo */
    HF_FAIRSEQ,                 /* sentencepiece.bpe.model: one whose ids are those of fairseq */
    HF_FILES
};

/* One of these files: n bytes without a trailing NUL. p is NULL if the file does not exist. */
struct hf_text {
    const char *name;           /* "config.json", for messages; static */
    const char *p;
    size_t n;
};

/* More *.jinja files than any known model has. */
enum { HF_TEMPLATES_MAX = 256 };

/* A file of additional_chat_templates/. */
struct hf_named_template {
    struct hf_text text;        /* name: "tool_use.jinja", owned by the folder's `names` */
    struct source *src;
};

/* A zeroed struct has no files. It owns all texts; callers borrow them. */
struct hf_folder {
    struct hf_text file[HF_FILES];
    struct source *src[HF_FILES];
    struct hf_named_template *templates;    /* ntemplates, sorted by name; owned */
    size_t ntemplates;
    struct names names;
};

/* Directory of the named templates. */
#define HF_TEMPLATES "additional_chat_templates"

/* Lists the modules of a sentence-transformers model, each in a folder of its own. */
#define HF_MODULE_LIST "modules.json"

/* Appends the folders that the text of modules.json names, except the directory itself and names with a slash or a leading dot. Other
 * texts name none. Fails only with ERR_MEMORY. */
bool hf_folder_modules(struct names *folders, const char *text, size_t n, struct err *err);

/* Returns "config.json" ... */
const char *hf_file_name(enum hf_file file);

/* Returns the config.json of a model's catalog: from the directory, from next to the file, or given with --config. NULL if
 * there is none. */
const struct catalog_config *hf_folder_config(const struct catalog *catalog);

/* Returns true if a file of a model directory is copied to the output directory: not weights, their index, a hidden file or
 * config.json, which is rewritten. With `quantization`, quantizer configs are not copied either, because they no longer
 * apply. */
bool hf_folder_is_copied(const char *name, bool quantization);

/* Returns the i-th usual name of a file to copy from a directory that cannot be listed; NULL after the last. */
const char *hf_folder_usual(size_t i);

/* Returns true if a file with this name belongs to a model, also among files of another kind: it has one of the usual names, or is
 * code of the model. */
bool hf_folder_is_usual(const char *name);

/* Returns true for the files of a tokenizer, which belong together: vocabulary, configuration and templates. `name` is that in the
 * model directory, with the directory of the named templates. */
bool hf_folder_is_tokenizer(const char *name);

/* Initializes the folder with only the config.json of the catalog. Returns false if there is none. */
bool hf_folder_init(struct hf_folder *folder, const struct catalog *catalog);

/* Reads the files of a model directory, for a catalog with a config.json; each file becomes an input of the model. The tokenizer
 * files come from the directory `tokenizer` if it is not NULL. A missing file is not an error, an unreadable one is. Call
 * hf_folder_close() even after a failure. */
bool hf_folder_open(struct hf_folder *folder, struct model *model, const char *tokenizer, struct err *err);
void hf_folder_close(struct hf_folder *folder);

#endif
