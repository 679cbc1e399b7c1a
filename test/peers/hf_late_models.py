"""hf_late_models: cases of hf_text_models for the last classes: drafts of other models, and architectures of 2026."""
from hf_more_models import only
from hf_text_models import ATTN, BAILING, BASE, FF, H, HD, KV, L, MLP, NORMS, ONCE, SHARED, SIZES, V, biased, experts, im, renamed
from hf_tokenizers import CHAT, GPT_2, LLAMA3, gemma4, llama_json, plain_bpe, qwen_bpe, sarvam, spm

chat = {"config": {"chat_template": CHAT}}
K3 = dict(SIZES, num_hidden_layers=3, num_key_value_heads=4, kv_lora_rank=16, q_lora_rank=24, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=8,
          num_experts=4, num_experts_per_token=2, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=32, first_k_dense_replace=1,
          routed_scaling_factor=2.446, moe_router_activation_func="sigmoid", moe_renormalize=True, routed_expert_hidden_size=32, hidden_act="situ",
          activation_situ_beta=5.0, activation_situ_linear_beta=7.0, attn_res_block_size=2, rms_norm_eps=1e-5, rope_theta=10000.0, mla_use_nope=True,
          linear_attn_config={"full_attn_layers": [3], "kda_layers": [1, 2], "num_heads": 4, "head_dim": 8, "short_conv_kernel_size": 4,
                              "gate_lower_bound": -5.0}, **BASE)
K3_BUT = {"cut": "language_model.", "lost": ("vision_tower.", "mm_projector."), "near": ("_res_norm.", "_res_proj.")}


def k3(routed):
    """Returns the tensors of a Kimi K3 with these of the experts."""
    kda, mla, dense, moe = range(2), range(2, 3), range(1), range(1, 3)
    mix, sparse, inner = L + "self_attn.", L + "block_sparse_moe.", 32
    tensors = ONCE + NORMS + [(L + x + "_res_" + n, s) for x in ("self_attention", "mlp") for n, s in (("norm.weight", [H]), ("proj.weight", [1, H]))] + [
        ("model.output_attn_res_norm.weight", [H]), ("model.output_attn_res_proj.weight", [1, H])] + only(
        kda, [(mix + x + "_proj.weight", [inner, H]) for x in "qkvg"] + [(mix + x + "_conv1d.weight", [inner, 1, 4]) for x in "qkv"] + [
            (mix + "A_log", [4]), (mix + "dt_bias", [inner]), (mix + "f_a_proj.weight", [8, H]), (mix + "f_b_proj.weight", [inner, 8]),
            (mix + "b_proj.weight", [4, H]), (mix + "o_norm.weight", [8]), (mix + "o_proj.weight", [H, inner])]) + only(
        mla, [(mix + "q_a_proj.weight", [24, H]), (mix + "q_a_layernorm.weight", [24]), (mix + "q_b_proj.weight", [48, 24]),
              (mix + "kv_a_proj_with_mqa.weight", [20, H]), (mix + "kv_a_layernorm.weight", [16]), (mix + "kv_b_proj.weight", [64, 16]),
              (mix + "g_proj.weight", [inner, H]), (mix + "o_proj.weight", [H, inner])]) + only(dense, MLP) + only(
        moe, [(sparse + "gate.weight", [4, H]), (sparse + "gate.e_score_correction_bias", [4]), (sparse + "routed_expert_down_proj.weight", [32, H]),
              (sparse + "routed_expert_norm.weight", [32]), (sparse + "routed_expert_up_proj.weight", [H, 32])] + [
            (sparse + "shared_experts.%s_proj.weight" % x, s) for x, s in (("gate", [32, H]), ("up", [32, H]), ("down", [H, 32]))])
    return [("language_model." + n, s, *k) for n, s, *k in tensors + only(moe, routed)] + [
        ("vision_tower.a.weight", [8]), ("mm_projector.b.weight", [8, 8])]


gpt2 = plain_bpe(GPT_2, "gpt-2", ["<|endoftext|>"])

CASES = {
    "xverse": (llama_json, "bfloat16", 0, ("XverseForCausalLM", "xverse"), dict({**SIZES, "num_key_value_heads": 4}, rms_norm_eps=1e-6, **BASE), {
        "tensors": renamed(ONCE + NORMS + ATTN[:1] + ATTN[3:] + [(n, [H, H]) for n, s in ATTN[1:3]] + MLP),
        "extra": ["tokenizer.ggml.scores", "tokenizer.ggml.add_space_prefix"]}),
    "arctic": (spm, "bfloat16", 0, ("ArcticForCausalLM", "arctic"), dict(SIZES, rms_norm_eps=1e-5, rope_theta=1e4, num_local_experts=4,
        num_experts_per_tok=2, **BASE), {"otherwise": ["tokenizer.ggml.scores", "tokenizer.ggml.token_type"], "tensors": ONCE + NORMS + ATTN + [(L + "residual_layernorm.weight", [H], "norm")] + [
            (L + "residual_mlp.w%d.weight" % i, [H, H]) for i in (1, 2, 3)] + experts("w1 w3 w2", router="block_sparse_moe.gate",
            at="block_sparse_moe.experts.{x}.", suffix=".weight", ff=FF)}),
    "internlm2": (spm, "bfloat16", 0, ("InternLM2ForCausalLM", "internlm2"), dict(SIZES,
        rms_norm_eps=1e-5, rope_theta=1e6, bias=False, **BASE), {"tensors": [("model.tok_embeddings.weight", [V, H]),
            ("model.norm.weight", [H], "norm"), ("output.weight", [V, H])] + [(L + n + ".weight", s, *k) for n, s, *k in (
            ("attention_norm", [H], "norm"), ("ffn_norm", [H], "norm"), ("attention.wqkv", [H + 2 * KV, H]), ("attention.wo", [H, H]),
            ("feed_forward.w1", [FF, H]), ("feed_forward.w3", [FF, H]), ("feed_forward.w2", [H, FF]))]}),
    "rugpt3xl": (gpt2, "bfloat16", 0, ("RuGPT3XLForCausalLM", "rugpt3xl"), dict({k: v for k, v in SIZES.items() if k != "num_key_value_heads"}, layer_norm_epsilon=1e-5), {"but": {"other": ("",)},
        "tensors": biased(renamed(NORMS + [("model.norm.weight", [H], "norm")] + [(L + "self_attn.%s_proj.weight" % x, [H, H]) for x in "qkvo"]
            + MLP[1:])) + [("model.embed_tokens.weight", [V, H]), ("model.embed_positions.weight", [512, H])]}),
    "gemma4_dspark": (gemma4, "bfloat16", 0, ("Gemma4DSparkModel", "gemma4_dspark"), dict(SIZES, rms_norm_eps=1e-6, global_head_dim=32,
        num_global_key_value_heads=1, attention_k_eq_v=True, layer_types=["full_attention"] * 2, head_dim=16, tie_word_embeddings=True,
        target_layer_ids=[0, 2], mask_token_id=5, block_size=8, markov_rank=8, hidden_activation="gelu_pytorch_tanh"), {
        "mend": ["gemma4"], "llama": "drafts for a target", "tensors": [("embed_tokens.weight", [V, H]), ("norm.weight", [H]),
            ("hidden_norm.weight", [H]), ("fc.weight", [H, 2 * H]), ("markov_head.markov_w1.weight", [V, 8]), ("markov_head.markov_w2.weight", [V, 8]),
            ("confidence_head.proj.weight", [1, H + 8])] + [("layers.{b}." + n, s) for n, s in (("input_layernorm.weight", [H]),
            ("post_attention_layernorm.weight", [H]), ("pre_feedforward_layernorm.weight", [H]), ("post_feedforward_layernorm.weight", [H]),
            ("layer_scalar", [1]), ("self_attn.q_proj.weight", [128, H]), ("self_attn.k_proj.weight", [32, H]), ("self_attn.o_proj.weight", [H, 128]),
            ("self_attn.q_norm.weight", [32]), ("self_attn.k_norm.weight", [32]), ("mlp.gate_proj.weight", [FF, H]), ("mlp.up_proj.weight", [FF, H]),
            ("mlp.down_proj.weight", [H, FF]))]}),
    "muse_glimmer_assistant": (qwen_bpe, "bfloat16", 0, ("MuseGlimmerAssistantModel", "muse_glimmer_assistant"), dict(SIZES, rms_norm_eps=1e-5,
        rope_theta=5e5, head_dim=16, sliding_window=64, layer_types=["sliding_attention"] * 2, block_size=16, mask_token_id=5,
        target_layer_ids=[1, 3], **im), {"llama": "drafts for a target", "but": {"other": ("fc.weight", "hidden_norm.", "output_norm_enc.")}, "mend": ["vocabulary"], "tensors": [
            ("encoder.fc.weight", [H, 2 * H]), ("encoder.output_norm_enc.weight", [H]), ("norm.weight", [H])] + [
            (n.replace("model.", ""), s) for n, s, *k in NORMS + ATTN + MLP + [(L + "self_attn.%s_norm.weight" % x, [HD]) for x in "qk"]]}),
    "sarvam": (sarvam, "float32", 0, ("SarvamMoEForCausalLM", "sarvam_moe"), dict(
        SIZES, rms_norm_eps=1e-6, rope_theta=6e5, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        num_shared_experts=1, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=1, topk_group=1,
        score_function="sigmoid"), {"tensors": renamed(ONCE, ("embed_tokens", "word_embeddings")) + NORMS + BAILING + only(range(1), MLP) + only(
            range(1, 2), experts() + SHARED) + [(L + "mlp.gate.expert_bias", [4], range(1, 2), "coarse")], "but": {"near": (".expert_bias",)}}),
    "kimi_k3": (plain_bpe(LLAMA3, "kimi-k2", ignore_merges=True, **chat), "bfloat16", 0, ("KimiK3ForConditionalGeneration", "kimi_k3"), K3, {
        "tensors": k3([(L + "block_sparse_moe.experts.{x}.%s.weight" % w, s) for w, s in (("w1", [32, 32]), ("w2", [32, 32]), ("w3", [32, 32]))]),
        "but": K3_BUT}),
    "kimi_k3-mxfp4": (plain_bpe(LLAMA3, "kimi-k2", ignore_merges=True, **chat), "bfloat16", 0, ("KimiK3ForConditionalGeneration", "kimi_k3"), {**K3,
        "quantization_config": {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized", "config_groups": {"group_0": {
            "targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": 32, "strategy": "group", "symmetric": True}}}}}, {
        "tensors": k3([(L + "block_sparse_moe.experts.{x}.%s.weight_%s" % (w, kind), s) for w in ("w1", "w2", "w3")
                       for kind, s in (("packed", [32, 16]), ("scale", [32, 1]))]),
        "but": {**K3_BUT, "other": (".experts.",)}}),
    "qwen4exp": (qwen_bpe, "bfloat16", 0, "Qwen4Exp", dict(hidden_size=64, intermediate_size=None, num_hidden_layers=4, head_dim=16, linear_key_head_dim=8, linear_value_head_dim=8,
        linear_num_key_heads=2, linear_num_value_heads=4, moe_intermediate_size=32, shared_expert_intermediate_size=32, num_experts_per_tok=2,
        num_experts=4, hc_count=2, hc_lowrank=8, ple_layer_ids=[2], ple_embed_dim=64, ngram_size=3, heads_per_ngram=2, ngram_vocab_size_base=50,
        split_ngram_parts=4, make_ngram_vocab_size_divisible_by=8, indexer_n_heads=2, indexer_kv_heads=1, indexer_head_dim=16,
        indexer_budget=64, indexer_compress_ratio=4, eos_token_id=2, output_gate_type="sigmoid", rope_parameters={"rope_type": "default", "rope_theta": 1e7,
        "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1], "mrope_interleaved": True},
        layer_types=["linear_attention", "linear_attention", "full_attention", "linear_attention"]), {"config": "Qwen4ExpText", "otherwise": ["qwen4exp.attention.compress_ratios"], "but": {"other": (".ngram_embedding.shard_",)},
        "members": {"layer_types": ["linear_attention", "linear_attention", "full_attention", "linear_attention"]}}),
}
