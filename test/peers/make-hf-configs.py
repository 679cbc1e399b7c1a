#!/usr/bin/env python3
"""Write test/corpus/hf-configs.json: the output of llama.cpp's converter for odd config.json and generation_config.json.

usage: make-hf-configs.py LLAMA_CPP OUTPUT

LLAMA_CPP is the folder with convert_hf_to_gguf.py, its conversion/ and gguf-py/ (the source archive of llama-cpp-python has it
as vendor/llama.cpp). Needs transformers, torch, safetensors, sentencepiece. Every case is a folder with the two texts and one
small tensor; the converter's own class reads it and gives its keys and generated tensors, no vocabulary. A case is
{"config", "generation", "class"} with "keys": [[name, type, hex of the value's bytes in GGUF]] and "tensors": [[name, n, hex or
sha256 of its F32]], or "error": true if the reference fails. "refused" marks cases that amn refuses and the reference accepts;
"maybe": amn may refuse or agree. RANDOM_CASES=N: N more random cases, with SEED=N; VERBOSE=1: why the reference fails.
"""
import hashlib, json, logging, os, random, sys, tempfile
from pathlib import Path

LLAMA_CPP, OUTPUT = sys.argv[1:3]
sys.path.insert(0, LLAMA_CPP)
import torch
from safetensors.torch import save_file
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
import gguf

logging.disable(logging.CRITICAL)
COMMON = '"vocab_size":64,"hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":48'
KEPT = 340                      # cases of the file that is kept; WIDE=1 writes all of them
FILE_TYPE = gguf.LlamaFileType.MOSTLY_BF16
NOT_OURS = ("general.name", "general.basename", "general.size_label", "general.finetune", "general.version", "general.organization",
            "general.quantization_version", "general.license")
TYPES = {gguf.GGUFValueType.UINT32: "u32", gguf.GGUFValueType.INT32: "i32", gguf.GGUFValueType.FLOAT32: "f32",
         gguf.GGUFValueType.STRING: "str", gguf.GGUFValueType.BOOL: "bool"}


def reference(config, generation):
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "tiny"
        at.mkdir()
        (at / "config.json").write_text(config)
        if generation is not None:
            (at / "generation_config.json").write_text(generation)
        save_file({"model.embed_tokens.weight": torch.zeros(2, 2, dtype=torch.bfloat16)}, at / "model.safetensors")
        hparams = ModelBase.load_hparams(at, False)
        model = get_model_class(get_model_architecture(hparams, ModelType.TEXT))(at, FILE_TYPE, at)
        w = model.gguf_writer
        made = [(n, t.to(torch.float32).numpy()) for n, t in model.generate_extra_tensors()]
        model.metadata = gguf.Metadata.load(None, at, None, 0)
        model.set_type()
        model.metadata.set_gguf_meta_model(w)
        model.set_gguf_parameters()
        keys = []
        for key, v in w.kv_data[0].items():
            data = w._pack_val(v.value, v.type, add_vtype=False)
            if key not in NOT_OURS:
                keys.append([key, TYPES[v.type], (data[8:] if v.type == gguf.GGUFValueType.STRING else data).hex()])
        tensors = []
        for name, x in made:
            hexed = x.tobytes().hex()
            tensors.append([name, len(x), hexed if len(hexed) < 64 else hashlib.sha256(x.tobytes()).hexdigest()])
        return keys, tensors


CASES = []
def case(config, generation=None, refused=None):
    text = config if isinstance(config, str) else json.dumps(config, separators=(",", ":"))
    CASES.append((text, generation if generation is None or isinstance(generation, str) else json.dumps(generation), refused))


BASE = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
FAMILIES = {
    "LlamaForCausalLM": "llama", "MistralForCausalLM": "mistral", "MixtralForCausalLM": "mixtral", "Qwen2ForCausalLM": "qwen2",
    "Qwen2MoeForCausalLM": "qwen2_moe", "Qwen3ForCausalLM": "qwen3", "Qwen3MoeForCausalLM": "qwen3_moe",
    "Gemma2ForCausalLM": "gemma2", "Gemma3ForCausalLM": "gemma3_text", "Phi3ForCausalLM": "phi3",
}
def of(name, drop=(), **more):
    c = {"architectures": [name], "model_type": FAMILIES[name], **BASE, **more}
    return {k: v for k, v in c.items() if k not in drop}

SCALINGS = [
    None, {}, {"type": "linear", "factor": 2.0}, {"rope_type": "linear", "factor": 3}, {"type": "linear"},
    {"rope_type": "linear", "factor": None}, {"type": "dynamic", "factor": 2.0}, {"rope_type": "default"}, {"rope_type": None},
    {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    {"rope_type": "yarn", "factor": 4, "beta_fast": 32, "beta_slow": 1.0, "attention_factor": 0.707, "extrapolation_factor": 1.1},
    {"rope_type": "yarn", "factor": 4, "attn_factor": 0.5}, {"rope_type": "yarn", "factor": 4, "attention_factor": None, "attn_factor": 2},
    {"rope_type": "yarn", "original_max_position_embeddings": 512}, {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 512.0},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    {"rope_type": "llama3", "factor": 32, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    {"rope_type": "llama3"}, {"rope_type": "llama3", "factor": 3}, {"type": "llama3", "low_freq_factor": 1.5, "high_freq_factor": 5},
    {"rope_type": "LLAMA3", "factor": 4.0}, {"type": "su", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
    {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0, 3, 4.5, 1e3], "original_max_position_embeddings": 64},
    {"rope_type": "longrope", "factor": 2.0}, {"type": "linear", "rope_type": "yarn", "factor": 2.0},
    {"rope_theta": 777.0, "rope_type": "default"}, {"partial_rotary_factor": 0.5, "rope_type": "default"},
    {"rope_type": "linear", "factor": "two"}, {"rope_type": "linear", "factor": 1e39}, 3, "linear", [],
]

FILLED = {"LlamaForCausalLM": ["vocab_size"], "Gemma3ForCausalLM": ["vocab_size", "num_attention_heads"]}
for name in FAMILIES:
    case(of(name))
    for drop in BASE:
        if name in ("LlamaForCausalLM", "Gemma3ForCausalLM"):
            case(of(name, drop=[drop]), refused=None if drop in FILLED.get(name, ()) else "needed")
    case(of(name, drop=["model_type"]), refused=None)
    case(of(name, head_dim=16))
    case(of(name, head_dim=None))
    case(of(name, num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-05, max_position_embeddings=4096, rope_theta=500000.0))
    case(of(name, num_key_value_heads=None))
    case(of(name, rms_norm_eps=1, rope_theta=10))
    case(of(name, rope_theta=None))
    case(of(name, head_dim=7)); case(of(name, head_dim=3))
    case(of(name, num_attention_heads=3), refused="maybe")
    case(of(name, num_hidden_layers=2.0)); case(of(name, max_position_embeddings=4096.0)); case(of(name, vocab_size=True), refused="maybe")
    case(of(name, max_position_embeddings=1 << 32)); case(of(name, max_position_embeddings=-1)); case(of(name, max_position_embeddings=(1 << 32) - 1))
    case(of(name, rope_local_base_freq=5000)); case(of(name, sliding_window=77)); case(of(name, sliding_window=None))
    case(of(name, num_experts=6, num_experts_per_tok=3)); case(of(name, num_local_experts=6)); case(of(name, num_experts=6, num_local_experts=5))
    case(of(name, torch_dtype="nonsense")); case(of(name, dtype="float16", torch_dtype="bfloat16"))
    case(of(name, original_max_position_embeddings=99, partial_rotary_factor=0.5))
    case(of(name, text_config={"hidden_size": 64, "rope_theta": 123.0, "num_key_value_heads": 1}))
    case(of(name, is_causal=False, layer_norm_eps=1e-3, n_group=2, topk_group=1))
    for i, scaling in enumerate(SCALINGS):
        own = name in ("LlamaForCausalLM", "Phi3ForCausalLM", "Gemma3ForCausalLM", "Qwen3ForCausalLM")
        if own or i % 5 == sorted(FAMILIES).index(name) % 5:
            refused = "maybe" if scaling in (3, "linear") else None
            case(of(name, rope_scaling=scaling, max_position_embeddings=256, rope_theta=5000), refused=refused)
            case(of(name, rope_parameters=scaling, num_key_value_heads=2), refused=refused)
            if own:
                case(of(name, drop=["model_type"], rope_scaling=scaling, rope_theta=500000.0, max_position_embeddings=256), refused=refused)
case(of("LlamaForCausalLM", model_type="mistral")); case(of("LlamaForCausalLM", model_type="qwen3")); case(of("MistralForCausalLM", model_type="llama"))
case(of("LlamaForCausalLM", model_type="unheard_of"), refused="unsupported model_type")
case(of("MistralForCausalLM", layer_types=["sliding_attention"] * 2)); case(of("Qwen2ForCausalLM", layer_types=["nonsense"] * 2))
for n in (16, 64, 80, 128, 256):
    for theta in (1e4, 5e5, 1e6, 12345.678):
        case(of("LlamaForCausalLM", head_dim=n, rope_theta=theta, max_position_embeddings=131072, rope_scaling={"rope_type": "llama3",
             "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}))
for p in (0.25, 0.5, 0.75, 1.0, 0.9, 1, None):
    k = 4 if p is None else int(p * 32) // 4 // 2
    for kind in ("longrope", "su", "yarn", "default", "linear"):
        case(of("Phi3ForCausalLM", partial_rotary_factor=p, max_position_embeddings=131072, original_max_position_embeddings=4096,
             rope_scaling={"type": kind, "short_factor": [1.1] * k, "long_factor": [1.0 + i / 3 for i in range(k)]}))
case(of("Phi3ForCausalLM", max_position_embeddings=4096, original_max_position_embeddings=8192,
     rope_scaling={"type": "longrope", "short_factor": [1] * 4, "long_factor": [1] * 4}))
case(of("Phi3ForCausalLM", rope_scaling={"type": "longrope", "short_factor": [1] * 3, "long_factor": [1] * 4}))
G = "Gemma3ForCausalLM"
BOTH = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
for layers in (2, 6, 7):
    for pattern in (None, 1, 2, 6):
        more = {} if pattern is None else {"sliding_window_pattern": pattern}
        for rope in ({}, {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}, {"rope_scaling": {"type": "linear", "factor": 8.0}},
                     {"rope_parameters": BOTH}, {"rope_parameters": {"full_attention": {"rope_theta": 5.0}}},
                     {"rope_parameters": {"sliding_attention": None, "full_attention": {"type": "yarn", "factor": 2.0}}},
                     {"rope_theta": 7, "rope_local_base_freq": 3}):
            case(of(G, num_hidden_layers=layers, **more, **rope))
case(of(G, final_logit_softcapping=30)); case(of(G, final_logit_softcapping=30.0)); case(of(G, final_logit_softcapping=0.0)); case(of(G, attn_logit_softcapping=50.0))
case(of(G, use_bidirectional_attention=True, sliding_window=513)); case(of(G, use_bidirectional_attention=True, sliding_window=512))
case(of("Gemma2ForCausalLM", final_logit_softcapping=25, head_dim=8, sliding_window=64, rms_norm_eps=1e-6, max_position_embeddings=99, attn_logit_softcapping=5))
case(of("Gemma2ForCausalLM", final_logit_softcapping=25)); case(of("Gemma2ForCausalLM", final_logit_softcapping=25.5, attn_logit_softcapping=None))
M = {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3"}
case({**M, "text_config": {**BASE, "model_type": "gemma3_text"}}); case({**M, "text_config": {**BASE, "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "sliding_window": 1024}, "vision_config": {}})
case({**M, **BASE}, refused="needed"); case({**M, "text_config": {**BASE, "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "num_hidden_layers": 12, "rope_local_base_freq": 77.5}, "hidden_size": 4, "sliding_window": 9})
case({**M, "text_config": {"hidden_size": 16}}, refused="needed")
for g in ({}, {"top_k": 40, "top_p": 0.9, "temperature": 1, "min_p": 0.05, "repetition_penalty": 1.1}, {"top_k": 40.0}, {"top_k": None, "temperature": None},
          {"penalty_repeat": None, "repetition_penalty": 1.5}, {"penalty_repeat": 1.25, "repetition_penalty": 1.5}, {"top_k": -1, "top_p": 1},
          {"top_k": 1 << 31}, {"sequence": "a;b"}, {"sequence": ""}, {"mirostat": 2, "mirostat_tau": 5, "mirostat_eta": 0.1, "penalty_last_n": 64,
          "xtc_probability": 0.5, "xtc_threshold": 0.1}, {"temperature": 1e39}, {"temperature": "hot"}, {"eos_token_id": [1, 2], "do_sample": True},
          {"top_p": 0.1 + 0.2, "temperature": 1e-45}):
    case(of("LlamaForCausalLM"), g)

rng = random.Random(int(os.environ.get("SEED", "1")))
POOL = dict(num_key_value_heads=[1, 2, 4, None], head_dim=[8, 16, 6, None], rms_norm_eps=[1e-5, 1e-6, 1e-12, 0.001], max_position_embeddings=[128, 4096, 131072],
            rope_theta=[10000, 10000.0, 1e6, 250.5], sliding_window=[None, 16, 4096], rope_scaling=[s for s in SCALINGS if s not in (3, "linear")],
            rope_parameters=[s for s in SCALINGS if s not in (3, "linear")], rope_local_base_freq=[9000.0], num_attention_heads=[2, 4, 8],
            model_type=list(FAMILIES.values()) + ["gemma3_text"] * 3, layer_types=[["full_attention"] * 2, ["sliding_attention", "full_attention"], ["full_attention"]],
            final_logit_softcapping=[30, 30.0, None], sliding_window_pattern=[1, 2, 6], num_local_experts=[3], tie_word_embeddings=[True, False],
            attention_bias=[True, False], partial_rotary_factor=[0.5, 1.0], original_max_position_embeddings=[64, 4096], num_experts_per_tok=[1, 2],
            num_experts=[4, 8], moe_intermediate_size=[16, 24], shared_expert_intermediate_size=[32], use_cache=[True], use_sliding_window=[True, False],
            torch_dtype=["bfloat16", "float32"], bos_token_id=[1, None], eos_token_id=[2, [2, 3]], hidden_size=[32, 36, 48], layer_norm_eps=[1e-5])
for _ in range(int(os.environ.get("RANDOM_CASES", "60"))):
    name = rng.choice(list(FAMILIES))
    more = {k: rng.choice(POOL[k]) for k in rng.sample(sorted(POOL), rng.randint(2, 9))}
    case(of(name, **more), refused="maybe" if more.get("hidden_size") == 36                    # heads of 9
         or (name.startswith("Qwen3") and more.get("attention_bias")) else None)          # libllama loads no bias of o_proj

out = []
for config, generation, refused in CASES:
    row = {"config": config}
    if generation is not None:
        row["generation"] = generation
    try:
        keys, tensors = reference(config, generation)
        row["keys"], row["tensors"] = [" ".join(k) for k in keys], [" ".join(map(str, t)) for t in tensors]
    except Exception as e:
        row["error"] = True
        if os.environ.get("VERBOSE"):
            print(config[:300], type(e).__name__, e, file=sys.stderr)
    if refused:
        row["refused"] = refused
    out.append(row)
if not os.environ.get("WIDE"):
    out = [out[i] for i in sorted(rng.sample(range(len(out)), KEPT))]
known = {}
for row in out:
    row["config"] = row["config"].replace(COMMON, "$")
    row["keys"] = [known.setdefault(k, len(known)) for k in row.get("keys", [])]
with open(OUTPUT, "w") as f:
    f.write(json.dumps({"common": COMMON, "keys": list(known)}, separators=(",", ":"))[:-1] + ',\n"cases":[\n')
    f.write(",\n".join(json.dumps(r, separators=(",", ":")) for r in out) + "\n]}\n")
print(len(out), "cases,", sum("error" in r for r in out), "errors")
