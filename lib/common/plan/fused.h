/* fused: weights that inference engines concatenate when they load a model, and that therefore need a common scale.
 *
 * vLLM 0.32 keeps one tensor scale for each fused module and drops the rest: the largest weight_global_scale of NVFP4 in
 * compressed-tensors' form, the largest weight_scale_2 of ModelOpt's, and for w1 and w3 of an expert the scale of w1.
 * FP8 with one scale per tensor is encoded again with the largest one. llm-compressor writes one scale for each group.
 * Members of a group are siblings, that is, have the same parent module, with these names:
 *
 *     q_proj k_proj v_proj        gate_proj up_proj           w1 w3               q_a_proj kv_a_proj_with_mqa
 *     query key value             in_proj_qkv in_proj_z       c_fc_0 c_fc_1       wq_a wkv wgate wkv_a_with_mqa
 *                                 in_proj_b in_proj_a
 *
 * Sources: vLLM, packed_modules_mapping of model_executor/models and the process_weights_after_loading of
 * compressed_tensors_w4a16_nvfp4.py, modelopt.py and w8a8_utils.py; llm-compressor modifiers/utils/helpers.py.
 */
#ifndef PLAN_FUSED_H
#define PLAN_FUSED_H

#include "plan/choice.h"

/* A group of two or more weights. */
struct fused {
    struct encoding all;        /* the encoding of the first member, with the nregions and nfacts of the entire group; it
                                 * owns the group's facts */
    size_t n;
    struct chosen member[];     /* n members, each with its encoding, in the order of the choice */
};

/* Finds the groups among the weights that are encoded by an encoder which fuses, and sets the `fused` member of their
 * encodings. Members have the same encoder, columns and dtype. Call it before the choice is expanded into parts. Allocates
 * from `memory`. Fails with ERR_MEMORY. */
bool fused_find(const struct choice *choice, struct catalog *memory, struct err *err);

#endif
