/* config_priv: shared by the config*.c files. The members of config.json are a jansson tree that is changed in the same
 * steps as in the converter: config_class applies the configuration class of transformers, then config_rope applies
 * convert_hf_to_gguf.py. Keys and factors are read from the result. */
#ifndef HF_CONFIG_PRIV_H
#define HF_CONFIG_PRIV_H

#include <jansson.h>

#include "hf/config.h"

struct hf_config_more {
    json_t *members;            /* of config.json, first as read, then after all steps; owned */
    json_t *rope;               /* rope_parameters after all steps; owned */
    json_t *generation;         /* of generation_config.json, or NULL; owned */
    bool has_attn_factor;
    float attn_factor;          /* for the long and short factors */
};

/* --- members of an object */

enum { HF_NAMES = 6 };

/* Alternative names of a member, NULL-terminated; the first one present is used. */
typedef const char *const hf_names[HF_NAMES + 1];

extern hf_names hf_names_layers, hf_names_context, hf_names_hidden, hf_names_ff, hf_names_heads, hf_names_kv_heads,
    hf_names_experts, hf_names_experts_used;

/* Returns the first member with one of these names and sets *name to its name. Returns NULL, and the first name, if there is
 * none. A null member ends the search and counts as missing, as in the converter. */
const json_t *hf_config_member(const json_t *members, hf_names names, const char **name);

/* Returns the member, or NULL if it is missing or null. */
const json_t *hf_config_get(const json_t *members, const char *name);

/* Read a number of a JSON file. Fail with ERR_MALFORMED, naming file and member, if the value has another type or is out of
 * range. */
bool hf_config_u32(uint32_t *out, const json_t *value, const char *file, const char *name, struct err *err);
bool hf_config_i32(int32_t *out, const json_t *value, const char *file, const char *name, struct err *err);
bool hf_config_f32(float *out, const json_t *value, const char *file, const char *name, struct err *err);

/* Fails with ERR_MALFORMED: "config.json: MEMBER is missing". */
bool hf_config_missing(const char *name, struct err *err);

/* Sets a member. Always consumes the reference to `value`, which may be NULL after a failed allocation: ERR_MEMORY. */
bool hf_config_set(json_t *members, const char *name, json_t *value, struct err *err);

/* Like hf_config_set(), but keeps the member if it exists, even as null. */
bool hf_config_default(json_t *members, const char *name, json_t *value, struct err *err);

/* --- the steps */

/* Changes `members` as the class of transformers for their model_type does. Sets *accepted to false if that class rejects them
 * or if there is no model_type: the converter then reads config.json unchanged, so discard `members`. */
bool hf_class_apply(json_t *members, bool *accepted, struct err *err);

/* Replaces rope_scaling and rope_parameters by what the class makes of them. `theta` is the default of the class for
 * rope_theta, `kind` follows from model_type. */
bool hf_class_rope(json_t *members, enum hf_kind kind, double theta, bool *accepted, struct err *err);

/* Sets more->rope to the rope_parameters that the converter uses. */
bool hf_rope_resolve(struct hf_config *config, struct err *err);

/* Returns the rope_parameters for full attention. */
const json_t *hf_rope_full(const struct hf_config *config);

/* Sets *type to their rope_type, "" if there is none; static or borrowed. Fails with ERR_UNSUPPORTED for an unknown type. */
bool hf_rope_type(const char **type, const struct hf_config *config, struct err *err);

/* Computes the factor tensors. */
bool hf_rope_factors(struct hf_config *config, struct err *err);

/* Computes the number of dimensions that Phi-3 rotates. */
bool hf_rope_phi3_dims(uint32_t *dims, const struct hf_config *config, struct err *err);

/* Fails with ERR_UNSUPPORTED if llama.cpp would not load the model. */
bool hf_config_check(const struct hf_config *config, struct err *err);

#endif
