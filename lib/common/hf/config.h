/* config: what config.json and generation_config.json of a model say, and the keys of GGUF that say the same. Source: the
 * defaults of the configuration classes of transformers; convert_hf_to_gguf.py and gguf-py of llama.cpp. */
#ifndef HF_CONFIG_H
#define HF_CONFIG_H

#include "hf/family.h"
#include "hf/folder.h"
#include "writer/keys.h"

enum { HF_FACTORS = 1024 };     /* rotated pairs of a head */

/* Factors of frequencies, F32, that are tensors of their own in GGUF: shape [n]. */
struct hf_factors {
    const char *name;           /* "rope_freqs.weight"; static */
    size_t n;
    float *x;                   /* owned by the config */
};

/* Zeroed: none. Numbers that are not there are 0 unless a default says otherwise. */
struct hf_config {
    const struct hf_family *family;
    uint64_t vocab_size, hidden_size, layers, heads, kv_heads, head_dim;    /* head_dim 0: hidden_size / heads, no key */
    uint64_t experts;                       /* 0: none */
    struct hf_factors factors[2];           /* in their order; nfactors */
    size_t nfactors;
    struct hf_config_more *more;            /* the rest, for the keys; owned */
};

/* Reads config.json and finds the family by the class in "architectures": config->family is NULL for a model of diffusers, which
 * has "_class_name" instead. Fails with ERR_UNSUPPORTED for an unknown class, and with ERR_MALFORMED for invalid JSON or if both
 * members are missing. Clear also after a failure. */
bool hf_config_open(struct hf_config *config, const struct hf_text *text, struct err *err);

/* Then reads the members of a model with a family, and generation_config.json if it is there. A number that is needed and
 * missing, or none, is ERR_MALFORMED, naming file and member; what llama.cpp would not load is ERR_UNSUPPORTED. */
bool hf_config_read(struct hf_config *config, const struct hf_text *generation, struct err *err);
void hf_config_clear(struct hf_config *config);

/* Warns of each member by which llama.cpp computes otherwise than transformers. */
void hf_config_warn(const struct hf_config *config, struct catalog *catalog);

/* Put general.architecture to [arch].*, in the order of the reference; what names a model (general.name, size_label) is not
 * among them. file_type: as llama.cpp numbers them. */
bool hf_config_keys(struct keys *keys, const struct hf_config *config, uint32_t file_type, struct err *err);

#endif
