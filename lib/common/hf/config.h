/* config: reads config.json and generation_config.json of a model, and writes their values as GGUF keys. Sources: the
 * defaults of the configuration classes of transformers; convert_hf_to_gguf.py and gguf-py of llama.cpp. */
#ifndef HF_CONFIG_H
#define HF_CONFIG_H

#include "hf/family.h"
#include "hf/folder.h"
#include "writer/keys.h"

enum { HF_FACTORS = 1024 };     /* limit on the rotated pairs of a head */

/* RoPE frequency factors, F32, which GGUF stores as a tensor of shape [n]. */
struct hf_factors {
    const char *name;           /* "rope_freqs.weight"; static */
    size_t n;
    float *x;                   /* owned by the config */
};

/* A zeroed struct holds no config. A missing number is 0 unless a default is given. */
struct hf_config {
    const struct hf_family *family;
    uint64_t vocab_size, hidden_size, layers, heads, kv_heads, head_dim;    /* head_dim 0: not declared, use hidden_size /
                                                                             * heads */
    uint64_t experts;                       /* 0: none */
    struct hf_factors factors[2];           /* nfactors of them, in output order */
    size_t nfactors;
    struct hf_config_more *more;            /* all other values, for the keys; owned */
};

/* Reads config.json and looks up the family by the class in "architectures". Sets config->family to NULL for a diffusers
 * model, which has "_class_name" instead. Fails with ERR_UNSUPPORTED for an unknown class, and with ERR_MALFORMED for
 * invalid JSON or if both members are missing. Call hf_config_clear() even after a failure. */
bool hf_config_open(struct hf_config *config, const struct hf_text *text, struct err *err);

/* Reads the other members of config.json, and generation_config.json if it exists; call it after hf_config_open(), for a
 * model with a family. Fails with ERR_MALFORMED, naming file and member, if a required number is missing or is not a number,
 * and with ERR_UNSUPPORTED if llama.cpp would not load the model. */
bool hf_config_read(struct hf_config *config, const struct hf_text *generation, struct err *err);
void hf_config_clear(struct hf_config *config);

/* Warns about each member for which llama.cpp computes something else than transformers. */
void hf_config_warn(const struct hf_config *config, struct catalog *catalog);

/* Puts the keys from general.architecture to [arch].*, in the order of convert_hf_to_gguf.py, without general.name and
 * general.size_label. `file_type` is llama.cpp's number (general.file_type). */
bool hf_config_keys(struct keys *keys, const struct hf_config *config, uint32_t file_type, struct err *err);

#endif
