"""hf_more_models: cases of hf_text_models for the classes that joined later: towers over a known text, and rarer decoders."""
from hf_text_models import (ATTN, BASE, FF, H, HD, KV, L, LLAMA, MLP, MROPE, NORMS, ONCE, QKNORM, SHARED, SIZES, STEP, STEPMOE, V, biased,
                            experts, im, renamed)
from hf_tokenizers import (DEEPSEEK3, DIGITS, GPT_2, LLAMA3, QWEN35, TEKKEN, deepseek_bpe, gemma4, glm_bpe, llama_bpe, llama_json,
                           plain_bpe, qwen_bpe, spm)

W = lambda prefix, pairs: [(prefix + n + ".weight", s) for n, s in pairs]
MLA = dict(q_lora_rank=16, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12, num_key_value_heads=4)
MLA_Q = W(L + "self_attn.", (("q_a_proj", [16, H]), ("q_a_layernorm", [16]), ("q_b_proj", [96, 16])))
MLA_KV = W(L + "self_attn.", (("kv_a_proj_with_mqa", [24, H]), ("kv_a_layernorm", [16]), ("kv_b_proj", [112, 16]), ("o_proj", [H, 48])))
INDEXER = W(L + "self_attn.indexer.", (("wq_b", [32, 16]), ("wk", [16, H]), ("k_norm", [16]), ("weights_proj", [2, H]))) + [
    (L + "self_attn.indexer.k_norm.bias", [16])]


def only(which, tensors):
    return [(n, s, which) for n, s, *k in tensors]


def kda(at, out):
    """Linear attention of Kimi."""
    return [(L + at + n, s) for n, s in (
        ("q_proj.weight", [H, H]), ("k_proj.weight", [H, H]), ("v_proj.weight", [H, H]), ("q_conv1d.weight", [H, 1, 4]),
        ("k_conv1d.weight", [H, 1, 4]), ("v_conv1d.weight", [H, 1, 4]), ("dt_bias", [H]), ("b_proj.weight", [4, H]),
        ("o_norm.weight", [HD]), (out + ".weight", [H, H]))]


FLAT = {k: v for k, v in SIZES.items() if k not in ("num_key_value_heads",)}
VISION = ("vision_tower.a.weight", [8])

CASES = {
    "sarashina2": (spm, "bfloat16", 0, ("Sarashina2VisionForCausalLM", "sarashina2_vision"), dict(text_config=dict(SIZES, model_type="llama",
        architectures=["LlamaForCausalLM"], head_dim=16, rms_norm_eps=1e-5, rope_theta=5e5, tie_word_embeddings=False), vision_config=dict(hidden_size=8), **BASE),
        {"tensors": [("llm." + n, *r) for n, *r in LLAMA] + [("visual.a.weight", [8]), ("norm.weight", [8])],
         "but": {"cut": "llm.", "lost": ("visual.", "norm.")}}),
    "qwen3-step": (qwen_bpe, "bfloat16", 0, ("StepVLForConditionalGeneration", "step_robotics"), dict(text_config=dict(SIZES, model_type="qwen3",
        architectures=["Qwen3ForCausalLM"], rms_norm_eps=1e-6, rope_theta=1e6, head_dim=16), vision_config=dict(width=8)), {
        "tensors": LLAMA + QKNORM + [("vision_model.a.weight", [8]), ("vit_large_projector.weight", [H, 8])],
        "but": {"lost": ("vision_model.", "vit_large_projector.")}}),
    "phi3-vision": (lambda f: spm(f, extra=["<|user|>", "<|end|>"]), "bfloat16", 0, ("Phi4ForCausalLMV", "phi4-siglip"), dict(SIZES,
        rms_norm_eps=1e-5, rope_theta=1e4, original_max_position_embeddings=512, **BASE), {"tensors": ONCE + NORMS + [ATTN[3], MLP[2]] + W(L, (
            ("self_attn.qkv_proj", [128, H]), ("mlp.gate_up_proj", [192, H]))) + [("model.vision_tower.vision_tower.a.weight", [8]),
            ("model.mm_projector.0.weight", [H, 8])], "but": {"lost": ("model.vision_tower.", "model.mm_projector.")}}),
    "ernie4_5-ocr": (spm, "bfloat16", 0, ("PaddleOCRVLForConditionalGeneration", "paddleocr_vl"), dict(SIZES, rms_norm_eps=1e-5, rope_theta=5e5,
        head_dim=16, rope_scaling=MROPE, vision_config=dict(hidden_size=8), **BASE), {"tensors": LLAMA + [("visual.a.weight", [8]),
            ("mlp_AR.linear_1.weight", [H, 8])], "but": {"lost": ("visual.", "mlp_AR.")}}),
    "qwen3_vl-asr": (qwen_bpe, "bfloat16", 0, ("Qwen3ASRForConditionalGeneration", "qwen3_asr_"), dict(text_config=dict(SIZES, model_type="qwen3",
        rms_norm_eps=1e-6, rope_theta=1e6, head_dim=16, rope_scaling={"rope_type": "default", "mrope_section": [4, 2, 2], "interleaved": True}),
        audio_config=dict(d_model=8)), {"tensors": renamed(LLAMA + QKNORM, ("model.", "model.language_model.")) + [
            ("model.audio_tower.a.weight", [8]), ("model.multi_modal_projector.linear_1.weight", [8, 8])],
        "but": {"cut": "language_model.", "lost": ("model.audio_tower.", "model.multi_modal_projector.")}}),
    "deepseek_ocr": (deepseek_bpe("deepseek-v3"), "bfloat16", 0, ("DeepseekOCRForCausalLM", "deepseek_ocr_"), dict(vision_config=dict(width=8),
        language_config=dict(SIZES, architectures=["DeepseekV2ForCausalLM"], num_key_value_heads=4, kv_lora_rank=None, q_lora_rank=None,
        qk_nope_head_dim=0, qk_rope_head_dim=0, v_head_dim=0, use_mla=False, rms_norm_eps=1e-6, n_routed_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=32, n_shared_experts=1, first_k_dense_replace=1, n_group=1, topk_group=1, norm_topk_prob=False,
        topk_method="greedy")), {"tensors": ONCE + NORMS + ATTN[:1] + W(L + "self_attn.", (("k_proj", [H, H]), ("v_proj", [H, H]))) + ATTN[3:] +
            only(range(1), MLP) + only(range(1, 2), experts() + SHARED) + [("model.sam_model.a.weight", [8]), ("model.vision_model.a.weight", [8]),
            ("model.projector.layers.weight", [H, 8]), ("model.image_newline", [H]), ("model.view_seperator", [H])],
        "but": {"lost": ("model.sam_model.", "model.vision_model.", "model.projector.", "model.image_newline", "model.view_seperator")}}),
    "deepseek_ocr-unlimited": (deepseek_bpe("deepseek-v3"), "bfloat16", 0, ("UnlimitedOCRForCausalLM", "unlimited_ocr_"), dict(SIZES,
        num_key_value_heads=4, qk_rope_head_dim=0, v_head_dim=0, use_mla=False, rms_norm_eps=1e-6, rope_theta=1e4, sliding_window_size=64,
        tie_word_embeddings=True), {"tensors": ONCE[:2] + NORMS + ATTN[:1] + W(L + "self_attn.", (("k_proj", [H, H]), ("v_proj", [H, H]))) +
            ATTN[3:] + MLP}),
    "cogvlm": (llama_bpe, "bfloat16", 0, ("CogVLMForCausalLM", "cogvlm"), dict(SIZES, rms_norm_eps=1e-5, rope_theta=5e5, vision_config=dict(
        hidden_size=8)), {"tensors": ONCE + NORMS + W(L, (("self_attn.language_expert_query_key_value", [128, H]),
            ("self_attn.vision_expert_query_key_value", [128, H]), ("self_attn.language_expert_dense", [H, H]),
            ("self_attn.vision_expert_dense", [H, H]))) + [(n.replace(".mlp.", ".mlp.%s_mlp." % m), s) for m in ("language", "vision")
            for n, s in MLP] + [("model.vision.a.weight", [8])], "but": {"lost": ("model.vision.",), "other": ("vision_",)}}),
    "chameleon": (qwen_bpe, "bfloat16", 0, ("ChameleonForConditionalGeneration", "chameleon_"), dict(SIZES, rms_norm_eps=1e-5, rope_theta=1e4,
        swin_norm=False, vq_config=dict(embed_dim=8), tie_word_embeddings=False), {"mend": ["heads"], "tensors": LLAMA + [
            (L + "self_attn.%s_norm.%s" % (x, w), [n, HD], "norm" if w == "weight" else "") for x, n in (("q", 4), ("k", 2)) for w in ("weight", "bias")] + [
            ("model.vqmodel.a.weight", [8])], "but": {"lost": ("model.vqmodel.",)}}),
    "grovemoe": (qwen_bpe, "bfloat16", 0, ("GroveMoeForCausalLM", "grove_moe"), dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e6, head_dim=16,
        num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32), {"tensors": ONCE + NORMS + ATTN + QKNORM + experts() + [
            (n.replace("{x}", x), s) for x in "01" for n, s in experts(at="mlp.chunk_experts.{x}.", ff=16, router="")] + [(L + "mlp.expert_bias", [4])],
        "but": {"lost": (), "other": ("expert_bias",)}}),
    "maple": (qwen_bpe, "bfloat16", 0, ("MapleForCausalLM", "maple"), dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e6, head_dim=16, num_experts=4,
        num_experts_per_tok=2, moe_intermediate_size=32, hidden_act="silu", norm_topk_prob=True, nope_on_global_attention=True,
        partial_rotary_factor=0.5, sliding_window=64, layer_types=["sliding_attention", "full_attention"]), {
        "tensors": ONCE + NORMS + ATTN + QKNORM + experts()}),
    "granite-speech": (plain_bpe(DIGITS, "refact"), "bfloat16", 0, ("GraniteSpeechForConditionalGeneration", "granite_speech_"), dict(text_config=dict(
        SIZES, model_type="granite", architectures=["GraniteForCausalLM"], rms_norm_eps=1e-5, rope_theta=1e4, attention_multiplier=0.0625,
        embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22), encoder_config=dict(hidden_dim=8)), {
        "tensors": [("language_model." + n, *r) for n, *r in LLAMA] + [("encoder.layers.0.a.weight", [8]), ("projector.qformer.a.weight", [8])],
        "but": {"cut": "language_model.", "lost": ("encoder.", "projector.")}}),
    "granitehybrid": (plain_bpe(DIGITS, "refact"), "bfloat16", 0, "GraniteMoeHybrid", dict(num_local_experts=4, num_experts_per_tok=2,
        intermediate_size=32, shared_intermediate_size=48, mamba_n_heads=4, mamba_d_state=16, mamba_n_groups=1, mamba_d_conv=4, mamba_expand=2,
        layer_types=["mamba", "attention", "mamba"], num_hidden_layers=3, position_embedding_type="nope"), {
            "members": {"layer_types": ["mamba", "attention", "mamba"]}}),
    "granitehybrid-dense": (plain_bpe(DIGITS, "refact"), "bfloat16", 0, "GraniteMoeHybrid", dict(num_local_experts=0, num_experts_per_tok=0,
        intermediate_size=48, shared_intermediate_size=48, mamba_n_heads=4, mamba_d_state=16, mamba_n_groups=1, mamba_d_conv=4, mamba_expand=2,
        layer_types=["mamba", "attention"], num_hidden_layers=2), {"members": {"layer_types": ["mamba", "attention"]}}),
    "nemotron_h_puzzle": (plain_bpe(TEKKEN, "pixtral"), "bfloat16", 0, ("NemotronHPuzzleForCausalLM", "nemotron_h_puzzle"), dict(
        hidden_size=64, num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_hidden_layers=4, mamba_num_heads=4, mamba_head_dim=16,
        n_groups=2, ssm_state_size=16, conv_kernel=4, expand=2, n_routed_experts=4, n_shared_experts=1, moe_shared_expert_intermediate_size=24,
        moe_latent_size=32, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=1, topk_group=1, layer_norm_epsilon=1e-5, rms_norm_eps=1e-5,
        intermediate_size=96, max_position_embeddings=512, block_configs=[dict(block_type="mamba"), dict(block_type="moe", moe_intermediate_size=16,
        num_experts_per_tok=2), dict(block_type="attention"), dict(block_type="moe", moe_intermediate_size=24, num_experts_per_tok=1)]), {
        "but": {"none": "the blocks of its config.json are objects, which no key holds"}, "tensors": [("backbone.embeddings.weight", [V, H]), ("backbone.norm_f.weight", [H], "norm"),
            ("lm_head.weight", [V, H]), ("backbone.layers.{b}.norm.weight", [H], "norm")] + [("backbone.layers.{b}.mixer." + n, s, range(1)) for n, s in (
            ("in_proj.weight", [196, H]), ("out_proj.weight", [H, 64]), ("conv1d.weight", [128, 1, 4]), ("conv1d.bias", [128]), ("dt_bias", [4]),
            ("A_log", [4]), ("D", [4]), ("norm.weight", [64]))] + [("backbone.layers.{b}.mixer." + n + "_proj.weight", s, range(2, 3)) for n, s in (
            ("q", [H, H]), ("k", [KV, H]), ("v", [KV, H]), ("o", [H, H]))] + [("backbone.layers.{b}.mixer." + n, s, which) for which, ff in (
            (range(1, 2), 16), (range(3, 4), 24)) for n, s in (("gate.weight", [4, H]), ("gate.e_score_correction_bias", [4]),
            ("experts.{x}.up_proj.weight", [ff, 32]), ("experts.{x}.down_proj.weight", [32, ff]), ("shared_experts.up_proj.weight", [24, H]),
            ("shared_experts.down_proj.weight", [H, 24]), ("fc1_latent_proj.weight", [32, H]), ("fc2_latent_proj.weight", [H, 32]))] + [
            ("mtp.layers.0.enorm.weight", [H])]}),
    "exaone4-vision": (plain_bpe(GPT_2, "exaone4", ["[PAD]", "[BOS]", "[|endofturn|]"]), "bfloat16", 0, ("Exaone4_5_ForConditionalGeneration",
        "exaone4_5_"), dict(text_config=dict(SIZES, model_type="exaone4", architectures=["Exaone4ForCausalLM"], rms_norm_eps=1e-5, rope_theta=1e6,
        head_dim=16, sliding_window=64, layer_types=["sliding_attention", "full_attention"], num_nextn_predict_layers=1), vision_config=dict(
        hidden_size=8)), {"otherwise": ["exaone4.attention.sliding_window_pattern"], "tensors": renamed(ONCE + ATTN + QKNORM + MLP + [
            NORMS[1], (L + "post_feedforward_layernorm.weight", [H], "norm")], ("model.", "model.language_model.")) + [
            (n.replace("model.layers", "mtp.layers"), s, range(1)) for n, s, *k in ATTN + QKNORM + MLP + [NORMS[1], (
            L + "post_feedforward_layernorm.weight", [H])]] + [("mtp.fc.weight", [H, 2 * H])] + [("mtp.%s.weight" % n, [H]) for n in (
            "pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")] + [("model.visual.a.weight", [8])],
        "but": {"cut": "language_model.", "lost": ("model.visual.",)}}),
    "step3_5": (qwen_bpe, "bfloat16", 0, ("Step3p5ForCausalLM", "step3p5_"), dict(
        FLAT, num_attention_groups=2, head_dim=16, rms_norm_eps=1e-5, num_hidden_layers=3,
        sliding_window=64, layer_types=["full_attention", "sliding_attention", "sliding_attention"],
        partial_rotary_factors=[0.5, 1.0, 1.0], rope_theta=[5e6, 1e4, 1e4], attention_other_setting=dict(
            num_attention_heads=6, num_attention_groups=2, attention_type="sliding_attention"), moe_num_experts=4, moe_top_k=2,
        moe_intermediate_size=32, share_expert_dim=32, moe_layers_enum="1,2", moe_router_scaling_factor=3.0, norm_expert_weight=True,
        moe_router_activation="sigmoid", moe_every_n_layer=1, num_nextn_predict_layers=1, swiglu_limits=[0.0, 7.0, 7.0],
        swiglu_limits_shared=[0.0, 0.0, 16.0]), {"tensors": ONCE + STEP(range(0, 1), 64) + STEP(range(1, 3), 96) + STEP(range(3, 4), 64) +
            only(range(1), MLP) + [(n, s, range(1, 3)) for n, s in STEPMOE] + only(range(3, 4), MLP) + [
            (L + n + ".weight", s, range(3, 4)) for n, s in (("eh_proj", [H, 2 * H]), ("enorm", [H]), ("hnorm", [H]),
            ("transformer.shared_head.norm", [H]), ("transformer.shared_head.output", [V, H]))]}),
    "openelm": (spm, "bfloat16", 0, ("OpenELMForCausalLM", "openelm"), dict(model_dim=64, head_dim=16, num_transformer_layers=2,
        max_context_length=512, num_query_heads=[4, 2], num_kv_heads=[2, 1], ffn_multipliers=[0.5, 1.25], ffn_dim_divisor=16,
        rope_freq_constant=10000, share_input_output_layers=True, **BASE), {"layers": 2, "tensors": [
            ("transformer.token_embeddings.weight", [V, H]), ("transformer.norm.weight", [H], "norm")] + [("transformer.layers.{b}." + n, s, *k)
            for n, s, *k in (("attn_norm.weight", [H], "norm"), ("ffn_norm.weight", [H], "norm"), ("attn.q_norm.weight", [HD], "norm"),
            ("attn.k_norm.weight", [HD], "norm"))] + [("transformer.layers.{b}." + n, s, range(i, i + 1)) for i, q, kv, ff in (
            (0, 64, 32, 32), (1, 32, 16, 80)) for n, s in (("attn.qkv_proj.weight", [q + 2 * kv, H]), ("attn.out_proj.weight", [H, q]),
            ("ffn.proj_1.weight", [2 * ff, H]), ("ffn.proj_2.weight", [H, ff]))]}),
    "deci": (plain_bpe(LLAMA3, "dbrx", ["<|begin_of_text|>", "<|eot_id|>", "<|end_of_text|>"]), "bfloat16", 0, ("DeciLMForCausalLM", "nemotron-nas"), dict(
        hidden_size=64, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=512, rms_norm_eps=1e-5, rope_theta=5e5, block_configs=[
            dict(attention=dict(n_heads_in_group=2, replace_with_linear=False), ffn=dict(ffn_mult=1.0)),
            dict(attention=dict(n_heads_in_group=None, replace_with_linear=True), ffn=dict(ffn_mult=0.5)),
            dict(attention=dict(n_heads_in_group=None, replace_with_linear=False), ffn=dict(ffn_mult=2.5))]), {"mend": ["vocabulary"],
            "but": {"none": "the blocks of its config.json are objects, which no key holds"}, "tensors": ONCE + only(range(2), NORMS[:1]) + NORMS[1:] +
            only(range(1), ATTN) + [(L + "self_attn.linear_attn.weight", [H, H], range(1, 2))] + [(L + "mlp.%s_proj.weight" % n, s) for n, s in (
            ("gate", [256, H]), ("up", [256, H]), ("down", [H, 256]))]}),
    "deci-7b": (llama_json, "bfloat16", 0, ("DeciLMForCausalLM", "deci"), dict({k: v for k, v in SIZES.items() if k != "num_key_value_heads"},
        num_key_value_heads_per_layer=[2, 1], rms_norm_eps=1e-5, rope_theta=1e4, **BASE), {"otherwise": ["tokenizer.ggml.scores"], "tensors": ONCE + NORMS + MLP + [ATTN[0], ATTN[3]] + [
            (L + "self_attn.%s_proj.weight" % x, [n, H], range(i, i + 1)) for x in "kv" for i, n in ((0, 32), (1, 16))]}),
    "hrm_text": (qwen_bpe, "bfloat16", 0, ("HrmTextForCausalLM", "hrm_text_"), dict({k: v for k, v in SIZES.items() if k != "num_key_value_heads"},
        rms_norm_eps=1e-6, rope_theta=1e4, head_dim=16, H_cycles=2, L_cycles=3, embedding_scale=8.0, prefix_lm=True), {"tensors": [
            ("model.embed_tokens.weight", [V, H]), ("lm_head.weight", [V, H]), ("model.z_L_init", [H])] + [
            ("model.%s_module.layers.{b}.%s.weight" % (x, n), s) for x in "LH" for n, s in (("attn.gqkv_proj", [256, H]), ("attn.o_proj", [H, H]),
            ("mlp.gate_up_proj", [192, H]), ("mlp.down_proj", [H, 96]))]}),
    "bailingmoe3": (qwen_bpe, "bfloat16", 0, ("BailingMoeV3ForCausalLM", "bailing_moe_v3"), dict(SIZES, **{k: v for k, v in MLA.items() if k != "num_key_value_heads"},
        num_hidden_layers=3, rms_norm_eps=1e-6, rope_theta=6e5, head_dim=16, layer_group_size=2, short_conv_kernel_size=4, no_kda_lora=True,
        kda_safe_gate=True, kda_lower_bound=-5.0, gated_attention_proj_granularity_type="head_wise", num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=32, moe_shared_expert_intermediate_size=32, num_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=2.5,
        norm_topk_prob=True, score_function="sigmoid", n_group=2, topk_group=1, num_nextn_predict_layers=1, expert_swiglu_limit_list=[None, 7.0, 7.0]),
        {"tensors": renamed(ONCE, ("embed_tokens", "word_embeddings")) + [(n, s, range(4)) for n, s, *k in NORMS] + [
            (n, s, range(1)) for n, s in kda("attention.", "o_proj") + [(L + "attention.A_log", [4]), (L + "attention.f_proj.weight", [H, H]),
            (L + "attention.g_proj.weight", [H, H])]] + [(n.replace("self_attn.", "attention."), s, range(1, 4)) for n, s in MLA_Q + MLA_KV[:3] + [
            (L + "self_attn.dense.weight", [H, 48]), (L + "self_attn.g_proj.weight", [4, H])]] + only(range(1), MLP) + only(range(1, 4), experts() +
            SHARED + [(L + "mlp.gate.expert_bias", [4])]) + only(range(3, 4), W(L, (("eh_proj", [H, 2 * H]), ("enorm", [H]), ("hnorm", [H]),
            ("final_layernorm", [H]))))}),
    "hy_v4": (qwen_bpe, "bfloat16", 0, ("HYV4ForCausalLM", "hy_v4_"), dict(SIZES, **{**MLA, "num_key_value_heads": 2}, num_hidden_layers=3,
        rms_norm_eps=1e-5, rope_theta=1e4, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=32, n_group=1, topk_group=1,
        routed_scaling_factor=2.5, norm_topk_prob=True, mlp_layer_types=["dense", "sparse", "sparse"], indexer_types=["full", "shared", "full"],
        index_n_heads=2, index_head_dim=16, index_topk=64, hc_mult=2, hc_eps=1e-6, hc_magnitude=2.0, swiglu_limit=10.0, num_nextn_predict_layers=1,
        enable_lm_head_fp32=True), {"tensors": ONCE + NORMS + MLA_Q + MLA_KV + W(L + "self_attn.", (("linear_gate", [48, H]),)) + [
            (L + "self_attn.learnable_sink_param", [4])] + only(range(1), MLP + INDEXER) + only(range(2, 3), INDEXER) + only(range(1, 3), SHARED + [
            (L + "mlp.gate.weight", [4, H]), (L + "mlp.gate.e_score_correction_bias", [4]), (L + "mlp.experts.gate_up_proj", [4, 64, H]),
            (L + "mlp.experts.down_proj", [4, H, 32])]) + [(L + "hc_%s_layer.hc_pre.hc_%s" % (x, y), s) for x in ("attn", "mlp") for y, s in (
            ("fn", [8, 128]), ("base", [8]), ("scale", [2]))] + [("model.hc_head.hc_head_" + y, s) for y, s in (("fn", [2, 128]), ("base", [2]),
            ("scale", [1]))] + [("model.mtp_layers.0.a.weight", [8])], "but": {"lost": ("model.mtp_layers.",)}}),
    "hunyuan_v1_dense-vision": (plain_bpe(DEEPSEEK3, "hunyuan-dense"), "bfloat16", 0, ("HunYuanVLForConditionalGeneration", "hunyuan_vl_"), dict(SIZES,
        rms_norm_eps=1e-5, head_dim=16, eod_token_id=2, pad_token_id=-1, tie_word_embeddings=True, use_qk_norm=True, rope_theta=1e4, rope_scaling={
        "type": "xdrope", "alpha": 1000.0, "factor": 1.0, "xdrope_section": [2, 2, 2, 2]}, vision_config=dict(hidden_size=8)), {
        "tensors": ONCE[:2] + NORMS + ATTN + renamed(QKNORM, ("q_norm", "query_layernorm"), ("k_norm", "key_layernorm")) + MLP + [
            ("vit.a.weight", [8])], "but": {"lost": ("vit.",)}}),
    "dots3": (plain_bpe(LLAMA3, "dbrx", ["<|pad|>", "<|endofassistant|>", "<|im_end|>"]), "bfloat16", 0, ("Dots3NoteForCausalLM", "dots3_note_"), dict(SIZES, **{**MLA, "num_key_value_heads": 4},
        num_hidden_layers=3, rms_norm_eps=1e-5, rope_theta=1e6, swa_rope_theta=1e4, swa_num_attention_heads=2, swa_q_lora_rank=16, swa_kv_lora_rank=32,
        swa_qk_nope_head_dim=24, swa_qk_rope_head_dim=8, swa_v_head_dim=20, swa_head_dim=32, sliding_window_size=64, layer_types=["full_attention",
        "sliding_attention", "full_attention"], n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=32,
        first_k_dense_replace=1, n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=2.5, scoring_func="sigmoid", topk_method="noaux_tc",
        index_n_heads=2, index_head_dim=16, index_topk=64, apply_mla_qkv_lora_rescale=True), {"tensors": ONCE + NORMS + MLA_Q[:2] + [
            (L + n + ".weight", s, which) for which, q, kva, kv, kvb, o, g in ((range(0, 1), 96, 24, 16, 112, 48, 4), (range(1, 2), 64, 40, 32, 88, 40, 2),
            (range(2, 3), 96, 24, 16, 112, 48, 4)) for n, s in (("self_attn.q_b_proj", [q, 16]), ("self_attn.kv_a_proj_with_mqa", [kva, H]),
            ("self_attn.kv_a_layernorm", [kv]), ("self_attn.kv_b_proj", [kvb, kv]), ("self_attn.o_proj", [H, o]), ("self_attn.g_proj", [g, H]),
            ("self_attn.k_rope_only_layernorm", [8]))] + only(range(0, 1), INDEXER + MLP) + only(range(2, 3), INDEXER) + only(range(1, 3), experts() + SHARED + [
            (L + "mlp.gate.e_score_correction_bias", [4])]), "but": {"near": ("_a_layernorm",)}}),
    "glm5_next": (glm_bpe, "bfloat16", 0, ("Glm5NextForConditionalGeneration", "glm5_next_"), dict(text_config=dict(SIZES, **{**MLA, "qk_rope_head_dim": 0,
        "num_key_value_heads": 4}, num_hidden_layers=2, rms_norm_eps=1e-5, layer_types=["linear_attention", "deepseek_sparse_attention"],
        linear_attn_config=dict(num_heads=4, head_dim=16, short_conv_kernel_size=4, gate_lower_bound=-5.0), mla_use_nope=True, index_n_heads=2,
        index_head_dim=16, index_topk=64, index_kpool=4, hc_mult=2, hc_sinkhorn_iters=20, hc_eps=1e-6, n_routed_experts=4, num_experts_per_tok=2,
        n_shared_experts=1, moe_intermediate_size=32, first_k_dense_replace=1, n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=2.5,
        swiglu_limit=10.0, num_nextn_predict_layers=1), vision_config=dict(hidden_size=8)), {"tensors": renamed(ONCE + [(n, s, range(3)) for n, s, *k in NORMS] + [
            (n, s, range(1)) for n, s in kda("self_attn.", "o_proj") + [(L + "self_attn." + n, s) for n, s in (("A_log", [4]), ("f_a_proj.weight", [16, H]),
            ("f_b_proj.weight", [H, 16]), ("g_a_proj.weight", [16, H]), ("g_b_proj.weight", [H, 16]))]] + only(range(1, 3), MLA_Q[:2] + INDEXER + W(
            L + "self_attn.", (("q_b_proj", [64, 16]), ("kv_a_proj_with_mqa", [16, H]), ("kv_a_layernorm", [16]), ("kv_b_proj", [112, 16]),
            ("o_proj", [H, 48]))) + [(L + "self_attn.indexer.index_kpool_compress_ape", [4, 16]), (L + "self_attn.indexer.index_kpool_compress_gate",
            [16, H])]) + only(range(3), [(L + "hc_%s_%s" % (x, y), s) for x in ("attn", "ffn") for y, s in (("fn", [8, 128]), ("base", [8]),
            ("scale", [3]))]) + only(range(1), MLP) + only(range(1, 3), experts() + SHARED + [(L + "mlp.gate.e_score_correction_bias", [4])]) +
            only(range(2, 3), W(L, (("eh_proj", [H, 2 * H]), ("enorm", [H]), ("hnorm", [H]), ("shared_head.norm", [H])))), ("model.", "model.language_model.")) + [
            ("model.visual.a.weight", [8])], "but": {"cut": "language_model.", "lost": ("model.visual.",)}}),
    "gemma4_assistant": (gemma4, "bfloat16", 0, ("Gemma4AssistantForCausalLM", "gemma4_assistant_"), dict(text_config=dict(hidden_size=32,
        intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16, global_head_dim=32,
        hidden_size_per_layer_input=0, num_kv_shared_layers=2, moe_intermediate_size=None, sliding_window=64, rms_norm_eps=1e-6, max_position_embeddings=512, layer_types=[
        "sliding_attention", "full_attention"], rope_parameters=dict(full_attention=dict(rope_type="proportional", rope_theta=1e6,
        partial_rotary_factor=0.25), sliding_attention=dict(rope_type="default", rope_theta=1e4))), backbone_hidden_size=64), {"but": {"none": "its config.json nests that of the text"},
        "tensors": [("model.embed_tokens.weight", [V, 32]), ("model.norm.weight", [32], "norm"), ("pre_projection.weight", [32, 128]),
            ("post_projection.weight", [64, 32]), ("masked_embedding.centroids.weight", [8, 32])] + [(L + n + ".weight", [32], "norm") for n in (
            "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")] + [(L + "layer_scalar", [1])] + [
            (L + n + ".weight", s, range(i, i + 1)) for i, d in ((0, 16), (1, 32)) for n, s in (("self_attn.q_proj", [4 * d, 32]),
            ("self_attn.q_norm", [d]), ("self_attn.o_proj", [32, 4 * d]), ("mlp.gate_proj", [48, 32]), ("mlp.up_proj", [48, 32]),
            ("mlp.down_proj", [32, 48]))]}),
    "glm4-ocr": (glm_bpe, "bfloat16", 0, ("GlmOcrForConditionalGeneration", "glm_ocr_"), dict(text_config=dict(SIZES, rms_norm_eps=1e-5, head_dim=16,
        num_nextn_predict_layers=1, rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2],
        "partial_rotary_factor": 1.0}), vision_config=dict(hidden_size=8)), {"tensors": renamed(ONCE + [(n, s, range(3)) for n, s, *k in NORMS + ATTN] + only(range(3), W(L, (
            ("post_self_attn_layernorm", [H]), ("post_mlp_layernorm", [H]), ("mlp.gate_up_proj", [192, H]), ("mlp.down_proj", [H, 96])))) + only(
            range(2, 3), W(L, (("eh_proj", [H, 2 * H]), ("enorm", [H]), ("hnorm", [H]), ("shared_head.norm", [H]), ("shared_head.head", [V, H]),
            ("embed_tokens", [V, H])))), ("model.", "model.language_model.")) + [("model.visual.a.weight", [8])],
        "but": {"cut": "language_model.", "lost": ("model.visual.",)}}),
    "glm4-vision": (glm_bpe, "bfloat16", 0, ("Glm4vForConditionalGeneration", "glm4v_"), dict(text_config=dict(SIZES, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1], "partial_rotary_factor": 0.5}),
        vision_config=dict(hidden_size=8)), {"tensors": renamed(ONCE + NORMS + ATTN + biased(ATTN[:3])[1::2] + W(L, (("post_self_attn_layernorm", [H]),
            ("post_mlp_layernorm", [H]), ("mlp.gate_up_proj", [192, H]), ("mlp.down_proj", [H, 96]))), ("model.", "model.language_model.")) + [
            ("model.visual.a.weight", [8])], "but": {"cut": "language_model.", "lost": ("model.visual.",)}}),
    "gemma4-unified": (gemma4, "bfloat16", 0, ("Gemma4UnifiedForConditionalGeneration", "gemma4_unified_"), dict(text_config=dict(hidden_size=32,
        intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16, global_head_dim=32,
        hidden_size_per_layer_input=0, num_kv_shared_layers=0, sliding_window=64, moe_intermediate_size=None, rms_norm_eps=1e-6,
        max_position_embeddings=512, layer_types=["sliding_attention", "full_attention"], rope_parameters=dict(full_attention=dict(
        rope_type="proportional", rope_theta=1e6, partial_rotary_factor=0.25), sliding_attention=dict(rope_type="default", rope_theta=1e4)))), {
        "generation": dict(suppress_tokens=[5, 6, 7]), "tensors": renamed([("model.embed_tokens.weight", [V, 32]), ("model.norm.weight", [32], "norm")] + [
            (L + n + ".weight", [32], "norm") for n in ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
            "post_feedforward_layernorm")] + [(L + "layer_scalar", [1])] + [(L + n + ".weight", s, range(i, i + 1)) for i, d in ((0, 16), (1, 32))
            for n, s in (("self_attn.q_proj", [4 * d, 32]), ("self_attn.k_proj", [2 * d, 32]), ("self_attn.v_proj", [2 * d, 32]),
            ("self_attn.q_norm", [d]), ("self_attn.k_norm", [d]), ("self_attn.o_proj", [32, 4 * d]), ("mlp.gate_proj", [48, 32]),
            ("mlp.up_proj", [48, 32]), ("mlp.down_proj", [32, 48]))], ("model.", "model.language_model.")) + [("model.vision_embedder.a.weight", [8]),
            ("model.embed_audio.a.weight", [8])], "but": {"cut": "language_model.", "lost": ("model.vision_embedder.", "model.embed_audio.")}}),
    "qwen3_5-minicpm": (plain_bpe(QWEN35, "qwen35", nfc=True), "bfloat16", 0, ("MiniCPMV4_6ForConditionalGeneration", "minicpmv4_6_"), dict(text_config=dict(
        SIZES, rms_norm_eps=1e-6, head_dim=16, layer_types=["linear_attention", "full_attention"], linear_key_head_dim=8, linear_value_head_dim=8,
        linear_num_key_heads=2, linear_num_value_heads=4, linear_conv_kernel_dim=4, full_attention_interval=2, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1],
        "mrope_interleaved": True}), vision_config=dict(hidden_size=8)), {"mend": ["mtp"], "tensors": renamed([(n, s, *k) for n, s, *k in ONCE[:2] + NORMS] + MLP + only(
            range(1, 2), ATTN[1:] + QKNORM + W(L, (("self_attn.q_proj", [128, H]),))) + [(L + "linear_attn." + n, s, range(1)) for n, s in (
            ("in_proj_qkv.weight", [64, H]), ("in_proj_z.weight", [32, H]), ("in_proj_a.weight", [4, H]), ("in_proj_b.weight", [4, H]),
            ("conv1d.weight", [64, 1, 4]), ("A_log", [4]), ("dt_bias", [4]), ("norm.weight", [8]), ("out_proj.weight", [H, 32]))],
            ("model.", "model.language_model.")) + [("model.vision_tower.a.weight", [8]), ("model.merger.a.weight", [8]), ("mtp.norm.weight", [H])],
        "but": {"cut": "language_model.", "lost": ("model.vision_tower.", "model.merger.", "mtp.")}}),
    "talkie": (qwen_bpe, "bfloat16", 0, ("TalkieForCausalLM", "talkie"), dict({k: v for k, v in SIZES.items() if k != "num_key_value_heads"},
        head_dim=16, rope_theta=1e6), {"tensors": [("model.embed.weight", [V, H]), ("lm_head", [V, H]), ("lm_head_gain.w_g", [1])] + [
            ("model.blocks.{b}." + n, s) for n, s in (("attn.attn_query.weight", [H, H]), ("attn.attn_key.weight", [H, H]), ("attn.attn_value.weight",
            [H, H]), ("attn.attn_resid.weight", [H, H]), ("attn.head_gain.head_g", [4]), ("attn_gain.a_g", [1]), ("mlp_gain.a_g", [1]),
            ("embed_skip.a_g", [1]), ("mlp.mlp_gate.weight", [FF, H]), ("mlp.mlp_linear.weight", [FF, H]), ("mlp.mlp_resid.weight", [H, FF]))]}),
    "rwkv6qwen2": (qwen_bpe, "bfloat16", 0, ("RWKV6Qwen2ForCausalLM", "rwkv6qwen2"), dict(SIZES, rms_norm_eps=1e-6, lora_rank_tokenshift=8,
        lora_rank_decay=16), {"mend": ["lerp"], "tensors": LLAMA[:3] + NORMS + MLP + ATTN + biased(ATTN[:3])[1::2] + [(L + "self_attn." + n, s) for n, s in (
            ("gate.weight", [H, H]), ("time_maa_w1", [H, 40]), ("time_maa_w2", [5, 8, H]), ("time_maa_x", [1, 1, H]), ("time_maa_w", [1, 1, H]),
            ("time_maa_k", [1, 1, H]), ("time_maa_v", [1, 1, H]), ("time_maa_r", [1, 1, H]), ("time_maa_g", [1, 1, H]), ("time_decay", [1, 1, H]),
            ("time_decay_w1", [H, 16]), ("time_decay_w2", [16, H]))]}),
    "arwkv7": (qwen_bpe, "bfloat16", 0, ("RwkvHybridForCausalLM", "rwkv_hybrid"), dict(SIZES, rms_norm_eps=1e-6, head_size=16, wkv_has_gate=False,
        wkv_version=7), {"mend": ["lerp"], "tensors": LLAMA[:3] + NORMS + MLP + [(L + "self_attn.time_mixer." + n, s) for n, s in (
            *(("x_" + x, [1, 1, H]) for x in "rwkva"), *((x + "0", [1, 1, H]) for x in "wa"), *((x + "1", [H, 8]) for x in "wa"),
            *((x + "2", [8, H]) for x in "wa"), ("k_k", [1, 1, H]), ("k_a", [1, 1, H]), ("r_k", [4, 16]),
            *((x + ".weight", [H, H]) for x in ("receptance", "key", "value", "output")))] + [
            (L + "self_attn.time_mixer." + n, s, range(1, 2)) for n, s in (("v0", [1, 1, H]), ("v1", [H, 8]), ("v2", [8, H]))],
        "but": {"other": ("model.layers.0.self_attn.time_mixer.v",)}}),
    "lfm2_speech": (plain_bpe(LLAMA3, "lfm2"), "bfloat16", 0, ("Lfm25AudioTokenizer", "lfm2_audio_"), dict(lfm=dict(SIZES, norm_eps=1e-5, rope_theta=1e6,
        block_ff_dim=96, block_auto_adjust_ff_dim=False, block_ffn_dim_multiplier=1.0, block_multiple_of=16, conv_L_cache=3,
        layer_types=["conv", "full_attention"]), sliding_window=30, output_size=40), {"layers": 2, "tensors": [("lfm.embedding_norm.weight", [H], "norm"), ("lin.weight", [40, H]), ("lin.bias", [40]),
            ("emb.emb.weight", [8, 8]), ("istft.window", [8])] + [("lfm.layers.{b}." + n + ".weight", s, *k) for n, s, *k in (
            ("operator_norm", [H], "norm"), ("ffn_norm", [H], "norm"), ("feed_forward.w1", [FF, H]), ("feed_forward.w2", [H, FF]),
            ("feed_forward.w3", [FF, H]), ("conv.conv", [H, 1, 3], range(1)), ("conv.in_proj", [3 * H, H], range(1)), ("conv.out_proj", [H, H], range(1)),
            *(("self_attn." + n, s, range(1, 2)) for n, s in (("q_proj", [H, H]), ("k_proj", [KV, H]), ("v_proj", [KV, H]), ("out_proj", [H, H]),
            ("q_layernorm", [HD]), ("k_layernorm", [HD]))))], "but": {"cut": "lfm.", "put": "", "lost": ("emb.", "istft."), "other": ("embedding_norm", "layers.")}}),
    "wavtokenizer": (qwen_bpe, "bfloat16", 0, ("WavTokenizerDec", "wavtokenizer"), dict(hidden_size=66, n_embd_features=16, n_ff=96, n_head=1,
        layer_norm_epsilon=1e-6, group_norm_epsilon=1e-6, group_norm_groups=4, max_position_embeddings=512, n_layer=6, posnet=dict(n_embd=32, n_layer=6),
        convnext=dict(n_embd=32, n_layer=2)), {"layers": 2, "tensors": [("backbone." + n, s) for n, s in (("embedding.weight", [V, 16]), ("norm.weight", [32]),
            ("norm.bias", [32]), ("embed.weight", [32, 16, 7]), ("embed.bias", [32, 1]), ("final_layer_norm.weight", [32]), ("final_layer_norm.bias",
            [32]))] + [("head.out.weight", [66, 32]), ("head.out.bias", [66]), ("x.codebook.inited", [1])] + [("backbone.convnext.{b}." + n, s)
            for n, s in (("dwconv.weight", [32, 1, 7]), ("dwconv.bias", [32, 1]), ("norm.weight", [32]), ("norm.bias", [32]), ("pwconv1.weight", [96, 32]),
            ("pwconv1.bias", [96]), ("pwconv2.weight", [32, 96]), ("pwconv2.bias", [32]), ("gamma.weight", [32]))] + [("backbone.posnet.{b}." + n, s, which)
            for which in (range(0, 2), range(3, 5)) for n, s in (("norm1.weight", [32, 1]), ("norm1.bias", [32, 1]), ("conv1.weight", [32, 32, 3]),
            ("conv1.bias", [32, 1]), ("norm2.weight", [32, 1]), ("norm2.bias", [32, 1]), ("conv2.weight", [32, 32, 3]), ("conv2.bias", [32, 1]))] + [
            ("backbone.posnet.{b}." + n, s, range(2, 3)) for n, s in (("norm.weight", [32, 1]), ("norm.bias", [32, 1]), *((x + y, z) for x in ("q", "k", "v",
            "proj_out") for y, z in ((".weight", [32, 32, 1]), (".bias", [32, 1]))))] + [("backbone.posnet.{b}.norm." + n, [32], range(5, 6)) for n in (
            "weight", "bias")], "but": {"lost": ("x.",)}}),
    "gemma3n": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>"]), "bfloat16", 8, ("Gemma3nForConditionalGeneration", "gemma3n_"), dict(
        text_config=dict(hidden_size=32, intermediate_size=[48, 48], num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
        rms_norm_eps=1e-6, max_position_embeddings=512, hidden_size_per_layer_input=8, vocab_size_per_layer_input=360, altup_active_idx=0,
        altup_num_inputs=4, num_kv_shared_layers=0, sliding_window=64, layer_types=["sliding_attention", "full_attention"], rope_theta=1e6,
        rope_local_base_freq=1e4, final_logit_softcapping=30.0, activation_sparsity_pattern=[0.95, 0.0], **BASE)), {"tensors": renamed([
            ("model.embed_tokens.weight", [V, 32]), ("model.embed_tokens_per_layer.weight", [360, 16]), ("model.norm.weight", [32], "norm"),
            ("model.per_layer_model_projection.weight", [16, 32]), ("model.per_layer_projection_norm.weight", [8])] + [("model.altup_%s.%d.weight" % (n, i),
            [32, 32]) for n in ("projections", "unembed_projections") for i in range(3)] + [(L + n, s) for n, s in (("altup.correction_coefs.weight", [4, 4]),
            ("altup.prediction_coefs.weight", [16, 4]), ("altup.correct_output_scale", [32]), ("altup.modality_router.weight", [4, 32]),
            ("altup.router_norm.weight", [32]), ("laurel.linear_left.weight", [8, 32]), ("laurel.linear_right.weight", [32, 8]),
            ("laurel.post_laurel_norm.weight", [32]), ("per_layer_input_gate.weight", [8, 32]), ("per_layer_projection.weight", [32, 8]),
            ("post_per_layer_input_norm.weight", [32]), ("input_layernorm.weight", [32]), ("post_attention_layernorm.weight", [32]),
            ("pre_feedforward_layernorm.weight", [32]), ("post_feedforward_layernorm.weight", [32]), ("self_attn.q_proj.weight", [64, 32]),
            ("self_attn.k_proj.weight", [32, 32]), ("self_attn.v_proj.weight", [32, 32]), ("self_attn.o_proj.weight", [32, 64]),
            ("self_attn.q_norm.weight", [16]), ("self_attn.k_norm.weight", [16]), ("mlp.gate_proj.weight", [48, 32]), ("mlp.up_proj.weight", [48, 32]),
            ("mlp.down_proj.weight", [32, 48]))], ("model.", "model.language_model.")) + [("model.vision_tower.a.weight", [8])],
        "but": {"cut": "language_model.", "lost": ("model.vision_tower.",), "more": {"embed_tokens_per_layer": 8}}}),
    "muse_glimmer": (llama_bpe, "bfloat16", 0, ("MuseGlimmerForConditionalGeneration", "muse_glimmer_"), dict(text_config=dict(SIZES, head_dim=16,
        rms_norm_eps=1e-5, rope_theta=5e5, sliding_window=64, layer_types=["sliding_attention", "full_attention"], final_logit_softcapping=20.0,
        qk_scale_factor=3.87, output_multiplier=0.19611613513818404), vision_config=dict(hidden_size=8)), {"tensors": renamed(LLAMA + [(L + n, s) for n, s in (
            ("pre_feedforward_layernorm.weight", [H]), ("post_feedforward_layernorm.weight", [H]), ("self_attn.gate_proj.weight", [H, H]))],
            ("model.", "model.language_model.")) + [("model.vision_tower.a.weight", [8]), ("model.vision_adapter.fc1.weight", [8, 8])],
        "but": {"cut": "language_model.", "lost": ("model.vision_",)}}),
    "granite_switch": (plain_bpe(DIGITS, "refact"), "bfloat16", 0, ("GraniteSwitchForCausalLM", "granite_switch"), dict(SIZES, num_hidden_layers=3,
        rms_norm_eps=1e-5, rope_theta=1e4, shared_intermediate_size=48, num_local_experts=0, num_experts_per_tok=2, num_adapters=3, max_lora_rank=8, adapter_token_ids=[5, 6, 7],
        adapter_substitute_token_ids=[8, 9, 10], attention_multiplier=0.0625, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22,
        tie_word_embeddings=True), {"tensors": ONCE[:2] + only(range(2), NORMS) + [(L + n, s, range(2)) for n, s in (
            ("self_attn.qkv_proj.base_layer.weight", [128, H]), *(("self_attn.qkv_proj.lora_A_slices.%d" % i, [3, 1, 8, H]) for i in range(3)),
            *(("self_attn.qkv_proj.lora_B_slices.%d" % i, [3, 1, n, 8]) for i, n in enumerate((H, KV, KV))), ("self_attn.o_proj.base_layer.weight", [H, H]),
            ("self_attn.o_proj.lora_A", [3, 1, 8, H]), ("self_attn.o_proj.lora_B", [3, 1, H, 8]), ("shared_mlp.input_linear.base_layer.weight", [96, H]),
            *(("shared_mlp.input_linear.lora_%s_slices.%d" % (x, i), s) for i in range(2) for x, s in (("A", [3, 1, 8, H]), ("B", [3, 1, 48, 8]))),
            ("shared_mlp.output_linear.base_layer.weight", [H, 48]), ("shared_mlp.output_linear.lora_A", [3, 1, 8, 48]),
            ("shared_mlp.output_linear.lora_B", [3, 1, H, 8]))] + [("model.switch.a", [3]), ("model.adapter_token_ids", [3])],
        "but": {"lost": ("model.switch.", "model.adapter_")}}),
    "dflash": (qwen_bpe, "bfloat16", 0, ("DFlashDraftModel", "qwen3_"), dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e6, head_dim=16, block_size=8,
        dflash_config=dict(mask_token_id=5, target_layer_ids=[1, 2, 3], conv_kernel_size=3, conv_group_size=2, selector_rank=4, selector_top_k=2),
        layer_types=["sliding_attention", "full_attention"], sliding_window=64, use_sliding_window=True, rope_is_neox_style=False), {"tensors": [
            ("fc.weight", [H, 3 * H]), ("hidden_norm.weight", [H]), ("norm.weight", [H])] + renamed(NORMS + ATTN + QKNORM + MLP, ("model.", "")) + [
            ("layers.{b}." + n, s) for n, s in (("self_attn.sinks", [4]), ("attention_conv.base_kernel", [3, H]), ("attention_conv.kernel_projection.weight", [6, H]),
            ("mlp_conv.base_kernel", [3, H]), ("mlp_conv.kernel_projection.weight", [6, H]))] + [("candidate_selector.predecessor_codebook", [V, 4]),
            ("candidate_selector.successor_codebook", [V, 4]), ("candidate_selector.hidden_projection.weight", [4, H])],
        "but": {"near": ("q_proj", "k_proj", "q_norm", "k_norm")}}),
    "dflash-spark": (qwen_bpe, "bfloat16", 0, ("Qwen3DSparkModel", "qwen3_"), dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e6, head_dim=16, block_size=8,
        mask_token_id=5, target_layer_ids=[1, 2, 3], markov_head_type="vanilla"), {"tensors": [("fc.weight", [H, 3 * H]), ("hidden_norm.weight", [H]),
            ("norm.weight", [H]), ("lm_head.weight", [V, H]), ("embed_tokens.weight", [V, H]), ("markov_head.markov_w1.weight", [V, 8]),
            ("markov_head.markov_w2.weight", [8, V]), ("confidence_head.proj.weight", [1, H]), ("confidence_head.proj.bias", [1])] + renamed(NORMS + ATTN + QKNORM + MLP,
            ("model.", "")), "but": {"lost": ("lm_head.",)}}),
}
