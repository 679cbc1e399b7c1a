/* fused: the weights that inference engines concatenate when they load a model, and that therefore need one scale.
 *
 * vLLM 0.32 keeps one scale of the tensor for each fused module and drops the others: the largest weight_global_scale of NVFP4
 * in compressed-tensors' form, the largest weight_scale_2 of ModelOpt's, and that of w1 for w1 and w3 of an expert. FP8 with one
 * scale a tensor is encoded again with the largest one. llm-compressor writes one scale for each group. Members of a group are
 * siblings, which have the same parent module, by these names:
 *
 *     q_proj k_proj v_proj        gate_proj up_proj           w1 w3               q_a_proj kv_a_proj_with_mqa
 *     query key value             in_proj_qkv in_proj_z       c_fc_0 c_fc_1       wq_a wkv wgate wkv_a_with_mqa
 *                                 in_proj_b in_proj_a
 *
 * Sources: vLLM, packed_modules_mapping of model_executor/models and the process_weights_after_loading of
 * compressed_tensors_w4a16_nvfp4.py, modelopt.py and w8a8_utils.py; llm-compressor modifiers/utils/helpers.py. */
#ifndef PLAN_FUSED_H
#define PLAN_FUSED_H

#include "plan/choice.h"

/* Two weights or more. */
struct fused {
    struct encoding all;        /* the first one, with the nregions and nfacts of all together: whose facts these are */
    size_t n;
    struct chosen member[];     /* n of them, each with its encoding, in the order of the choice */
};

/* Finds the groups among the weights of a choice that are encoded by an encoder which fuses, and sets the `fused` of their
 * encodings. Members have the encoder, the columns and the dtype in common. Before the choice is spread over parts. Allocates
 * from `memory`. ERR_MEMORY. */
bool fused_find(const struct choice *choice, struct catalog *memory, struct err *err);

#endif
