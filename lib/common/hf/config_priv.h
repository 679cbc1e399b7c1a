/* config_priv: what the files of config share. Members of config.json are a tree of jansson's, changed in the steps of the
 * reference: first as the configuration class of transformers would hold them (config_class), then as
 * convert_hf_to_gguf.py has them (config_rope), which reads keys and factors from what that makes. */
#ifndef HF_CONFIG_PRIV_H
#define HF_CONFIG_PRIV_H

#include <jansson.h>

#include "hf/config.h"

struct hf_config_more {
    json_t *members;            /* of config.json, as it is, then after all steps; owned */
    json_t *rope;               /* rope_parameters after all steps; owned */
    json_t *generation;         /* of generation_config.json, or NULL; owned */
    bool has_attn_factor;
    float attn_factor;          /* of long and short factors */
};

/* --- members of an object */

enum { HF_NAMES = 6 };

/* Names of one thing, the first one that is there counts; closed by NULL. */
typedef const char *const hf_names[HF_NAMES + 1];

extern hf_names hf_names_layers, hf_names_context, hf_names_hidden, hf_names_ff, hf_names_heads, hf_names_kv_heads,
    hf_names_experts, hf_names_experts_used;

/* The first member of these names; *name tells which. NULL: none, or null, which is none in the reference too. */
const json_t *hf_member(const json_t *members, hf_names names, const char **name);

/* The member when it is no null. */
const json_t *hf_get(const json_t *members, const char *name);

/* Numbers of config.json, or another file: ERR_MALFORMED, naming file and member, when it is none, or none of the range. */
bool hf_u32(uint32_t *out, const json_t *value, const char *file, const char *name, struct err *err);
bool hf_i32(int32_t *out, const json_t *value, const char *file, const char *name, struct err *err);
bool hf_f32(float *out, const json_t *value, const char *file, const char *name, struct err *err);

/* "config.json: MEMBER is missing". */
bool hf_missing(const char *name, struct err *err);

/* Take over a new value of a member: false when there was no memory for it. `value` is given back either way. */
bool hf_set_new(json_t *members, const char *name, json_t *value, struct err *err);

/* The same unless the member is there, also as null. */
bool hf_set_default(json_t *members, const char *name, json_t *value, struct err *err);

/* --- the steps */

/* Fill and change `members` as the class of transformers for their model_type does. *takes is false when that class does not
 * take them, or there is none for them: the reference then reads config.json as it is, and members are in no state. */
bool hf_class_apply(json_t *members, bool *takes, struct err *err);

/* What the class makes of rope_scaling and rope_parameters. `theta`: its default. Kind: that of model_type. */
bool hf_class_rope(json_t *members, enum hf_kind kind, double theta, bool *takes, struct err *err);

/* The rope_parameters that the reference goes by. */
bool hf_rope_settle(struct hf_config *config, struct err *err);

/* The part of them for full attention. */
const json_t *hf_rope_full(const struct hf_config *config);

/* Their rope_type in *type, "" for none; static or borrowed. One that is not known is ERR_UNSUPPORTED. */
bool hf_rope_type(const char **type, const struct hf_config *config, struct err *err);

/* The tensors of factors. */
bool hf_rope_factors(struct hf_config *config, struct err *err);

/* Dimensions that Phi-3 rotates. */
bool hf_rope_phi3_dims(uint32_t *dims, const struct hf_config *config, struct err *err);

/* Refuses what llama.cpp would not load: ERR_UNSUPPORTED. */
bool hf_config_check(const struct hf_config *config, struct err *err);

/* general.sampling.* */
bool hf_generation_keys(struct keys *keys, const json_t *generation, struct err *err);

#endif
