"""hf_text_models: more cases of hf_models, for the classes of text decoders: those of transformers, and with "tensors" those whose code it
does not have. These are named (class, model_type), and their config.json is the members as they are; a tensor is (name, shape) or
(name, shape, kind), with a range of layers in place of the kind or before it, where {b} stands for each layer and {x} for each expert."""
from hf_tokenizers import (CHAT, DEEPSEEK3, DIGITS, GPT_2, GPT_4O, LLAMA3, QWEN2, TEKKEN, deepseek_bpe, glm_bpe, llama_bpe, llama_json,
                           plain_bpe, qwen_bpe, spm, tiktoken)

BASE = dict(bos_token_id=1, eos_token_id=2)
im = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
MROPE = {"type": "mrope", "mrope_section": [4, 2, 2]}
SIZES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512)
V, H, FF, HD, KV = "vocab", 64, 96, 16, 32
ONCE = [("model.embed_tokens.weight", [V, H]), ("model.norm.weight", [H], "norm"), ("lm_head.weight", [V, H])]
L = "model.layers.{b}."
NORMS = [(L + "input_layernorm.weight", [H], "norm"), (L + "post_attention_layernorm.weight", [H], "norm")]
ATTN = [(L + "self_attn.%s_proj.weight" % x, s) for x, s in (("q", [H, H]), ("k", [KV, H]), ("v", [KV, H]), ("o", [H, H]))]
QKNORM = [(L + "self_attn.%s_norm.weight" % x, [HD], "norm") for x in "qk"]
MLP = [(L + "mlp.%s_proj.weight" % x, s) for x, s in (("gate", [FF, H]), ("up", [FF, H]), ("down", [H, FF]))]
LLAMA = ONCE + NORMS + ATTN + MLP
gpt2 = plain_bpe(GPT_2, "gpt-2", ["<|endoftext|>"])
star = plain_bpe(DIGITS, "starcoder", ["<|endoftext|>"])


DSA = dict(q_lora_rank=16, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12, num_key_value_heads=4,
           num_experts_per_tok=2, moe_intermediate_size=16, n_group=1, topk_group=1, index_n_heads=2, index_head_dim=16, index_topk=64)


def biased(tensors):
    """Returns the tensors, and a bias for each weight."""
    return [t for name, shape, *kind in tensors for t in ((name, shape, *kind), (name.replace(".weight", ".bias"), shape[:1]))]


def experts(names="gate up down", ff=32, router="mlp.gate", at="mlp.experts.{x}.", suffix="_proj.weight", n=4):
    gate, up, down = names.split(" ")
    return [(L + router + ".weight", [n, H])] * bool(router) + [
        (L + at + gate + suffix, [ff, H]), (L + at + up + suffix, [ff, H]), (L + at + down + suffix, [H, ff])]


SHARED = [(L + "mlp.shared_experts.%s_proj.weight" % x, s) for x, s in (("gate", [32, H]), ("up", [32, H]), ("down", [H, 32]))]
BAILING = [(L + "attention." + n + ".weight", s) for n, s in (
    ("query_key_value", [128, H]), ("dense", [H, H]), ("query_layernorm", [HD]), ("key_layernorm", [HD]))]


def renamed(tensors, *pairs):
    out = []
    for name, *rest in tensors:
        for old, new in pairs:
            name = name.replace(old, new)
        out.append((name, *rest))
    return out


def STEP(which, width):
    return [(L + n + ".weight", s, which) for n, s in (
        ("input_layernorm", [H]), ("post_attention_layernorm", [H]), ("self_attn.q_proj", [width, H]), ("self_attn.k_proj", [KV, H]),
        ("self_attn.v_proj", [KV, H]), ("self_attn.o_proj", [H, width]), ("self_attn.q_norm", [HD]), ("self_attn.k_norm", [HD]),
        ("self_attn.g_proj", [width // HD, H]))]


STEPMOE = [(L + n, s) for n, s in (("moe.gate.weight", [4, H]), ("moe.router_bias", [4]), ("moe.gate_proj.weight", [4, 32, H]),
    ("moe.up_proj.weight", [4, 32, H]), ("moe.down_proj.weight", [4, H, 32]), ("share_expert.gate_proj.weight", [32, H]),
    ("share_expert.up_proj.weight", [32, H]), ("share_expert.down_proj.weight", [H, 32]))]

#   as in hf_models
CASES = {
    "glm4": (glm_bpe, "bfloat16", 2, "Glm4", dict(head_dim=16, attention_bias=True, partial_rotary_factor=0.5, **im), {}),
    "qwen2_vl": (qwen_bpe, "bfloat16", 0, ("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl"), dict(
        SIZES, rope_theta=1e6, rms_norm_eps=1e-6, rope_scaling=MROPE, tie_word_embeddings=False, vision_config=dict(hidden_size=8)),
        {"tensors": LLAMA + biased(ATTN[:3])[1::2] + [("visual.blocks.0.norm1.weight", [8])], "but": {"lost": ("visual.",)}}),
    "qwen2_vl-omni": (qwen_bpe, "bfloat16", 0, ("Qwen2_5OmniModel", "qwen2_5_omni"), dict(thinker_config=dict(text_config=dict(
        SIZES, rope_theta=1e6, rms_norm_eps=1e-6, rope_scaling=MROPE, tie_word_embeddings=False))),
        {"tensors": [("thinker." + n, *r) for n, *r in LLAMA + biased(ATTN[:3])[1::2]] + [
            ("talker.model.norm.weight", [8]), ("token2wav.a.weight", [8]), ("thinker.visual.a.weight", [8]), ("thinker.audio_tower.a.weight", [8])],
         "but": {"cut": "thinker.", "lost": ("talker.", "token2wav.", "thinker.visual.", "thinker.audio_tower.")}}),
    "arcee": (llama_bpe, "bfloat16", 0, "Arcee", dict(tie_word_embeddings=False, hidden_act="relu2"), {}),
    "nanbeige": (spm, "bfloat16", 0, ("NanbeigeForCausalLM", "nanbeige"), dict(
        SIZES, rms_norm_eps=1e-5, rope_theta=1e6, num_loops=2, skip_loop_final_norm=True, **BASE), {"tensors": LLAMA}),
    "maincoder": (qwen_bpe, "bfloat16", 0, ("MaincoderForCausalLM", "maincoder"), dict(
        SIZES, rms_norm_eps=1e-5, rope_theta=1e6, head_dim=16), {"tensors": LLAMA + QKNORM}),
    "mellum": (star, "bfloat16", 0, "Mellum", dict(
        head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, sliding_window=64,
        layer_types=["sliding_attention", "full_attention"]), {}),
    "orion": (spm, "bfloat16", 0, ("OrionForCausalLM", "orion"), dict(SIZES, rms_norm_eps=1e-5, **BASE), {
        "tensors": biased(NORMS) + [("model.norm.bias", [H])] + ONCE + ATTN + MLP}),
    "codeshell": (star, "bfloat16", 0, ("CodeShellForCausalLM", "kclgpt"), dict(
        n_embd=64, n_head=4, n_layer=2, n_positions=512, num_query_groups=2, layer_norm_epsilon=1e-5, n_inner=256), {"tensors": [
            ("transformer.wte.weight", [V, H]), ("lm_head.weight", [V, H])] + biased([
            ("transformer.ln_f.weight", [H], "norm"), ("transformer.h.{b}.ln_1.weight", [H], "norm"),
            ("transformer.h.{b}.ln_2.weight", [H], "norm"), ("transformer.h.{b}.attn.c_attn.weight", [128, H]),
            ("transformer.h.{b}.attn.c_proj.weight", [H, H]), ("transformer.h.{b}.mlp.c_fc.weight", [256, H]),
            ("transformer.h.{b}.mlp.c_proj.weight", [H, 256])])}),
    "gpt2": (gpt2, "float32", 0, "GPT2", dict(n_embd=64, n_head=4, n_layer=2, n_positions=512), {"model": "GPT2LMHeadModel", "n_ctx": 512}),
    "gptneox": (gpt2, "float16", 0, "GPTNeoX", dict(hidden_act="gelu"), {"hparams": {"rotary_pct": 0.25}, "extra": ["general.file_type"]}),
    "bloom": (gpt2, "bfloat16", 0, "Bloom", dict(n_layer=2, n_head=4), {}),
    "mpt": (gpt2, "bfloat16", 0, ("MPTForCausalLM", "mpt"), dict(
        d_model=64, n_heads=4, n_layers=2, max_seq_len=512, expansion_ratio=4,
        attn_config=dict(alibi=True, alibi_bias_max=8, clip_qkv=6.0)), {"extra": ["general.file_type"], "tensors": [("transformer.wte.weight", [V, H]),
            ("transformer.norm_f.weight", [H], "norm")] + [("transformer.blocks.{b}." + n, s, *k) for n, s, *k in (
            ("norm_1.weight", [H], "norm"), ("attn.Wqkv.weight", [192, H]), ("attn.out_proj.weight", [H, H]), ("norm_2.weight", [H], "norm"),
            ("ffn.up_proj.weight", [256, H]), ("ffn.down_proj.weight", [H, 256]))]}),
    "falcon": (gpt2, "bfloat16", 0, "Falcon", dict(num_kv_heads=2, new_decoder_architecture=True, bias=False, alibi=False), {}),
    "falcon-7b": (gpt2, "bfloat16", 0, "Falcon", dict(new_decoder_architecture=False, multi_query=True, bias=False, alibi=False), {"hparams": {"num_kv_heads": 1}}),
    "starcoder": (star, "bfloat16", 0, "GPTBigCode", dict(n_embd=64, n_head=4, n_layer=2, n_positions=512), {}),
    "refact": (star, "bfloat16", 0, ("GPTRefactForCausalLM", "gpt_refact"), dict(
        n_embd=64, n_head=4, n_layer=2, n_positions=512, layer_norm_epsilon=1e-5), {"tensors": [
            ("transformer.wte.weight", [V, H]), ("transformer.ln_f.weight", [H], "norm"), ("lm_head.weight", [V, H])] + [
            ("transformer.h.{b}." + n, s, *k) for n, s, *k in (
            ("ln_1.weight", [H], "norm"), ("ln_2.weight", [H], "norm"), ("attn.q.weight", [H, H]), ("attn.kv.weight", [32, H]),
            ("attn.c_proj.weight", [H, H]), ("mlp.gate_up_proj.weight", [512, H]), ("mlp.c_proj.weight", [H, 256]))]}),
    "baichuan": (spm, "bfloat16", 0, ("BaichuanForCausalLM", "baichuan"), dict(
        SIZES, num_key_value_heads=4, rms_norm_eps=1e-6, **BASE), {"mend": ["baichuan"], "tensors": ONCE + NORMS + MLP + [
            (L + "self_attn.W_pack.weight", [192, H]), ATTN[3]]}),
    "olmo": (gpt2, "bfloat16", 0, "Olmo", dict(clip_qkv=8.0), {}),
    "olmoe": (gpt2, "bfloat16", 0, "Olmoe", dict(num_experts=4, num_experts_per_tok=2, intermediate_size=32), {}),
    "jais": (gpt2, "bfloat16", 0, ("JAISLMHeadModel", "jais"), dict(
        n_embd=64, n_head=4, n_layer=2, n_positions=512, n_inner=96, layer_norm_epsilon=1e-5, activation_function="swiglu",
        position_embedding_type="alibi", embeddings_scale=14.6, width_scale=0.11), {"tensors": [
            ("transformer.wte.weight", [V, H]), ("lm_head.weight", [V, H]), ("transformer.relative_pe.slopes", [4], "norm")] + biased([
            ("transformer.ln_f.weight", [H], "norm"), ("transformer.h.{b}.ln_1.weight", [H], "norm"),
            ("transformer.h.{b}.ln_2.weight", [H], "norm"), ("transformer.h.{b}.attn.c_attn.weight", [H, 192]),
            ("transformer.h.{b}.attn.c_proj.weight", [H, H]), ("transformer.h.{b}.mlp.c_fc.weight", [H, 96]),
            ("transformer.h.{b}.mlp.c_fc2.weight", [H, 96]), ("transformer.h.{b}.mlp.c_proj.weight", [96, H])]),
        "eager": True, "but": {"lost": ("transformer.relative_pe.",), "near": ("wte", "lm_head")}}),
    "bailingmoe": (qwen_bpe, "bfloat16", 0, ("BailingMoeForCausalLM", "bailing_moe"), dict(
        SIZES, rms_norm_eps=1e-6, rope_theta=6e5, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        num_shared_experts=2, first_k_dense_replace=0, norm_topk_prob=True, norm_head=False), {"tensors": renamed(ONCE, ("embed_tokens", "word_embeddings"))
            + NORMS + [(L + "attention.query_key_value.weight", [128, H]), (L + "attention.dense.weight", [H, H])] + experts() + [
            (L + "mlp.shared_experts.%s_proj.weight" % n, s) for n, s in (("gate", [64, H]), ("up", [64, H]), ("down", [H, 64]))]}),
    "afmoe": (llama_bpe, "bfloat16", 0, "Afmoe", dict(
        head_dim=16, moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2, num_dense_layers=1, num_shared_experts=2,
        sliding_window=64, num_hidden_layers=4, mup_enabled=True), {"members": {"route_norm": True, "score_func": "sigmoid"}}),
    "exaone": (plain_bpe(GPT_2, "exaone"), "bfloat16", 0, ("ExaoneForCausalLM", "exaone"), dict(
        hidden_size=64, intermediate_size=96, num_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=512,
        layer_norm_epsilon=1e-5, rope_theta=1e6, activation_function="silu"), {"extra": ["exaone.attention.layer_norm_rms_epsilon"], "tensors": renamed(
            ONCE, ("model.embed_tokens", "transformer.wte"), ("model.norm", "transformer.ln_f")) + renamed(NORMS + ATTN + MLP,
            ("model.layers", "transformer.h"), ("input_layernorm", "ln_1"), ("post_attention_layernorm", "ln_2"),
            ("self_attn.o_proj", "attn.attention.out_proj"), ("self_attn", "attn.attention"), ("gate_proj", "c_fc_0"), ("up_proj", "c_fc_1"),
            ("down_proj", "c_proj"))}),
    "exaone_moe": (plain_bpe(QWEN2, "exaone-moe"), "bfloat16", 0, "ExaoneMoe", dict(
        head_dim=16, moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2, sliding_window=64, num_hidden_layers=4,
        first_k_dense_replace=1), {"members": {"scoring_func": "sigmoid"}}),
    "exaone_moe-next": (plain_bpe(QWEN2, "exaone-moe"), "bfloat16", 0, ("ExaoneMoEForCausalLM", "exaone_moe"), dict(
        SIZES, head_dim=16, moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2, sliding_window=64, num_shared_experts=1,
        first_k_dense_replace=1, num_nextn_predict_layers=1, rms_norm_eps=1e-5, rope_theta=1e6, routed_scaling_factor=2.5,
        n_group=1, topk_group=1, norm_topk_prob=True, scoring_func="sigmoid", layer_types=["sliding_attention", "full_attention"]),
        {"otherwise": ["exaone-moe.attention.sliding_window_pattern"], "tensors": ONCE + NORMS + ATTN + QKNORM + [(n, s, range(1)) for n, s in MLP] + [
            (n, s, range(1, 2)) for n, s in experts() + [(L + "mlp.e_score_correction_bias", [4])] + SHARED] + [
            (n.replace("model.layers", "mtp.layers"), s, range(1)) for n, s, *k in NORMS + ATTN + QKNORM + MLP] + [
            ("mtp.fc.weight", [H, 2 * H])] + [("mtp.%s.weight" % n, [H]) for n in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")]}),
    "hy_v3": (qwen_bpe, "bfloat16", 0, "HYV3", dict(
        head_dim=16, moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2, mlp_layer_types=["dense", "sparse"]), {}),
    "hunyuan_moe": (plain_bpe(DEEPSEEK3, "hunyuan"), "bfloat16", 0, ("HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe"), dict(
        SIZES, rms_norm_eps=1e-5, rope_theta=1e4, num_experts=4, moe_topk=[2, 2], moe_intermediate_size=[32, 32], num_shared_expert=[1, 1],
        tie_word_embeddings=True, use_qk_norm=True), {"mend": ["vocabulary"], "tensors": ONCE[:2] + NORMS + ATTN + renamed(QKNORM, ("q_norm", "query_layernorm"), (
            "k_norm", "key_layernorm")) + experts(router="mlp.gate.wg") + renamed(MLP, ("mlp.", "mlp.shared_mlp."))}),
    "solar_open": (plain_bpe(LLAMA3, "solar-open", ["<unk>", "<|startoftext|>", "<|endoftext|>"]), "bfloat16", 0, "SolarOpen", dict(
        head_dim=16, moe_intermediate_size=32, n_routed_experts=4, num_experts_per_tok=2), {"members": {"partial_rotary_factor": 1.0}}),
    "granite_swa": (plain_bpe(DIGITS, "refact"), "bfloat16", 0, "GraniteSWA", dict(num_hidden_layers=4, attention_multiplier=0.0625, embedding_multiplier=12.0,
        logits_scaling=8.0, residual_multiplier=0.22), {}),
    "granite_swa-moe": (plain_bpe(DIGITS, "refact"), "bfloat16", 0, "GraniteMoeSWA", dict(
        num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=32), {}),
    "bailingmoe2": (qwen_bpe, "bfloat16", 0, ("BailingMoeV2ForCausalLM", "bailing_moe"), dict(
        SIZES, rms_norm_eps=1e-6, rope_theta=6e5, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        num_shared_experts=1, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=2, topk_group=1,
        score_function="sigmoid", num_nextn_predict_layers=1, partial_rotary_factor=0.5), {"tensors": renamed(ONCE, ("embed_tokens", "word_embeddings"))
            + [(n, s, *k) for n, s, *k in NORMS] + BAILING + [(n, s, range(1)) for n, s in MLP] + [
            (n, s, range(1, 2)) for n, s in experts() + [(L + "mlp.gate.expert_bias", [4])] + SHARED] + [
            (n, s, range(2, 3)) for n, s, *k in NORMS + BAILING + experts() + [(L + "mlp.gate.expert_bias", [4])] + SHARED + [
            (L + "eh_proj.weight", [H, 2 * H])] + [(L + x + ".weight", [H]) for x in ("enorm", "hnorm", "final_layernorm")]]}),
    "cohere": (plain_bpe(DIGITS, "command-r", nfc=True), "float16", 0, "Cohere", dict(**im), {}),
    "cohere2_moe": (qwen_bpe, "bfloat16", 0, "Cohere2Moe", dict(head_dim=16, num_experts=4, num_experts_per_tok=2, sliding_window=64,
        num_hidden_layers=4, **im), {"extra": ["cohere2moe.feed_forward_length"]}),
    "phimoe": (spm, "bfloat16", 0, "Phimoe", dict(num_local_experts=4, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True,
        max_position_embeddings=4096, original_max_position_embeddings=512, rope_scaling={"type": "longrope", "short_mscale": 1.2,
        "long_mscale": 1.2, "short_factor": [1 + i / 64 for i in range(8)], "long_factor": [1 + i * i / 7 for i in range(8)]}, **BASE),
        {"named": ("PhiMoEForCausalLM", "phimoe")}),
    "nemotron": (spm, "bfloat16", 0, "Nemotron", dict(head_dim=16, **BASE), {}),
    "minicpm": (spm, "bfloat16", 0, ("MiniCPMForCausalLM", "minicpm"), dict(
        SIZES, rms_norm_eps=1e-5, rope_theta=1e4, scale_emb=12, scale_depth=1.4, dim_model_base=16, **BASE), {"tensors": LLAMA}),
    "minicpm3": (spm, "bfloat16", 0, "MiniCPM3", dict(q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8,
        v_head_dim=12, num_key_value_heads=4, **BASE), {}),
    "jais2": (gpt2, "bfloat16", 0, "Jais2", dict(head_dim=16), {}),
    "deepseek_v32": (deepseek_bpe("deepseek-v3"), "bfloat16", 0, "DeepseekV32", dict(**DSA, first_k_dense_replace=1, n_routed_experts=4,
        mlp_layer_types=["dense", "sparse"], num_nextn_predict_layers=0), {"mend": ["vocabulary"], "members": {"scoring_func": "sigmoid"}}),
    "glm_dsa": (glm_bpe, "bfloat16", 0, "GlmMoeDsa", dict(**DSA, n_routed_experts=4, mlp_layer_types=["dense", "sparse"]),
        {"members": {"first_k_dense_replace": 1, "scoring_func": "sigmoid"}}),
    "deepseek": (deepseek_bpe("deepseek-v3"), "bfloat16", 0, ("DeepseekForCausalLM", "deepseek"), dict(
        SIZES, rms_norm_eps=1e-6, rope_theta=1e4, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, n_shared_experts=1,
        first_k_dense_replace=1, moe_layer_freq=1, norm_topk_prob=False, scoring_func="softmax"), {"tensors": ONCE + NORMS + ATTN + [
            (n, s, range(1)) for n, s in MLP] + [(n, s, range(1, 2)) for n, s in experts() + SHARED]}),
    "glm": (lambda f: ("chatglm-bpe", glm_bpe(f)[1]), "bfloat16", 2, "Glm", dict(head_dim=16, partial_rotary_factor=0.5, attention_bias=True, **im),
        {"members": {"seq_length": 512, "layernorm_epsilon": 1.5625e-07}}),
    "chatglm": (lambda f: ("chatglm-bpe", glm_bpe(f)[1]), "bfloat16", 0, ("ChatGLMModel", "chatglm"), dict(
        hidden_size=64, num_layers=2, num_attention_heads=4, multi_query_group_num=2, ffn_hidden_size=96, seq_length=512, kv_channels=16,
        layernorm_epsilon=1.5625e-07, rope_ratio=500, add_qkv_bias=True, padded_vocab_size="vocab"), {"layers": 2, "tensors": [
            ("transformer.embedding.word_embeddings.weight", [V, H]), ("transformer.encoder.final_layernorm.weight", [H], "norm"),
            ("transformer.output_layer.weight", [V, H])] + [("transformer.encoder.layers.{b}." + n, s, *k) for n, s, *k in (
            ("input_layernorm.weight", [H], "norm"), ("post_attention_layernorm.weight", [H], "norm"),
            ("self_attention.query_key_value.weight", [128, H]), ("self_attention.query_key_value.bias", [128]),
            ("self_attention.dense.weight", [H, H]), ("mlp.dense_h_to_4h.weight", [192, H]), ("mlp.dense_4h_to_h.weight", [H, 96]))]}),
    "dbrx": (plain_bpe(LLAMA3, "dbrx"), "bfloat16", 0, ("DbrxForCausalLM", "dbrx"), dict(
        d_model=64, n_heads=4, n_layers=2, max_seq_len=512, attn_config=dict(kv_n_heads=2, clip_qkv=8.0, rope_theta=500000.0),
        ffn_config=dict(ffn_hidden_size=32, moe_num_experts=4, moe_top_k=2)), {"tensors": [
            ("transformer.wte.weight", [V, H]), ("transformer.norm_f.weight", [H], "norm"), ("lm_head.weight", [V, H])] + [
            ("transformer.blocks.{b}." + n, s, *k) for n, s, *k in (
            ("norm_attn_norm.norm_1.weight", [H], "norm"), ("norm_attn_norm.norm_2.weight", [H], "norm"),
            ("norm_attn_norm.attn.Wqkv.weight", [128, H]), ("norm_attn_norm.attn.out_proj.weight", [H, H]),
            ("ffn.router.layer.weight", [4, H]), ("ffn.experts.mlp.w1", [128, H]), ("ffn.experts.mlp.v1", [128, H]), ("ffn.experts.mlp.w2", [128, H]))]}),
    "grok": (spm, "bfloat16", 0, ("Grok1ForCausalLM", "grok"), dict(
        SIZES, rms_norm_eps=1e-5, rope_theta=1e4, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        embedding_multiplier_scale=78.38367176906169, output_multiplier_scale=0.5773502691896257, attn_output_multiplier=0.08838834764831845,
        **BASE), {"tensors": [("model.embed_tokens.weight", [V, H]), ("model.norm.weight", [H], "norm"), ("lm_head.weight", [V, H])] + ATTN + [
            (L + n, s, *k) for n, s, *k in (("pre_attn_norm.weight", [H], "norm"), ("post_attn_norm.weight", [H], "norm"),
            ("pre_moe_norm.weight", [H], "norm"), ("post_moe_norm.weight", [H], "norm"))] + MLP + experts(
            "w1 w3 w2", router="block_sparse_moe.gate", at="block_sparse_moe.experts.{x}.", suffix=".weight")}),
    "rnd1": (qwen_bpe, "bfloat16", 0, ("RND1", "rnd1"), dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e6, head_dim=16, num_experts=4,
        num_experts_per_tok=2, moe_intermediate_size=32, mask_token_id=301), {"tensors": ONCE + NORMS + ATTN + QKNORM + experts()}),
    "dream": (qwen_bpe, "bfloat16", 0, ("DreamModel", "Dream"), dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e6, mask_token_id=301), {
        "tensors": LLAMA + biased(ATTN[:3])[1::2]}),
    "llada": (plain_bpe(QWEN2, "qwen2"), "bfloat16", 0, ("LLaDAModelLM", "llada"), dict(
        d_model=64, n_heads=4, n_kv_heads=4, n_layers=2, mlp_hidden_size=96, max_sequence_length=512, rms_norm_eps=1e-5, rope_theta=5e5),
        {"tensors": [("model.transformer.wte.weight", [V, H]), ("model.transformer.ln_f.weight", [H], "norm"),
            ("model.transformer.ff_out.weight", [V, H])] + [("model.transformer.blocks.{b}." + n + ".weight", s, *k) for n, s, *k in (
            ("attn_norm", [H], "norm"), ("ff_norm", [H], "norm"), ("q_proj", [H, H]), ("k_proj", [H, H]), ("v_proj", [H, H]),
            ("attn_out", [H, H]), ("ff_proj", [FF, H]), ("up_proj", [FF, H]), ("ff_out", [H, FF]))]}),
    "llada_moe": (qwen_bpe, "bfloat16", 0, ("LLaDAMoEModelLM", "llada_moe"), dict(SIZES, rms_norm_eps=1e-5, rope_theta=5e4, num_experts=4,
        num_experts_per_tok=2, expert_intermediate_size=32, dense_intermediate_size=96), {"tensors": ONCE + NORMS + ATTN + QKNORM + experts()}),
    "pangu": (spm, "bfloat16", 0, ("PanguEmbeddedForCausalLM", "PanguEmbedded"), dict(SIZES, rms_norm_eps=1e-5, rope_theta=1.6e7, bias=True,
        tie_word_embeddings=False, **BASE), {"tensors": LLAMA + biased(ATTN)[1::2]}),
    "plm": (qwen_bpe, "bfloat16", 0, ("PLMForCausalLM", "plm"), dict(SIZES, num_key_value_heads=4, rms_norm_eps=1e-6, rope_theta=1e5,
        kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12), {"tensors": ONCE[:2] + NORMS + MLP[1:] + [
            (L + "self_attn." + n + ".weight", s) for n, s in (("q_proj", [96, H]), ("kv_a_proj_with_mqa", [24, H]), ("kv_a_layernorm", [16]),
            ("kv_b_proj", [112, 16]), ("o_proj", [H, 48]))]}),
    "spark2_5": (qwen_bpe, "bfloat16", 0, ("Spark2_5ForCausalLM", "spark2_5"), dict(SIZES, rms_norm_eps=1e-6, head_dim=16, sliding_window=64,
        layer_types=["sliding_attention", "full_attention"], gate_attn_act_mode="sigmoid", headwise_attn_output_gate=True, hidden_act="gelu",
        rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=1e6, partial_rotary_factor=0.5), sliding_attention=dict(
            rope_type="default", rope_theta=1e4, partial_rotary_factor=1.0))), {"tensors": ONCE + NORMS + MLP + [
            (L + "self_attn.q_k_v_proj.weight", [128, H]), (L + "self_attn.g_proj.weight", [4, H]), ATTN[3]]}),
    "smallthinker": (qwen_bpe, "bfloat16", 0, ("SmallThinkerForCausalLM", "smallthinker"), dict(
        {k: v for k, v in SIZES.items() if k != "intermediate_size"}, rms_norm_eps=1e-6, rope_theta=1.5e6, head_dim=16, moe_num_primary_experts=4,
        moe_num_active_primary_experts=2, moe_ffn_hidden_size=32, moe_primary_router_apply_softmax=False, sliding_window_layout=[0, 1],
        sliding_window_size=64), {"tensors": ONCE + NORMS + ATTN + experts("gate up down", router="block_sparse_moe.primary_router",
            at="block_sparse_moe.experts.{x}.", suffix=".weight")}),
    "qwen2-kormo": (qwen_bpe, "bfloat16", 0, ("KORMoForCausalLM", "kormo"), dict(SIZES, rms_norm_eps=1e-5, rope_theta=5e5, head_dim=16,
        tie_word_embeddings=False), {"tensors": renamed(LLAMA, ("input_layernorm", "pre_attention_layernorm"), ("post_attention_layernorm", "pre_mlp_layernorm")),
        "but": {"other": ("layernorm.",)}}),
    "qwen2-audio": (qwen_bpe, "bfloat16", 0, ("Qwen2AudioForConditionalGeneration", "qwen2_audio"), dict(text_config=dict(SIZES, rms_norm_eps=1e-5,
        rope_theta=1e4, model_type="qwen2"), audio_config=dict(d_model=8, encoder_attention_heads=2)), {"tensors": [("language_model." + n, *r) for n, *r in LLAMA + biased(ATTN[:3])[1::2]] + [
            ("audio_tower.a.weight", [8]), ("multi_modal_projector.linear.weight", [H, 8])], "but": {"cut": "language_model.", "lost": ("audio_tower.", "multi_modal_projector.")}}),
    "qwen2-ocr": (qwen_bpe, "bfloat16", 0, ("DotsOCRForCausalLM", "dots_ocr"), dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e6,
        vision_config=dict(hidden_size=8)), {"tensors": LLAMA + biased(ATTN[:3])[1::2] + [("vision_tower.a.weight", [8])], "but": {"lost": ("vision_tower.",)}}),
    "llama-old": (spm, "bfloat16", 0, ("LLaMAForCausalLM", "llama"), dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e4, tie_word_embeddings=False, **BASE), {"tensors": LLAMA}),
    "llama-base": (spm, "bfloat16", 0, ("LlamaModel", "llama"), dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e4, **BASE), {
        "tensors": renamed(LLAMA[:2] + LLAMA[3:], ("model.", "")), "but": {"put": "model."}}),
    "llama-coder": (spm, "bfloat16", 0, ("IQuestCoderForCausalLM", "iquestcoder"), dict(SIZES, rms_norm_eps=1e-5, rope_theta=5e5, head_dim=16, **BASE), {"tensors": LLAMA}),
    "llama-voxtral": (llama_bpe, "bfloat16", 0, ("VoxtralForConditionalGeneration", "voxtral"), dict(text_config=dict(SIZES, model_type="llama",
        rms_norm_eps=1e-5, rope_theta=1e8, head_dim=16), audio_config=dict(hidden_size=8)), {"tensors": [("language_model." + n, *r) for n, *r in LLAMA] + [
            ("audio_tower.a.weight", [8]), ("multi_modal_projector.linear_1.weight", [H, 8])], "but": {"cut": "language_model.", "lost": ("audio_tower.", "multi_modal_projector.")}}),
    "llama-smolvlm": (spm, "bfloat16", 0, ("VLlama3ForCausalLM", "vllama3"), dict(SIZES, rms_norm_eps=1e-5, rope_theta=1e5, head_dim=16, **BASE), {
        "tensors": renamed(LLAMA, ("model.", "model.text_model.")) + [("model.vision_model.a.weight", [8]), ("model.connector.a.weight", [8])],
        "but": {"cut": "text_model.", "lost": ("model.vision_model.", "model.connector.")}}),
    "minimax_m3": (plain_bpe(GPT_4O, "minimax-m2"), "bfloat16", 0, ("MiniMaxM3SparseForConditionalGeneration", "minimax_m3_vl_"), dict(
        text_config=dict(SIZES, rms_norm_eps=1e-6, rope_theta=5e6, head_dim=16, rotary_dim=8, intermediate_size=32, dense_intermediate_size=96,
        num_local_experts=4, num_experts_per_tok=2, n_shared_experts=1, routed_scaling_factor=2.0, scoring_func="sigmoid", moe_layer_freq=[0, 1],
        sparse_attention_config=dict(sparse_num_index_heads=2, sparse_index_dim=16, sparse_topk_blocks=4, sparse_block_size=16,
        sparse_local_block=1)), vision_config=dict(hidden_size=8)), {"tensors": [("language_model." + n, *r) for n, *r in ONCE + NORMS + ATTN + QKNORM + [
            (n, s, range(1)) for n, s in MLP] + [(n, s, range(1, 2)) for n, s in renamed(experts("w1 w3 w2", router="block_sparse_moe.gate",
            at="block_sparse_moe.experts.{x}.", suffix=".weight") + SHARED, ("mlp.shared", "block_sparse_moe.shared")) + [
            (L + "block_sparse_moe.e_score_correction_bias", [4])] + [(L + "self_attn.index_%s.weight" % n, s) for n, s in (("q_proj", [32, H]),
            ("k_proj", [16, H]), ("q_norm", [16]), ("k_norm", [16]))]]] + [("vision_tower.a.weight", [8])],
        "but": {"cut": "language_model.", "lost": ("vision_tower.",)}}),
    "gemma_embedding": (lambda f: spm(f, kind="GemmaTokenizer", user=["<start_of_turn>"]), "bfloat16", 0, "Gemma3Text", dict(
        head_dim=32, query_pre_attn_scalar=32, num_hidden_layers=7, sliding_window=64, use_bidirectional_attention=True, **BASE),
        {"model": "Gemma3TextModel", "bare": True, "members": {"sliding_window": 64}, "but": {"put": "model."}}),
    "mimo2": (qwen_bpe, "bfloat16", 0, ("MiMoV2ForCausalLM", "mimo_v2"), dict(SIZES, layernorm_epsilon=1e-5, rope_theta=5e6, swa_rope_theta=1e4,
        head_dim=16, v_head_dim=16, swa_head_dim=16, swa_v_head_dim=16, swa_num_attention_heads=4, swa_num_key_value_heads=4, sliding_window=128,
        hybrid_layer_pattern=[0, 1], partial_rotary_factor=0.5, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, n_group=1,
        topk_group=1, topk_method="noaux_tc", scoring_func="sigmoid", norm_topk_prob=True, attention_value_scale=0.707, moe_layer_freq=[0, 1]),
        {"tensors": ONCE + NORMS + [(n, s, range(1)) for n, s in ATTN + MLP] + [(n, [H, H], range(1, 2)) for n, s in ATTN] + [
            (n, s, range(1, 2)) for n, s in experts() + [(L + "mlp.gate.e_score_correction_bias", [4]), (L + "self_attn.attention_sink_bias", [4])]] + [
            (n.replace("model.layers", "model.mtp.layers").replace("post_attention", "pre_mlp"), [H, H] if "self_attn" in n else s, range(3)) for n, s, *k in NORMS + ATTN + MLP] + [
            ("model.mtp.layers.{b}." + n, s, range(3)) for n, s in (("self_attn.attention_sink_bias", [4]), ("eh_proj.weight", [H, 2 * H]),
            ("enorm.weight", [H]), ("hnorm.weight", [H]), ("final_layernorm.weight", [H]))]}),
    "laguna": (plain_bpe(QWEN2, "qwen2"), "bfloat16", 0, "Laguna", dict(head_dim=16, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=32, shared_expert_intermediate_size=32, num_hidden_layers=3, num_attention_heads_per_layer=[4, 6, 6],
        layer_types=["full_attention", "sliding_attention", "sliding_attention"]), {}),
    "minimax_m1": (qwen_bpe, "bfloat16", 0, ("MiniMaxM1ForCausalLM", "minimax_m1"), dict({**SIZES, "num_hidden_layers": 8}, rms_norm_eps=1e-5,
        rope_theta=1e7, head_dim=16, rotary_dim=8, num_local_experts=4, num_experts_per_tok=2, layernorm_full_attention_alpha=3.5565588200778455,
        layernorm_linear_attention_alpha=3.5565588200778455, layernorm_mlp_alpha=3.5565588200778455, layernorm_full_attention_beta=1.0,
        layernorm_linear_attention_beta=1.0, layernorm_mlp_beta=1.0, attn_type_list=[0] * 7 + [1]), {"mend": ["suppress"], "tensors": ONCE + NORMS + [
            (n, s, range(7, 8)) for n, s in ATTN] + [(L + "self_attn." + n + ".weight", s, range(7)) for n, s in (("qkv_proj", [192, H]),
            ("out_proj", [H, H]), ("output_gate", [H, H]), ("norm", [H]))] + experts("w1 w3 w2", router="block_sparse_moe.gate",
            at="block_sparse_moe.experts.{x}.", suffix=".weight")}),
    "llama-janus": (llama_bpe, "bfloat16", 0, ("JanusForConditionalGeneration", "janus_"), dict(text_config=dict(SIZES, model_type="llama",
        rms_norm_eps=1e-6, rope_theta=1e4, head_dim=16)), {"tensors": renamed(LLAMA, ("model.", "model.language_model.")) + [
            ("model.vision_model.a.weight", [8]), ("model.aligner.fc1.weight", [H, 8]), ("model.generation_head.a.weight", [H, 8]),
            ("model.generation_embeddings.weight", [8, 8]), ("model.vqmodel.a.weight", [8])], "but": {"cut": "language_model.", "lost": (
            "model.vision_model.", "model.aligner.", "model.generation_head.", "model.generation_embeddings.", "model.vqmodel.")}}),
    "youtu-vl": (plain_bpe(QWEN2, "qwen2"), "bfloat16", 0, ("YoutuVLForConditionalGeneration", "youtu_vl_"), dict(SIZES, num_key_value_heads=4,
        rms_norm_eps=1e-6, rope_theta=1e5, q_lora_rank=16, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12, head_dim=8,
        tie_word_embeddings=True, vision_config=dict(hidden_size=8)), {"tensors": ONCE[:2] + NORMS + MLP + [(L + "self_attn." + n + ".weight", s) for n, s in (
            ("q_a_proj", [16, H]), ("q_a_layernorm", [16]), ("q_b_proj", [96, 16]), ("kv_a_proj_with_mqa", [24, H]), ("kv_a_layernorm", [16]),
            ("kv_b_proj", [112, 16]), ("o_proj", [H, 48]))] + [("siglip2.a.weight", [8]), ("merger.a.weight", [8])],
        "but": {"lost": ("siglip2.", "merger.")}}),
    "qwen3_vl_moe-omni": (qwen_bpe, "bfloat16", 0, ("Qwen3OmniMoeForConditionalGeneration", "qwen3_omni_moe_"), dict(thinker_config=dict(
        text_config=dict(SIZES, rms_norm_eps=1e-6, rope_theta=1e6, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        rope_scaling={"rope_type": "default", "mrope_section": [4, 2, 2], "interleaved": True}), vision_config=dict(hidden_size=8))), {
        "tensors": [("thinker." + n, *r) for n, *r in ONCE + NORMS + ATTN + QKNORM + experts()] + [("talker.a.weight", [8]),
            ("code2wav.a.weight", [8]), ("thinker.visual.a.weight", [8]), ("thinker.audio_tower.a.weight", [8])],
        "but": {"cut": "thinker.", "lost": ("talker.", "code2wav.", "thinker.visual.", "thinker.audio_tower.")}}),
    "stablelm-llava": (plain_bpe(QWEN2, "stablelm2", ["<|endoftext|>"]), "bfloat16", 0, "StableLm", dict(
        partial_rotary_factor=0.25, use_qkv_bias=True, tie_word_embeddings=False), {"named": ("LlavaStableLMEpochForCausalLM", "llava_stablelm_epoch_")}),
}
