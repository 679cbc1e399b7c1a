"""hf_encoders: CASES of hf_models for encoders, state spaces and drafters. Option "weights": of a class that transformers lacks, a
function of its configuration that returns [name, shape, kind] of its weights, with a type of their own after them; the configuration is
written as it is. Option "exact": the configuration has no members of SMALL."""
import json

from hf_tokenizers import DIGITS, GPT_2, LLAMA3, camembert, plain_bpe, plamo, qwen_bpe, roberta, spm, t5, words, world, write_json, xlmr, xlmr_json

ENCODER = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=66)
T5 = dict(d_model=32, d_ff=48, d_kv=8, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0, eos_token_id=2)
BASE = dict(bos_token_id=1, eos_token_id=2)
LABELS = dict(id2label={0: "no", 1: "yes", 2: "other"}, label2id={"no": 0, "yes": 1, "other": 2})
GELU = 1e-3                     # off: llama.cpp reads it from a table of F16
HEAD = {"llama": "has another head", "encoder": True}


def linear(name, rows, columns, bias=True):
    """Returns a weight and its bias."""
    return [[name + ".weight", [rows, columns], ""]] + [[name + ".bias", [rows], ""]] * bias


def norm(name, n, bias=False):
    return [[name + ".weight", [n], "norm"]] + [[name + ".bias", [n], ""]] * bias


def neobert(c):
    n, ffn = c["hidden_size"], 2 * c["intermediate_size"] // 3
    yield from linear("encoder", c["vocab_size"], n, False)
    for b in range(c["num_hidden_layers"]):
        layer = "transformer_encoder.%d." % b
        yield from norm(layer + "attention_norm", n)
        yield from linear(layer + "qkv", 3 * n, n, False)
        yield from linear(layer + "wo", n, n, False)
        yield from norm(layer + "ffn_norm", n)
        yield from linear(layer + "ffn.w12", 2 * ffn, n, False)
        yield from linear(layer + "ffn.w3", n, ffn, False)
    yield from norm("layer_norm", n)


def llama(c, top="", head=False):
    """Returns the weights of a Llama; `top`: before all names."""
    n, heads, kv = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    dim = c.get("head_dim", n // heads)
    yield from linear(top + "embed_tokens", c["vocab_size"], n, False)
    for b in range(c["num_hidden_layers"]):
        layer = top + "layers.%d." % b
        yield from norm(layer + "input_layernorm", n)
        for name, rows, columns in (("self_attn.q_proj", heads * dim, n), ("self_attn.k_proj", kv * dim, n), ("self_attn.v_proj", kv * dim, n),
                                    ("self_attn.o_proj", n, heads * dim), ("mlp.gate_proj", c["intermediate_size"], n),
                                    ("mlp.up_proj", c["intermediate_size"], n), ("mlp.down_proj", n, c["intermediate_size"])):
            yield from linear(layer + name, rows, columns, False)
        yield from norm(layer + "post_attention_layernorm", n)
    yield from norm(top + "norm", n)
    if head:
        yield from linear("lm_head", c["vocab_size"], n, False)


def bert(c, layer):
    """Returns the weights of a BERT without positions; `layer`: those of a layer after its attention."""
    n = c["hidden_size"]
    yield from linear("embeddings.word_embeddings", c["vocab_size"], n, False)
    yield from linear("embeddings.token_type_embeddings", c["type_vocab_size"], n, False)
    yield from norm("embeddings.LayerNorm", n, True)
    for b in range(c["num_hidden_layers"]):
        of = "encoder.layer.%d." % b
        for name in ("query", "key", "value"):
            yield from linear(of + "attention.self." + name, n, n)
        yield from linear(of + "attention.output.dense", n, n)
        yield from norm(of + "attention.output.LayerNorm", n, True)
        for t in layer:
            yield [of + t[0], *t[1:]]


def mamba(c):
    """Returns the weights of the first Mamba, with the names of its authors."""
    n, inner = c["d_model"], 2 * c["d_model"]
    yield from linear("backbone.embedding", c["vocab_size"], n, False)
    for b in range(c["n_layer"]):
        mixer = "backbone.layers.%d.mixer." % b
        yield from [[mixer + "A_log", [inner, 16], "", "F32"], [mixer + "D", [inner], "", "F32"], [mixer + "conv1d.weight", [inner, 1, 4], ""],
                    [mixer + "conv1d.bias", [inner], ""]]
        for name, rows, columns, bias in (("in_proj", 2 * inner, n, False), ("x_proj", 34, inner, False), ("dt_proj", inner, 2, True),
                                          ("out_proj", n, inner, False)):
            yield from linear(mixer + name, rows, columns, bias)
        yield from norm("backbone.layers.%d.norm" % b, n)
    yield from norm("backbone.norm_f", n)


def nomic(c):
    n, ffn, moe = c["n_embd"], c["n_inner"], c.get("moe_every_n_layers", 0)
    yield from linear("embeddings.word_embeddings", c["vocab_size"], n, False)
    yield from linear("embeddings.token_type_embeddings", c["type_vocab_size"], n, False)
    yield from norm("emb_ln", n, True)
    for b in range(c["n_layer"]):
        layer = "encoder.layers.%d." % b
        yield from linear(layer + "attn.Wqkv", 3 * n, n, moe > 0) + linear(layer + "attn.out_proj", n, n, moe > 0)
        yield from norm(layer + "norm1", n, True) + norm(layer + "norm2", n, True)
        if moe and b % moe == 1:
            yield from linear(layer + "mlp.router.layer", c["num_experts"], n, False)
            yield from [[layer + "mlp.experts.mlp.w1", [c["num_experts"] * ffn, n], ""], [layer + "mlp.experts.mlp.w2", [c["num_experts"] * ffn, n], ""],
                        [layer + "mlp.experts.bias", [n], ""]]
        elif moe:
            yield from linear(layer + "mlp.fc1", ffn, n) + linear(layer + "mlp.fc2", n, ffn)
        else:
            yield from linear(layer + "mlp.fc11", ffn, n, False) + linear(layer + "mlp.fc12", ffn, n, False) + linear(layer + "mlp.fc2", n, ffn, False)


def kimi_linear(c):
    n, heads, kda, ffn = c["hidden_size"], c["num_attention_heads"], c["linear_attn_config"], c["moe_intermediate_size"]
    inner, rank = heads * kda["head_dim"], c["kv_lora_rank"]
    yield from linear("model.embed_tokens", c["vocab_size"], n, False)
    for b in range(c["num_hidden_layers"]):
        layer = "model.layers.%d." % b
        mix, moe = layer + "self_attn.", layer + "block_sparse_moe."
        yield from norm(layer + "input_layernorm", n) + norm(layer + "post_attention_layernorm", n)
        if b + 1 in kda["full_attn_layers"]:
            qk = c["qk_nope_head_dim"] + c["qk_rope_head_dim"]
            yield from linear(mix + "q_proj", heads * qk, n, False) + linear(mix + "kv_a_proj_with_mqa", rank + c["qk_rope_head_dim"], n, False)
            yield from norm(mix + "kv_a_layernorm", rank) + linear(mix + "kv_b_proj", heads * (c["qk_nope_head_dim"] + c["v_head_dim"]), rank, False)
            yield from linear(mix + "o_proj", n, heads * c["v_head_dim"], False)
        else:
            for word in "qkv":
                yield from linear(mix + word + "_proj", inner, n, False)
                yield [mix + word + "_conv1d.weight", [inner, 1, 4], ""]
            yield from [[mix + "A_log", [1, 1, heads, 1], ""], [mix + "dt_bias", [inner], ""]]
            for name, rows, columns in (("f_a_proj", kda["head_dim"], n), ("f_b_proj", inner, kda["head_dim"]), ("b_proj", heads, n),
                                        ("g_a_proj", kda["head_dim"], n), ("g_b_proj", inner, kda["head_dim"]), ("o_proj", n, inner)):
                yield from linear(mix + name, rows, columns, False)
            yield from norm(mix + "o_norm", kda["head_dim"])
        if b < c["first_k_dense_replace"]:
            names = [(layer + "mlp.", c["intermediate_size"])]
        else:
            names = [(moe + "shared_experts.", ffn)]
            yield from linear(moe + "gate", c["num_experts"], n, False)
            yield [moe + "gate.e_score_correction_bias", [c["num_experts"]], ""]
            for x in range(c["num_experts"]):
                yield from linear(moe + "experts.%d.w1" % x, ffn, n, False) + linear(moe + "experts.%d.w2" % x, n, ffn, False)
                yield from linear(moe + "experts.%d.w3" % x, ffn, n, False)
        for name, size in names:
            yield from linear(name + "gate_proj", size, n, False) + linear(name + "up_proj", size, n, False) + linear(name + "down_proj", n, size, False)
    yield from norm("model.norm", n)
    yield from linear("lm_head", c["vocab_size"], n, False)


def rwkv6(c):
    n, ffn = c["hidden_size"], c["intermediate_size"]
    yield from linear("rwkv.embeddings", c["vocab_size"], n, False)
    yield from norm("rwkv.blocks.0.pre_ln", n, True)
    for b in range(c["num_hidden_layers"]):
        block = "rwkv.blocks.%d." % b
        mix = block + "attention."
        yield from norm(block + "ln1", n, True) + norm(block + "ln2", n, True) + norm(mix + "ln_x", n, True)
        for word in "xwkvrg":
            yield [mix + "time_maa_" + word, [1, 1, n], ""]
        yield from [[mix + "time_maa_w1", [n, 160], ""], [mix + "time_maa_w2", [5, 32, n], ""], [mix + "time_decay", [1, 1, n], ""],
                    [mix + "time_decay_w1", [n, 64], ""], [mix + "time_decay_w2", [64, n], ""],
                    [mix + "time_faaaa", [n // c["head_size"], c["head_size"]], ""]]
        for name in ("key", "value", "receptance", "gate", "output"):
            yield from linear(mix + name, n, n, False)
        yield from [[block + "feed_forward.time_maa_k", [1, 1, n], ""], [block + "feed_forward.time_maa_r", [1, 1, n], ""]]
        yield from linear(block + "feed_forward.key", ffn, n, False) + linear(block + "feed_forward.receptance", n, n, False)
        yield from linear(block + "feed_forward.value", n, ffn, False)
    yield from norm("rwkv.ln_out", n, True)
    yield from linear("head", c["vocab_size"], n, False)


def rwkv7(c):
    n, ffn = c["hidden_size"], c["intermediate_size"]
    yield from linear("model.embeddings", c["vocab_size"], n, False)
    yield from norm("model.layers.0.pre_norm", n, True)
    for b in range(c["num_hidden_layers"]):
        layer = "model.layers.%d." % b
        mix = layer + "attn."
        yield from norm(layer + "attn_norm", n, True) + norm(layer + "ffn_norm", n, True) + norm(mix + "g_norm", n, True)
        for word in "rwkvag":
            yield [mix + "x_" + word, [1, 1, n], ""]
        for word, rank in (("w", 8), ("a", 8), ("v", 4), ("g", 12)):
            if word != "v" or b > 0:
                yield from linear(mix + word + "_lora.lora.0", rank, n, False) + linear(mix + word + "_lora.lora.2", n, rank, word != "g")
        yield from [[mix + "k_k", [n], ""], [mix + "k_a", [n], ""], [mix + "r_k", [n // c["head_dim"], c["head_dim"]], ""]]
        for name in ("r_proj", "k_proj", "v_proj", "o_proj"):
            yield from linear(mix + name, n, n, False)
        yield [layer + "ffn.x_k", [n], ""]
        yield from linear(layer + "ffn.key", ffn, n, False) + linear(layer + "ffn.value", n, ffn, False)
    yield from norm("model.norm", n, True)
    yield from linear("lm_head", c["vocab_size"], n, False)


def plamo_layer(c, b, mixer):
    n, ffn = c["hidden_size"], c["intermediate_size"]
    layer = "model.layers.layers.%d." % b
    for name in ("pre_mixer_norm", "post_mixer_norm", "pre_mlp_norm", "post_mlp_norm"):
        yield [layer + name + ".weight", [n], ""]
    yield from linear(layer + "mlp.gate_up_proj", 2 * ffn, n, False) + linear(layer + "mlp.down_proj", n, ffn, False)
    for t in mixer:
        yield [layer + "mixer." + t[0], *t[1:]]


def plamo2(c):
    n, heads, size, kv, state, mamba = (c[k] for k in ("hidden_size", "num_attention_heads", "hidden_size_per_head", "num_key_value_heads",
                                                       "mamba_d_state", "mamba_num_heads"))
    yield from linear("model.embed_tokens", c["vocab_size"], n, False)
    for b in range(c["num_hidden_layers"]):
        rank, inner = max(64, n // 16), mamba * size
        if b % 2:
            mixer = [["qkv_proj.weight", [(heads + 2 * kv) * size, n], ""], ["o_proj.weight", [n, heads * size], ""],
                     ["q_weight", [heads, size], ""], ["k_weight", [kv, size], ""]]
        else:
            mixer = [["in_proj.weight", [2 * inner, n], ""], ["conv1d.weight", [inner, 1, 4], ""], ["bcdt_proj.weight", [rank + 2 * state, inner], ""],
                     ["dt_proj.weight", [mamba, rank], ""], ["dt_bias", [mamba], ""], ["A_log", [mamba], ""], ["D", [mamba], ""],
                     ["dt_norm_weight", [rank], ""], ["B_norm_weight", [state], ""], ["C_norm_weight", [state], ""],
                     ["out_proj.weight", [n, inner], ""]]
        yield from plamo_layer(c, b, mixer)
    yield ["model.norm.weight", [n], ""]


def plamo3(c):
    n, heads, size, kv = (c[k] for k in ("hidden_size", "num_attention_heads", "head_dim", "num_key_value_heads"))
    yield from linear("model.embed_tokens", c["vocab_size"], n, False)
    for b in range(c["num_hidden_layers"]):
        yield from plamo_layer(c, b, [["qkv_proj.weight", [(heads + 2 * kv) * size, n], ""], ["o_proj.weight", [n, heads * size], ""],
                                      ["q_norm.weight", [size], ""], ["k_norm.weight", [size], ""]])
    yield ["model.norm.weight", [n], ""]


def plamo1(c):
    n = c["hidden_size"]
    yield from linear("model.embed_tokens", c["vocab_size"], n, False)
    for b in range(c["num_hidden_layers"]):
        layer = "model.layers.layers.%d." % b
        yield from norm(layer + "norm", n)
        for name, rows, columns in (("self_attn.q_proj", n, n), ("self_attn.k_proj", 640, n), ("self_attn.v_proj", 640, n), ("self_attn.o_proj", n, n),
                                    ("mlp.gate_proj", 32, n), ("mlp.up_proj", 32, n), ("mlp.down_proj", n, 32)):
            yield from linear(layer + name, rows, columns, False)
    yield from norm("model.norm", n)
    yield from linear("lm_head", c["vocab_size"], n, False)


def jina(c):
    n, ffn = c["hidden_size"], c["intermediate_size"]
    yield from bert(c, linear("mlp.gated_layers", 2 * ffn, n, False) + linear("mlp.wo", n, ffn) + norm("mlp.layernorm", n, True))
    yield from linear("pooler.dense", n, n)


def jina_code(c):
    n, ffn = c["hidden_size"], c["intermediate_size"]
    yield from bert(c, norm("attention.self.layer_norm_q", n, True) + norm("attention.self.layer_norm_k", n, True)
        + norm("layer_norm_1", n, True) + linear("mlp.up_gated_layer", 2 * ffn, n, False) + linear("mlp.down_layer", n, ffn)
        + norm("layer_norm_2", n, True))


SMALL = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)

NOMIC = dict(n_embd=32, n_inner=48, n_layer=2, n_head=4, layer_norm_epsilon=1e-12, type_vocab_size=1, causal=False, prenorm=False,
             qkv_proj_bias=False, mlp_fc1_bias=False, mlp_fc2_bias=False, rotary_emb_fraction=1.0, rotary_emb_interleaved=False,
             rotary_emb_scale_base=None, rotary_emb_base=1000, model_type="nomic_bert_remote")
mpt = plain_bpe(GPT_2, "mpt", ["<|endoftext|>", "<|padding|>"])

CASES = {
    "jina_bert": (words, "float16", 0, "JinaBertModel", dict(
        **ENCODER, type_vocab_size=2, layer_norm_eps=1e-12, position_embedding_type="alibi", feed_forward_type="geglu", emb_pooler="mean",
        model_type="bert"), {"weights": jina, "pre": "jina-v2-en"}),
    "jina_bert-code": (roberta, "float32", 0, "JinaBertForMaskedLM", dict(
        **ENCODER, type_vocab_size=2, layer_norm_eps=1e-12, position_embedding_type="alibi", feed_forward_type="geglu", emb_pooler="mean",
        model_type="bert"), {"weights": jina_code, "pre": "jina-v2-code"}),
    "llama_embed": (plain_bpe(LLAMA3, "llama-bpe", ["<|begin_of_text|>", "<|eot_id|>", "<|end_of_text|>"], bos="<|begin_of_text|>",
        ignore_merges=True), "bfloat16", 0, "LlamaBidirectionalModel", dict(
        **SMALL, max_position_embeddings=512, rms_norm_eps=1e-5, rope_theta=500000.0, model_type="llama_bidirec"), {"weights": llama}),
    "qwen2-base": (qwen_bpe, "bfloat16", 0, "Qwen2", dict(tie_word_embeddings=True), {"model": "Qwen2Model", "encoder": True}),
    "qwen3-base": (qwen_bpe, "bfloat16", 0, "Qwen3", dict(head_dim=16, tie_word_embeddings=True), {"model": "Qwen3Model", "encoder": True}),
    "lfm2-base": (plain_bpe(LLAMA3, "lfm2", bos="<|im_start|>", ignore_merges=True), "bfloat16", 0, "Lfm2", dict(
        num_hidden_layers=3, intermediate_size=150, block_multiple_of=16, layer_types=["conv", "full_attention", "conv"]),
        {"model": "Lfm2Model", "encoder": True}),
    "lfm2-bidirectional": (plain_bpe(LLAMA3, "lfm2", bos="<|im_start|>", ignore_merges=True), "bfloat16", 0, "Lfm2", dict(
        num_hidden_layers=3, intermediate_size=150, block_multiple_of=16, layer_types=["conv", "full_attention", "conv"]),
        {"model": "Lfm2Model", "class": "Lfm2BidirectionalModel", "llama": "attends in both directions", "no_back": "attends in both directions"}),
    "distilbert": (words, "float32", 0, "DistilBert", dict(dim=32, hidden_dim=48, n_layers=2, n_heads=4, max_position_embeddings=66),
        {"exact": True, "model": "DistilBertModel", "encoder": True, "off": GELU}),
    "distilbert-classes": (words, "float16", 2, "DistilBert", dict(
        dim=32, hidden_dim=48, n_layers=2, n_heads=4, max_position_embeddings=66, **LABELS),
        {"exact": True, "model": "DistilBertForSequenceClassification", "no_back": "llama.cpp has another head", **HEAD}),
    "roberta": (roberta, "float32", 0, "Roberta", dict(**ENCODER, bos_token_id=0, pad_token_id=1, eos_token_id=2, type_vocab_size=1),
        {"exact": True, "model": "RobertaModel", "encoder": True, "off": GELU}),
    "roberta-classes": (roberta, "float16", 1, "Roberta", dict(**ENCODER, bos_token_id=0, pad_token_id=1, eos_token_id=2, **LABELS),
        {"exact": True, "model": "RobertaForSequenceClassification", **HEAD}),
    "xlm_roberta": (xlmr, "float32", 0, "XLMRoberta", dict(**ENCODER, bos_token_id=0, pad_token_id=1, eos_token_id=2, type_vocab_size=1),
        {"exact": True, "model": "XLMRobertaModel", "encoder": True, "off": GELU}),
    "xlm_roberta-json": (xlmr_json, "float16", 3, "XLMRoberta", dict(
        **ENCODER, bos_token_id=0, pad_token_id=1, eos_token_id=2, type_vocab_size=1, id2label={0: "LABEL_0"}, label2id={"LABEL_0": 0}),
        {"exact": True, "model": "XLMRobertaForSequenceClassification", **HEAD}),
    "t5": (t5, "float32", 6, "T5", dict(**T5, num_decoder_layers=1, feed_forward_proj="relu"),
        {"exact": True, "model": "T5ForConditionalGeneration", "llama": "is asked for logits of a decoder only"}),
    "t5-gated": (lambda f: t5(f, "tokenizer.model"), "bfloat16", 0, "MT5", dict(
        **T5, num_decoder_layers=2, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
        {"exact": True, "model": "MT5ForConditionalGeneration", "llama": "is asked for logits of a decoder only"}),
    "t5-umt5": (t5, "bfloat16", 0, "UMT5", dict(**T5, num_decoder_layers=2, feed_forward_proj="gated-gelu"),
        {"exact": True, "model": "UMT5ForConditionalGeneration", "llama": "is asked for logits of a decoder only"}),
    "t5_encoder": (t5, "float16", 0, "T5", dict(**T5, feed_forward_proj="gated-gelu"),
        {"exact": True, "model": "T5EncoderModel", "encoder": True, "off": GELU}),
    "mamba": (mpt, "float32", 1, "Mamba", dict(hidden_size=32, num_hidden_layers=2, state_size=8, time_step_rank=2), {"exact": True}),
    "mamba-falcon": (mpt, "bfloat16", 1, "FalconMamba", dict(
        hidden_size=32, num_hidden_layers=2, state_size=8, time_step_rank=2, tie_word_embeddings=False), {"exact": True}),
    "mamba-original": (mpt, "float16", 1, "MambaLMHeadModel", dict(d_model=32, n_layer=2, ssm_cfg={}, rms_norm=True,
        pad_vocab_size_multiple=8), {"weights": mamba}),
    "mamba2": (mpt, "bfloat16", 9, "Mamba2", dict(hidden_size=32, num_hidden_layers=2, state_size=8, num_heads=8, head_dim=8, n_groups=2,
        expand=2, bos_token_id=0, eos_token_id=0, pad_token_id=1), {"exact": True}),
    "jamba": (spm, "bfloat16", 0, "Jamba", dict(
        num_hidden_layers=4, attn_layer_offset=1, attn_layer_period=2, expert_layer_offset=1, expert_layer_period=2, num_experts=4,
        num_experts_per_tok=2, hidden_size=32, intermediate_size=48, mamba_dt_rank=2, use_mamba_kernels=False, **BASE), {}),
    "rwkv6": (world, "bfloat16", 3, "Rwkv6ForCausalLM", dict(
        hidden_size=32, intermediate_size=48, num_hidden_layers=3, head_size=8, rescale_every=1, layer_norm_epsilon=1e-5,
        bos_token_id=0, eos_token_id=0, model_type="rwkv6"), {"weights": rwkv6}),
    "rwkv7": (world, "bfloat16", 0, "RWKV7ForCausalLM", dict(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, head_dim=8, norm_eps=1e-5, decay_low_rank_dim=8, a_low_rank_dim=8,
        v_low_rank_dim=4, gate_low_rank_dim=12, bos_token_id=0, eos_token_id=0, model_type="rwkv7"), {"weights": rwkv7}),
    "plamo": (spm, "float16", 0, "PlamoForCausalLM", dict(
        hidden_size=5120, intermediate_size=32, num_hidden_layers=1, num_attention_heads=40, num_key_value_heads=8, rms_norm_eps=1e-6,
        model_type="plamo", **BASE), {"weights": plamo1, "peer": True}),
    "plamo2": (plamo, "bfloat16", 5, "Plamo2ForCausalLM", dict(
        hidden_size=32, intermediate_size=48, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, hidden_size_per_head=8,
        mamba_d_state=8, mamba_d_conv=4, mamba_num_heads=8, mamba_step=2, mamba_enabled=True, max_position_embeddings=512, rms_norm_eps=1e-6,
        model_type="plamo2", tie_word_embeddings=True), {"weights": plamo2}),
    "plamo3": (plamo, "bfloat16", 0, "Plamo3ForCausalLM", dict(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, window_size=64,
        sliding_window_pattern=8, max_position_embeddings=4096, rms_norm_eps=1e-6, rope_theta=1000000, rope_local_theta=10000,
        rope_scaling_factor=4, initial_context_length=1024, model_type="plamo3", tie_word_embeddings=True), {"weights": plamo3}),
    "nomic_bert": (words, "float32", 0, "NomicBertModel", dict(**NOMIC, n_positions=8192, activation_function="swiglu"), {"weights": nomic}),
    "nomic_bert-moe": (xlmr_json, "float32", 0, "NomicBertModel", dict(
        **{**NOMIC, "qkv_proj_bias": True, "mlp_fc1_bias": True, "mlp_fc2_bias": True}, n_positions=2048, activation_function="gelu",
        moe_every_n_layers=2, num_experts=4, moe_top_k=2), {"weights": nomic}),
    "bamba": (plain_bpe(DIGITS, "refact"), "bfloat16", 1, "Bamba", dict(
        hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, attn_layer_indices=[1],
        mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=2, mamba_d_state=16, mamba_d_conv=4, mamba_expand=2, max_position_embeddings=512,
        attn_rotary_emb=4, rope_theta=10000.0, bos_token_id=1, eos_token_id=2, pad_token_id=0), {"exact": True}),
    "kimi_linear": (plain_bpe(LLAMA3, "kimi-k2", ignore_merges=True), "bfloat16", 0, "KimiLinearForCausalLM", dict(
        hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=4, head_dim=8, kv_lora_rank=16,
        q_lora_rank=None, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=8, num_experts=4, num_experts_per_token=2, num_shared_experts=1,
        moe_intermediate_size=16, first_k_dense_replace=1, routed_scaling_factor=2.446, moe_router_activation_func="sigmoid",
        moe_renormalize=True, num_expert_group=1, topk_group=1, model_max_length=1048576, rms_norm_eps=1e-5, rope_theta=10000.0,
        mla_use_nope=True, linear_attn_config={"full_attn_layers": [3], "kda_layers": [1, 2], "num_heads": 4, "head_dim": 8,
        "short_conv_kernel_size": 4}, model_type="kimi_linear_remote"), {"weights": kimi_linear}),
    "neobert": (words, "bfloat16", 0, "NeoBERT", dict(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_length=128, norm_eps=1e-5, pad_token_id=0,
        model_type="neobert"), {"weights": neobert}),
    "eurobert": (plain_bpe(LLAMA3, "llama-bpe", ignore_merges=True), "bfloat16", 0, "EuroBert", dict(
        hidden_size=32, intermediate_size=48, num_key_value_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0, mask_token_id=3,
        rope_theta=250000.0, classifier_pooling="mean"), {"model": "EuroBertModel", "encoder": True}),
}


def write(folder, name, vocabulary):
    """Writes config.json and weights.json of a case with "weights"."""
    _, dtype, _, family, members, options = CASES[name]
    c = {"architectures": [family], "torch_dtype": dtype, "vocab_size": vocabulary, **members}
    usual = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}[dtype]
    tensors = [[t[0], *(t[3:] or [usual]), t[1], t[2]] for t in options["weights"](c)]
    write_json(folder / "config.json", c)
    (folder / "weights.json").write_text('{\n "model.safetensors": [\n  %s]\n}\n' % ",\n  ".join(json.dumps(t) for t in tensors))
