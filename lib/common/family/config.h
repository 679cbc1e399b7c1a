/* config: config.json of a model directory as its family reads it, on the way to GGUF: defaults of the class, RoPE, keys,
 * generated tensors. Everything about single families is in their files; sources: convert_hf_to_gguf.py of llama.cpp, and the
 * configuration classes of transformers for types that they reject. */
#ifndef FAMILY_CONFIG_H
#define FAMILY_CONFIG_H

#include "family/llama3.h"
#include "family/scope.h"
#include "hf/folder.h"
#include "writer/keys.h"

/* A zeroed struct holds none. */
struct family_config {
    struct model_family *family;        /* owned; NULL: config.json declares no class, as in diffusers */
    json_t *members;                    /* config.json with text_config, then with defaults; owned */
    json_t *rope_all;                   /* rope_parameters after normalization; owned */
    json_t *tokenizer_config, *generation_config, *file, *preprocessor;         /* owned; or NULL */
    char *class;                        /* of architectures[0]; owned, because members of text_config replace it */
    char *default_class;                /* `class` in `default` rows: the class of model_type; owned, or NULL */
    struct model_family *default_family;        /* family of default_class if it differs from `family`; owned, or NULL */
    bool unknown_type;                  /* model_type belongs to no known class */
    bool refused;                       /* the class of transformers refuses the file, so that no default applies */
    uint64_t hidden_size, layers, heads, vocab_size;    /* required members */
    uint32_t files;                     /* set of enum hf_file that the directory has */
    struct scope scope;                 /* for this model; scope.tensors are set by the caller when there are tensors */
};

/* Reads config.json and the family of its class, of `kind`. `given`: a family from --family, whose ownership passes to *c, or
 * NULL. Fails with ERR_UNSUPPORTED for an unknown class, naming the nearest one, and with ERR_MALFORMED for invalid JSON or if the class is
 * missing. Call family_config_clear() even after a failure. */
bool family_config_open(struct family_config *c, enum family_kind kind, const struct hf_text *text, struct model_family *given,
    struct err *err);

/* Reads the other files of the folder, and makes members and RoPE as the keys need them. `path`: of the folder, for
 * modules.json; NULL: none. Fails with ERR_MALFORMED, naming the member, if a required one is missing or has a wrong type. */
bool family_config_read(struct family_config *c, const struct hf_folder *folder, struct model *model, struct err *err);

/* The part of family_config_read() for other files than config.json: reads tokenizer_config.json, generation_config.json,
 * file.pooling and file.labels, as far as the family uses them, and the number of rows of the vocabulary. */
bool family_config_files(struct family_config *c, const struct hf_folder *folder, struct model *model, struct err *err);
void family_config_clear(struct family_config *c);

/* Fails with ERR_UNSUPPORTED if a `refuse` row applies. */
bool family_config_refuse(struct family_config *c, struct err *err);

/* Appends the texts of the `warn` rows that apply. */
bool family_config_warn(struct family_config *c, struct catalog *catalog, struct err *err);

/* Puts general.architecture, general.type, general.sampling.* and the keys that do not begin with "tokenizer.". */
bool family_config_keys(struct keys *keys, struct family_config *c, struct err *err);

/* Checks that all keys have a value that llama.cpp requires. Otherwise fails with ERR_MALFORMED, naming the key and the members of
 * config.json that it is made of. */
bool family_config_check_keys(const struct keys *keys, struct family_config *c, struct err *err);

/* Puts the `tokenizer.` keys that stand before `vocab` in the file, or those after it. */
bool family_tokenizer_keys(struct keys *keys, struct family_config *c, bool early, struct err *err);

/* A generated tensor, F32 of shape [n], or [rows, n] if it is a table. */
enum { FAMILY_MADE_MAX = 1024 };        /* limit on its elements, also in a GGUF file */
struct family_made {
    const char *name;                   /* borrowed from the family */
    size_t n, rows;                     /* rows: 0 if it is no table */
    float x[FAMILY_MADE_MAX];
    float *table;                       /* rows * n elements in place of x; the caller frees it */
};

/* Makes the tensor of a `make` row whose `when` is true; on failure, there is no table. */
bool family_make(struct family_made *made, struct family_config *c, const struct family_make *make, struct err *err);

#endif
