"""hf_models: tiny models of every family: configuration, tokenizer, names and types of the weights, as transformers' own classes
write them. CASES are those of test/corpus/hf-models, which test/check-hf converts; a case's name begins with its family's."""
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import hf_encoders
import torch
import transformers as T
from safetensors import safe_open

import hf_late_models
import hf_more_models
import hf_text_models
from hf_tokenizers import (CHAT, DIGITS, GPT_2, GPT_4O, LLAMA3, QWEN2, QWEN35, SEED, TEKKEN, deepseek_bpe, gemma4, glm_bpe, llama_bpe,
                           llama_json, modern, phi4_bpe, plain_bpe, qwen_bpe, spm, tiktoken, words, write_json)

loader = importlib.machinery.SourceFileLoader("hf_model", str(Path(__file__).parents[1] / "helpers" / "hf-model"))
hf_model = importlib.util.module_from_spec(importlib.util.spec_from_loader("hf_model", loader))
loader.exec_module(hf_model)

SMALL = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512)
BASE = dict(bos_token_id=1, eos_token_id=2)


def config(kind, **more):
    return kind(**{**SMALL, **more})


def exact(kind, **more):
    return kind(**more)


def longrope(n):
    return {"type": "longrope", "short_factor": [1 + i / 64 for i in range(n)], "long_factor": [1 + i * i / 7 for i in range(n)]}


# Those of hf_encoders are added at the end.
#   name: (tokenizer, dtype, vocabulary more than tokens, class, config members, options)
CASES = {
    "llama3": (llama_bpe, "bfloat16", 4, "Llama", dict(
        num_hidden_layers=11, max_position_embeddings=131072, rope_theta=500000.0, tie_word_embeddings=False, rms_norm_eps=1e-5,
        rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                      "original_max_position_embeddings": 8192}), {}),
    "llama-f32": (lambda f: spm(f, extra=["<|user|>", "<tool▁x>"]), "float32", 5, "Llama", dict(
        hidden_size=96, num_key_value_heads=4, head_dim=32, tie_word_embeddings=True, **BASE), {"old": True}),
    "llama-json": (llama_json, "float16", 0, "Llama", dict(attention_bias=True, mlp_bias=True, num_hidden_layers=3, **BASE), {}),
    "llama-bare": (spm, "bfloat16", 0, "Llama", dict(tie_word_embeddings=False, **BASE), {"bare": True}),
    "llama-wide": (spm, "bfloat16", 0, "Llama", dict(
        hidden_size=256, intermediate_size=512, num_hidden_layers=3, **BASE), {"old": True}),
    "mistral": (lambda f: spm(f, config={"add_prefix_space": True}), "bfloat16", 0, "Mistral", dict(
        head_dim=32, sliding_window=4096, rope_theta=1e6, tie_word_embeddings=False, **BASE), {"old": True}),
    "mixtral": (spm, "bfloat16", 0, "Mixtral", dict(
        hidden_size=256, intermediate_size=256, num_local_experts=4, num_experts_per_tok=2, **BASE), {}),
    "qwen2": (qwen_bpe, "bfloat16", 13, "Qwen2", dict(
        num_hidden_layers=3, tie_word_embeddings=True, bos_token_id=300, eos_token_id=302), {"shard": "60KB", "old": True,
        "generation": dict(do_sample=True, temperature=0.7, top_k=20, top_p=0.8, repetition_penalty=1.1, eos_token_id=[302, 300])}),
    "qwen2-moe": (qwen_bpe, "bfloat16", 0, "Qwen2Moe", dict(
        num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=64,
        num_attention_heads=4, num_key_value_heads=4), {}),
    "qwen3": (qwen_bpe, "bfloat16", 0, "Qwen3", dict(head_dim=32, tie_word_embeddings=True, rope_theta=1e6), {}),
    "qwen3-half": (qwen_bpe, "float16", 1, "Qwen3", dict(head_dim=16, tie_word_embeddings=False), {"old": True}),
    "qwen3-moe": (qwen_bpe, "bfloat16", 0, "Qwen3Moe", dict(
        head_dim=32, norm_topk_prob=True, num_experts=12, num_experts_per_tok=3, moe_intermediate_size=32), {"shard": "100KB"}),
    "qwen3-moe-stacked": (qwen_bpe, "bfloat16", 0, "Qwen3Moe", dict(
        head_dim=32, norm_topk_prob=True, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, num_hidden_layers=1), {"stacked": True}),
    "gemma2": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>", "▁▁"]), "float16", 3, "Gemma2", dict(
        head_dim=32, query_pre_attn_scalar=32, sliding_window=64, **BASE), {"back": 1e-3}),      # F16: 1 + w is rounded
    "gemma3": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>"], extra=["<|image|>"]), "bfloat16", 0, "Gemma3", dict(
        head_dim=32, query_pre_attn_scalar=32, num_hidden_layers=7, sliding_window=64, **BASE), {"old": True}),
    "gemma3-head": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>"]), "bfloat16", 0, "Gemma3", dict(
        head_dim=32, query_pre_attn_scalar=32, sliding_window=64, tie_word_embeddings=False, **BASE), {}),
    "gemma3-pictures": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>"], extra=["<|image|>"]), "bfloat16", 0,
        "Gemma3", dict(head_dim=32, query_pre_attn_scalar=32, sliding_window=64, **BASE), {"pictures": True}),
    "llama-mixed": (spm, "bfloat16", 0, "Llama", dict(**BASE), {"back": 1e-2, "mixed": {
        "lm_head.weight": "F32", "model.embed_tokens.weight": "F32", "model.layers.0.mlp.up_proj.weight": "F16",
        "model.norm.weight": "F32", "model.layers.1.input_layernorm.weight": "F16", "model.layers.0.mlp.down_proj.weight": "F32"}}),
    "phi3": (lambda f: spm(f, extra=["<|user|>", "<|end|>"]), "bfloat16", 2, "Phi3", dict(
        sliding_window=2047, pad_token_id=0, **BASE), {}),
    "phi3-longrope": (lambda f: spm(f, extra=["<|user|>", "<|end|>"]), "bfloat16", 0, "Phi3", dict(
        max_position_embeddings=4096, original_max_position_embeddings=512, partial_rotary_factor=0.75, rope_scaling=longrope(6),
        pad_token_id=0, **BASE), {"old": True}),
    "phi4": (phi4_bpe, "bfloat16", 0, "Phi3", dict(pad_token_id=0, bos_token_id=300, eos_token_id=300), {}),
}


YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64, "beta_fast": 32.0, "beta_slow": 1.0}
LLAMA3_ROPE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 8192}
MLA = dict(q_lora_rank=16, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12, num_key_value_heads=4,
           hidden_size=32, intermediate_size=48, first_k_dense_replace=1, n_shared_experts=1)
MLA_EXPERTS = dict(n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, n_group=1, topk_group=1)
LINEAR = dict(head_dim=16, num_hidden_layers=4, linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2,
              linear_num_value_heads=4, hidden_size=32, intermediate_size=48, full_attention_interval=4)
EXPERTS = dict(moe_intermediate_size=16, hidden_size=32, num_experts=3, num_experts_per_tok=2)
VISION = dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, patch_size=4, num_position_embeddings=16,
              deepstack_visual_indexes=[0])
GELU = 1e-3                     # off: llama.cpp reads it from a table of F16
chat = {"config": {"chat_template": CHAT}}
im = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)

CASES.update({
    "apertus": (plain_bpe(TEKKEN, "tekken", ["<unk>", "<s>", "</s>"], bos="<s>", ignore_merges=True), "bfloat16", 0, "Apertus", dict(
        tie_word_embeddings=False, rope_theta=12000000.0, rope_scaling=LLAMA3_ROPE, **im), {"old": True}),
    "apertus-bias": (plain_bpe(TEKKEN, "tekken", ["<unk>", "<s>", "</s>"]), "float16", 2, "Apertus", dict(
        attention_bias=True, tie_word_embeddings=False, rope_parameters={"rope_type": "default", "rope_theta": 1e6}, **im), {}),
    "bert": (words, "float32", 0, "Bert", dict(max_position_embeddings=128, num_key_value_heads=None), {"model": "BertModel", "encoder": True, "off": GELU}),
    "bert-classes": (words, "float16", 0, "Bert", dict(
        max_position_embeddings=128, num_key_value_heads=None, id2label={0: "no", 1: "yes", 2: "other"}, label2id={"no": 0, "yes": 1, "other": 2}),
        {"model": "BertForSequenceClassification",
        "llama": "has another head: the pooler is not in GGUF", "no_back": "the pooler is not in GGUF"}),
    "cohere2": (plain_bpe(DIGITS, "command-r", nfc=True, **chat), "bfloat16", 0, "Cohere2", dict(
        sliding_window=64, num_hidden_layers=4, **im), {"rotary_pct": 1.0}),
    "deepseek_v3": (deepseek_bpe("deepseek-v3"), "bfloat16", 3, "DeepseekV3", dict(
        **MLA, **MLA_EXPERTS, num_hidden_layers=2, rope_scaling={**YARN, "mscale": 0.707, "mscale_all_dim": 0.707}, rope_theta=10000.0),
        {"scoring_func": "sigmoid"}),
    "deepseek_v3-lite": (deepseek_bpe("deepseek-v3"), "bfloat16", 0, "DeepseekV2", dict(
        **{**MLA, "q_lora_rank": None}, **MLA_EXPERTS, num_hidden_layers=2),
        {"llama": "loads models without q_lora_rank only with 26 or 27 layers"}),
    "dots1": (qwen_bpe, "bfloat16", 0, "Dots1", dict(
        hidden_size=32, num_key_value_heads=4, moe_intermediate_size=16, n_routed_experts=4, n_shared_experts=2, num_experts_per_tok=2, first_k_dense_replace=1,
        norm_topk_prob=True, routed_scaling_factor=2.5, tie_word_embeddings=False, rope_theta=1e7), {"scoring_func": "sigmoid"}),
    "ernie4_5": (spm, "bfloat16", 0, "Ernie4_5", dict(head_dim=16, tie_word_embeddings=True, **BASE), {}),
    "ernie4_5-head": (spm, "float16", 0, "Ernie4_5", dict(head_dim=16, tie_word_embeddings=False, **BASE), {}),
    "ernie4_5_moe": (spm, "bfloat16", 0, "Ernie4_5_Moe", dict(
        hidden_size=32, num_key_value_heads=4, moe_intermediate_size=12, moe_num_experts=4, moe_k=2, moe_num_shared_experts=2,
        moe_layer_start_index=1, moe_layer_end_index=1, moe_layer_interval=1, **BASE), {}),
    "exaone4": (plain_bpe(GPT_2, "exaone4", ["[PAD]", "[BOS]", "[|endofturn|]"], ["<think>"], nfc=True, **chat), "bfloat16", 1, "Exaone4", dict(
        num_hidden_layers=4, head_dim=16, sliding_window=64, tie_word_embeddings=False, rope_theta=1e6,
        rope_scaling={**LLAMA3_ROPE, "factor": 16.0}, **im),
        {"old": True, "llama": "uses the window of models of 64 layers only"}),
    "exaone4-full": (plain_bpe(GPT_2, "exaone4", ["[PAD]", "[BOS]", "[|endofturn|]"], ["<think>"], nfc=True), "bfloat16", 0, "Exaone4", dict(
        head_dim=16, sliding_window=None, layer_types=["full_attention"] * 2, tie_word_embeddings=True, **im), {}),
    "falcon_h1": (plain_bpe(LLAMA3, "falcon-h1", ignore_merges=True, **chat), "bfloat16", 0, "FalconH1", dict(
        hidden_size=32, intermediate_size=48, head_dim=16, mamba_d_ssm=64, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=16,
        mamba_n_groups=1, mamba_chunk_size=16, mamba_rms_norm=False, mamba_norm_before_gate=False, attention_in_multiplier=1.25,
        attention_out_multiplier=0.9375, embedding_multiplier=5.656854249492381, key_multiplier=0.390625,
        lm_head_multiplier=0.0390625, mlp_multipliers=[0.8838834764831844, 0.5859375], ssm_in_multiplier=1.1,
        ssm_multipliers=[0.3535533905932738, 0.25, 0.3, 0.5, 0.7], ssm_out_multiplier=0.23570226039551587, **im), {"back": 2e-2}),
    "falcon_h1-norm": (plain_bpe(LLAMA3, "falcon-h1", ignore_merges=True), "bfloat16", 0, "FalconH1", dict(
        hidden_size=32, intermediate_size=48, head_dim=16, mamba_d_ssm=64, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=16,
        mamba_n_groups=2, mamba_chunk_size=16, mamba_rms_norm=True, mamba_norm_before_gate=False, **im), {"back": 1e-6}),    # another mamba_chunk_size
    "gemma": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>", "▁▁"]), "bfloat16", 2, "Gemma", dict(
        head_dim=24, num_key_value_heads=1, hidden_act="gelu_pytorch_tanh", **BASE), {"off": GELU}),
    "gemma4": (gemma4, "bfloat16", 0, "Gemma4", dict(
        hidden_size=32, intermediate_size=48, head_dim=16, global_head_dim=32, hidden_size_per_layer_input=8, num_hidden_layers=4,
        num_kv_shared_layers=2, use_double_wide_mlp=True, sliding_window=64,
        layer_types=["sliding_attention", "full_attention"] * 2, vocab_size_per_layer_input=393, final_logit_softcapping=30.0,
        bos_token_id=2, eos_token_id=1, pad_token_id=0), {"config": "Gemma4Text", "off": GELU}),
    "gemma4-moe": (gemma4, "bfloat16", 0, "Gemma4", dict(
        hidden_size=32, intermediate_size=48, head_dim=16, global_head_dim=32, hidden_size_per_layer_input=0, num_hidden_layers=3,
        num_kv_shared_layers=0, sliding_window=64, attention_k_eq_v=True, num_global_key_value_heads=1, enable_moe_block=True,
        num_experts=3, top_k_experts=2, moe_intermediate_size=16,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"], vocab_size_per_layer_input=393,
        bos_token_id=2, eos_token_id=1, pad_token_id=0), {"config": "Gemma4Text", "off": GELU}),
    "glm4_moe": (glm_bpe, "bfloat16", 2, "Glm4Moe", dict(
        hidden_size=32, intermediate_size=48, head_dim=16, moe_intermediate_size=16, n_routed_experts=4, num_experts_per_tok=2,
        n_shared_experts=1, first_k_dense_replace=1, num_nextn_predict_layers=1, attention_bias=True, use_qk_norm=True,
        partial_rotary_factor=0.5), {"nextn": "glm"}),
    "glm4_moe_lite": (glm_bpe, "bfloat16", 0, "Glm4MoeLite", dict(
        **MLA, **MLA_EXPERTS, mlp_layer_types=["dense", "sparse"], num_nextn_predict_layers=0),
        {"scoring_func": "sigmoid", "off": 1e-4}),
    "gpt_oss": (plain_bpe(GPT_4O, "gpt-4o"), "bfloat16", 0, "GptOss", dict(
        hidden_size=32, intermediate_size=32, head_dim=16, num_local_experts=3, num_experts_per_tok=2, sliding_window=64,
        rope_parameters={**YARN, "rope_theta": 150000.0, "truncate": False}), {"off": 1e-2}),
    "granite": (plain_bpe(DIGITS, "refact"), "bfloat16", 0, "Granite", dict(
        attention_multiplier=0.0625, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22), {}),
    "granitemoe": (plain_bpe(DIGITS, "refact"), "bfloat16", 0, "GraniteMoe", dict(
        hidden_size=32, intermediate_size=16, num_local_experts=3, num_experts_per_tok=2, attention_multiplier=0.0625,
        embedding_multiplier=12.0, logits_scaling=6.0, residual_multiplier=0.22), {}),
    "granitemoe-shared": (plain_bpe(DIGITS, "refact"), "bfloat16", 0, "GraniteMoeShared", dict(
        hidden_size=32, intermediate_size=16, num_local_experts=3, num_experts_per_tok=2, shared_intermediate_size=24), {}),
    "hunyuan_v1_dense": (deepseek_bpe("hunyuan-dense"), "bfloat16", 0, "HunYuanDenseV1", dict(
        head_dim=32, max_position_embeddings=32768, tie_word_embeddings=True,
        rope_scaling={"rope_type": "dynamic", "alpha": 1000.0, "factor": 1.0}, rope_theta=10000.0), {}),
    "kimi": (qwen_bpe, "bfloat16", 0, "DeepseekV3", dict(**MLA, **MLA_EXPERTS, num_hidden_layers=2), {"kimi": True, "scoring_func": "sigmoid"}),
    "kimi-ranks": (tiktoken, "bfloat16", 2, "DeepseekV3", dict(**MLA, **MLA_EXPERTS, num_hidden_layers=2), {
        "kimi": True, "scoring_func": "sigmoid", "peer": True, "llama": "is compared with the case kimi",
        "no_back": "comes back as tokenizer.json"}),
    "lfm2": (plain_bpe(LLAMA3, "lfm2", bos="<|im_start|>", ignore_merges=True, **chat), "bfloat16", 0, "Lfm2", dict(
        num_hidden_layers=4, intermediate_size=150, block_multiple_of=16,
        layer_types=["conv", "full_attention", "conv", "full_attention"]), {}),
    "lfm2_moe": (plain_bpe(LLAMA3, "lfm2", bos="<|im_start|>", ignore_merges=True), "bfloat16", 0, "Lfm2Moe", dict(
        hidden_size=32, num_hidden_layers=3, num_dense_layers=1, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
        layer_types=["conv", "full_attention", "conv"]), {}),
    "llama4": (plain_bpe(GPT_4O, "llama4", ["<|begin_of_text|>", "<|end_of_text|>", "<|eot|>"], bos="<|begin_of_text|>"), "bfloat16", 1,
        "Llama4", dict(hidden_size=32, intermediate_size=16, intermediate_size_mlp=48, num_hidden_layers=4, head_dim=16,
        num_local_experts=3, interleave_moe_layer_step=2, tie_word_embeddings=False, rope_theta=500000.0,
        rope_scaling={**LLAMA3_ROPE, "high_freq_factor": 1.0, "factor": 16.0}, **im), {"config": "Llama4Text"}),
    "minimax_m2": (plain_bpe(GPT_4O, "minimax-m2"), "bfloat16", 0, "MiniMaxM2", dict(
        hidden_size=32, intermediate_size=16, head_dim=16, num_local_experts=4, num_experts_per_tok=2, rotary_dim=8), {"scoring_func": "sigmoid"}),
    "mistral3": (plain_bpe(TEKKEN, "tekken", ["<unk>", "<s>", "</s>"], bos="<s>", ignore_merges=True), "bfloat16", 0, "Ministral3", dict(
        head_dim=16, rope_parameters={**YARN, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1, "rope_theta": 1e6},
        **im), {}),
    "modernbert": (modern, "float16", 0, "ModernBert", dict(
        hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_key_value_heads=None, max_position_embeddings=128, local_attention=16,
        pad_token_id=3, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2), {"model": "ModernBertModel",
        "extra": ["modern-bert.attention.layer_norm_epsilon"], "encoder": True, "off": GELU}),
    "nemotron_h": (plain_bpe(TEKKEN, "pixtral"), "bfloat16", 1, "NemotronH", dict(
        hidden_size=32, head_dim=16, layers_block_type=["mamba", "moe", "attention", "moe"], mamba_num_heads=4, mamba_head_dim=16,
        n_groups=2, ssm_state_size=16, moe_intermediate_size=16, moe_shared_expert_intermediate_size=24, n_routed_experts=4,
        num_experts_per_tok=2, n_shared_experts=1, num_hidden_layers=4), {}),
    "olmo2": (plain_bpe(LLAMA3, "dbrx"), "bfloat16", 0, "Olmo2", dict(tie_word_embeddings=False), {}),
    "olmo2-window": (plain_bpe(LLAMA3, "dbrx"), "bfloat16", 0, "Olmo3", dict(
        num_hidden_layers=4, sliding_window=64, rope_theta=500000.0), {}),
    "phi2": (plain_bpe(GPT_2, "phi-2", ["<|endoftext|>"]), "float16", 3, "Phi", dict(
        num_key_value_heads=4, intermediate_size=256, partial_rotary_factor=0.5, bos_token_id=1, eos_token_id=1), {"off": GELU}),
    "qwen3_5": (plain_bpe(QWEN35, "qwen35", nfc=True), "bfloat16", 0, "Qwen3_5", dict(
        **LINEAR, rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1],
        "mrope_interleaved": True}), {"config": "Qwen3_5Text", "nextn": "qwen"}),
    "qwen3_5_moe": (plain_bpe(QWEN35, "qwen35", nfc=True), "bfloat16", 0, "Qwen3_5Moe", dict(
        **{**LINEAR, **EXPERTS}, shared_expert_intermediate_size=24, rope_parameters={"rope_type": "default", "rope_theta": 1e7,
        "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1], "mrope_interleaved": True}), {"config": "Qwen3_5MoeText", "nextn": "qwen"}),
    "qwen3_next": (qwen_bpe, "bfloat16", 0, "Qwen3Next", dict(
        **{**LINEAR, **EXPERTS}, shared_expert_intermediate_size=24, partial_rotary_factor=0.5), {"nextn": "qwen"}),
    "qwen3_vl": (qwen_bpe, "bfloat16", 0, "Qwen3VL", dict(
        head_dim=16, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 5e6, "mrope_section": [4, 2, 2],
        "mrope_interleaved": True}), {"vision": VISION, "off": 5e-5}),
    "qwen3_vl_moe": (qwen_bpe, "bfloat16", 0, "Qwen3VLMoe", dict(
        head_dim=16, **{**EXPERTS, "moe_intermediate_size": 24}, rope_parameters={"rope_type": "default", "rope_theta": 5e6, "mrope_section": [4, 2, 2],
        "mrope_interleaved": True}), {"vision": VISION, "transposed": True, "off": 5e-5}),
    "qwen3_vl_moe-saved": (qwen_bpe, "bfloat16", 0, "Qwen3VLMoe", dict(
        head_dim=16, **{**EXPERTS, "moe_intermediate_size": 24}, rope_parameters={"rope_type": "default", "rope_theta": 5e6,
        "mrope_section": [4, 2, 2], "mrope_interleaved": True}),
        {"vision": VISION, "off": 5e-5, "reference": "transposes experts that are in their place already"}),
    "seed_oss": (plain_bpe(SEED, "seed-coder"), "bfloat16", 0, "SeedOss", dict(
        head_dim=32, attention_bias=True, attention_out_bias=False), {}),
    "smollm3": (plain_bpe(LLAMA3, "smaug-bpe", ignore_merges=True), "bfloat16", 0, "SmolLM3", dict(
        num_hidden_layers=4, rope_theta=5e6, **im), {}),
    "internlm3": (lambda f: spm(f, extra=["<|im_start|>", "<|im_end|>"]), "bfloat16", 0, "Llama", dict(
        head_dim=16, tie_word_embeddings=False, **BASE), {"old": True, "named": ("InternLM3ForCausalLM", "internlm3")}),
    "stablelm": (plain_bpe(QWEN2, "stablelm2", ["<|endoftext|>"]), "bfloat16", 0, "StableLm", dict(
        partial_rotary_factor=0.25, use_qkv_bias=True, tie_word_embeddings=False), {}),
    "stablelm-parallel": (plain_bpe(QWEN2, "stablelm2", ["<|endoftext|>"]), "bfloat16", 0, "StableLm", dict(
        partial_rotary_factor=0.25, qk_layernorm=True, use_parallel_residual=True, tie_word_embeddings=False),
        {"reference": "leaves out the norms of queries and keys, and fails"}),
    "starcoder2": (plain_bpe(DIGITS, "starcoder", ["<|endoftext|>"]), "bfloat16", 2, "Starcoder2", dict(
        use_bias=True, tie_word_embeddings=True, bos_token_id=0, eos_token_id=0, rope_theta=999999.4420358813), {"old": True, "off": GELU}),
    "youtu": (plain_bpe(QWEN2, "qwen2", config={"pad_token": None}), "bfloat16", 0, "Youtu", dict(      # its class clears the row of a pad token
        **{k: v for k, v in MLA.items() if k not in ("first_k_dense_replace", "n_shared_experts")}, **{**im, "pad_token_id": None}), {}),
})


hf_text_models.CASES.update(hf_more_models.CASES)
hf_text_models.CASES.update(hf_late_models.CASES)
CASES.update(hf_text_models.CASES)


def old_spelling(path):
    """Rewrites config.json in the form of transformers before version 5."""
    c = json.loads(path.read_text())
    c["torch_dtype"] = c.pop("dtype")
    rope = c.pop("rope_parameters", None) or {}
    if "full_attention" in rope:
        c["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    c["rope_theta"] = rope.pop("rope_theta", 10000.0)
    for key in ("partial_rotary_factor", "original_max_position_embeddings"):
        if key in rope and rope.get("rope_type") != "llama3":
            c[key] = rope.pop(key)
    rope["type"] = rope.pop("rope_type", "default")
    c["rope_scaling"] = None if rope["type"] == "default" else rope
    path.write_text(json.dumps(c, indent=2) + "\n")


def with_vision(family, c, n, vision):
    """Returns the configuration with this one for its text."""
    kind = getattr(T, family + "Config")
    if family == "Gemma3":
        return kind(text_config=c.to_dict(), vision_config=vision, mm_tokens_per_image=4, image_token_index=n - 1, dtype=c.dtype)
    return kind(text_config=c.to_dict(), vision_config={**vision, "out_hidden_size": c.hidden_size}, image_token_id=n - 1,
                video_token_id=n - 2, vision_start_token_id=n - 3, vision_end_token_id=n - 4, dtype=c.dtype)


def class_of(name):
    """Returns transformers' class of a case."""
    family, options = CASES[name][3], CASES[name][5]
    pictures = options.get("pictures") or options.get("vision")
    return getattr(T, options.get("model") or family + ("ForConditionalGeneration" if pictures else "ForCausalLM"))


def kind_of(name, family):
    """Returns how hf-model fills a tensor."""
    if name.endswith("norm.weight") and not family.startswith(("Gemma", "Qwen3Next", "Qwen3_5")):
        return "norm"
    return "zeros" if family == "Cohere2" and name.endswith(".bias") else ""


def next_block(weights, layers, style):
    """Adds the block of multi-token prediction, for which transformers has no module: of GLM-4.5 or of Qwen."""
    tensors, = weights.values()
    last = "model.layers.%d." % (layers - 1)
    own = "model.layers.%d." % layers if style == "glm" else "mtp.layers.0."
    for t in [t for t in tensors if t[0].startswith(last)]:
        tensors.append([t[0].replace(last, own)] + t[1:])
    width = next(t[2][0] for t in tensors if t[0] == "model.norm.weight")
    rows = next(t[2][0] for t in tensors if t[0] == "model.embed_tokens.weight")
    if style == "glm":
        more = [(own + name, shape, kind) for name, shape, kind in (
            ("eh_proj", [width, 2 * width], ""), ("enorm", [width], "norm"), ("hnorm", [width], "norm"),
            ("shared_head.norm", [width], "norm"), ("shared_head.head", [rows, width], ""), ("embed_tokens", [rows, width], ""))]
    else:
        more = [("mtp.fc", [width, 2 * width], "")] + [("mtp." + name, [width], "")
                                                       for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")]
    tensors.extend([name + ".weight", "BF16", shape, kind] for name, shape, kind in more)


def as_kimi(folder, weights):
    """Turns a DeepSeek-V3 into the text of a Kimi-VL, whose class is not in transformers."""
    path = folder / "config.json"
    c = json.loads(path.read_text())
    for tensors in weights.values():
        for t in tensors:
            t[0] = "language_model." + t[0]
        tensors.append(["vision_tower.patch_embed.proj.weight", "BF16", [8, 4], ""])
    write_json(path, {"architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25", "dtype": c["dtype"],
                      "text_config": {**c, "architectures": None}, "vision_config": {"hidden_size": 8}})


def integers(file, name):
    """Returns the kind of a tensor of integers, which are what they are, or ""."""
    if not file.get_slice(name).get_dtype().startswith("I"):
        return ""
    return "= " + " ".join(str(x) for x in file.get_tensor(name).flatten().tolist())


def saved_weights(model, options, family):
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved, max_shard_size=options.get("shard", "1GB"), save_original_format=not options.get("stacked"))
        weights = {}
        for path in sorted(Path(saved).glob("*.safetensors")):
            with safe_open(path, "pt") as f:
                weights[path.name] = [
                    [k.removeprefix("model." * options.get("bare", False)), options.get("mixed", {}).get(k, f.get_slice(k).get_dtype()),
                     f.get_slice(k).get_shape(), integers(f, k) or kind_of(k, family)] for k in f.offset_keys()]
        return weights, (Path(saved) / "config.json").read_text()


def inner(members, **more):
    """Returns a configuration with more members where those of the text are."""
    for key in ("text_config", "thinker_config", "language_config", "llm_config"):
        if key in members:
            return {**members, key: inner(members[key], **more)}
    return {**members, **more}


def named_weights(options, members, vocab, dtype):
    """Returns the weights of a case with "tensors", sorted by name as in a published file."""
    for key in ("thinker_config", "text_config", "language_config", "llm_config"):
        members = members.get(key, members)
    layers = options.get("layers") or next(members[k] for k in ("num_hidden_layers", "n_layer", "n_layers", "num_layers") if k in members)
    found = []
    for name, shape, *kind in options["tensors"]:
        of = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}[dtype]
        which = next((k for k in kind if isinstance(k, range)), range(layers) if "{b}" in name else range(1))
        kind = "scale" if name.endswith(".weight_scale") else next((k for k in kind if isinstance(k, str)), "")
        for b in which:
            for x in range(options.get("experts", 4) if "{x}" in name else 1):
                found.append([name.replace("{b}", str(b)).replace("{x}", str(x)), "U8" if kind == "scale" or name.endswith("_packed") else of, [vocab if d == "vocab" else d for d in shape],
                              "norm" if name.endswith("norm.weight") and not kind else kind])
    return sorted(found)


def write_weights(folder, weights):
    lines = ",\n".join(" %s: [\n  %s]" % (json.dumps(f), ",\n  ".join(json.dumps(t) for t in tensors)) for f, tensors in weights.items())
    (folder / "weights.json").write_text("{\n" + lines + "\n}\n")


def build(name, folder):
    """Writes the case without expectations. Returns the name of its pre-tokenizer."""
    tokenizer, dtype, more, family, members, options = CASES[name]
    folder.mkdir(parents=True)
    pre, n = tokenizer(folder)
    if "weights" in options:
        hf_encoders.write(folder, name, n + more)
        return options.get("pre", pre)
    if "tensors" in options:
        write_json(folder / "config.json", {"architectures": [family[0]], "model_type": family[1], "torch_dtype": dtype,
                                            **inner({k: n + more if v == "vocab" else v for k, v in members.items()}, vocab_size=n + more)})
        if "generation" in options:
            write_json(folder / "generation_config.json", options["generation"])
        write_weights(folder, {"model.safetensors": named_weights(options, members, n + more, dtype)})
        return pre
    kind = options.get("config") or ("Gemma3Text" if family == "Gemma3" else family + "Text" if "vision" in options else family)
    make = exact if options.get("exact") else config
    c = make(getattr(T, kind + "Config"), vocab_size=n + more, **members)
    c.dtype = getattr(torch, dtype)
    if options.get("pictures"):
        c = with_vision(family, c, n, dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2,
                                           image_size=28, patch_size=14))
    elif "vision" in options:
        c = with_vision(family, c, n, options["vision"])
    weights, text = saved_weights(class_of(name)(c).to(c.dtype), options, family)
    (folder / "config.json").write_text(text)
    if options.get("old"):
        old_spelling(folder / "config.json")
    for key in ("rotary_pct", "scoring_func", "n_ctx"):     # of published models; the classes have none
        if key in options:
            write_json(folder / "config.json", {**json.loads((folder / "config.json").read_text()), key: options[key]})
    if "members" in options:
        write_json(folder / "config.json", {**json.loads((folder / "config.json").read_text()), **options["members"]})
    if options.get("nextn"):
        next_block(weights, c.num_hidden_layers, options["nextn"])
    if options.get("transposed"):   # as published; transformers reads both, and writes the other
        for t in [t for tensors in weights.values() for t in tensors if ".mlp.experts." in t[0]]:
            t[2] = [t[2][0], t[2][2], t[2][1]]
    if options.get("kimi"):
        as_kimi(folder, weights)
    if "named" in options:          # a class that is not in transformers, with the weights of one that is
        c = json.loads((folder / "config.json").read_text())
        write_json(folder / "config.json", {**c, "architectures": [options["named"][0]], "model_type": options["named"][1]})
    if "class" in options:          # one that transformers lacks, with the weights of its own
        c = json.loads((folder / "config.json").read_text())
        write_json(folder / "config.json", {**c, "architectures": [options["class"]]})
    if "generation" in options:
        write_json(folder / "generation_config.json", options["generation"])
    write_weights(folder, weights)
    return pre


CASES.update(hf_encoders.CASES)
