"""peer_adapters.py BIN FOLDER: adapters of peft, merged by amn and by peft's merge_and_unload in float64.

Each model has random weights and random factors. amn rounds once, so its F32 output has to be within 0.51 units in the last place of
peft's float64 result; with DoRA, whose norms are of values rounded to F32, within 2.5. LoKr, and LoHa of three factors, round a
product of factors to F32 before they use it: then 2^-22 of the largest change is allowed besides."""
import json
import os
import subprocess
import warnings

import numpy
import peft
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn
from transformers import (AutoModelForCausalLM, GPT2Config, GptOssConfig, LlamaConfig, LlamaForCausalLM, MixtralConfig, Qwen2MoeConfig,
                          Qwen3MoeConfig)
from transformers.pytorch_utils import Conv1D
from transformers.utils import logging

from peers import Tally, Tools

warnings.filterwarnings("ignore")
logging.disable_progress_bar()


class Experts(nn.Module):
    """Experts as transformers keeps them: one parameter for all of a kind."""

    def __init__(self, n, width, inner):
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.randn(n, 2 * inner, width) / 8)
        self.down_proj = nn.Parameter(torch.randn(n, width, inner) / 8)

    def forward(self, x):
        gate, up = torch.einsum("bw,eow->beo", x, self.gate_up_proj).chunk(2, -1)
        return torch.einsum("beo,ewo->bw", gate.tanh() * up, self.down_proj)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = Experts(3, 24, 10)

    def forward(self, x):
        return self.experts(x)


class Net(nn.Module):
    """One module of each kind that peft adapts. Never run."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(37, 24)
        self.q_proj = nn.Linear(24, 40)
        self.k_proj = nn.Linear(24, 19, bias=False)
        self.down_proj = nn.Linear(301, 24)
        self.c_attn = Conv1D(48, 24)
        self.conv1 = nn.Conv1d(6, 10, 3)
        self.conv2 = nn.Conv2d(6, 10, 3)
        self.conv3 = nn.Conv3d(4, 6, (3, 1, 2))
        self.norm = nn.LayerNorm(24)
        self.head = nn.Linear(24, 5)
        self.mlp = Mlp()

    def forward(self, x):
        return x


LINEAR = ["q_proj", "k_proj", "down_proj"]
CONV = ["conv1", "conv2", "conv3"]

# name: configuration, allowed units in the last place
CASES = {
    "lora": (peft.LoraConfig(r=5, lora_alpha=7, target_modules=LINEAR + ["head"]), .51),
    "rslora": (peft.LoraConfig(r=6, lora_alpha=9, use_rslora=True, target_modules=LINEAR), .51),
    "patterns": (peft.LoraConfig(r=4, lora_alpha=6, target_modules=LINEAR + CONV, rank_pattern={"k_proj": 7, r"conv\d": 3},
                                 alpha_pattern={"^q_proj": 11, ".*_proj": 5}), .51),
    "embedding": (peft.LoraConfig(r=5, lora_alpha=3, target_modules=["embed", "q_proj"]), .51),
    "lora-bias": (peft.LoraConfig(r=3, lora_alpha=4, lora_bias=True, target_modules=["q_proj", "down_proj", "conv2"]), .51),
    "biases": (peft.LoraConfig(r=3, lora_alpha=4, bias="all", target_modules=["q_proj"]), .51),
    "biases-own": (peft.LoraConfig(r=3, lora_alpha=4, bias="lora_only", target_modules=["q_proj", "conv1"]), .51),
    "conv": (peft.LoraConfig(r=4, lora_alpha=5, target_modules=CONV), .51),
    "conv1d": (peft.LoraConfig(r=4, lora_alpha=5, fan_in_fan_out=True, target_modules=["c_attn"]), .51),
    "saved": (peft.LoraConfig(r=4, lora_alpha=5, target_modules=["q_proj"], modules_to_save=["head", "norm"]), .51),
    "tokens-beside": (peft.LoraConfig(r=4, lora_alpha=5, target_modules=["q_proj"], trainable_token_indices={"embed": [30, 2, 17]}), .51),
    "dora": (peft.LoraConfig(r=4, lora_alpha=5, use_dora=True, target_modules=LINEAR), 2.5),
    "dora-embedding": (peft.LoraConfig(r=4, lora_alpha=5, use_dora=True, target_modules=["embed"]), 2.5),
    "dora-conv": (peft.LoraConfig(r=4, lora_alpha=5, use_dora=True, target_modules=CONV), 2.5),
    "dora-conv1d": (peft.LoraConfig(r=4, lora_alpha=5, use_dora=True, fan_in_fan_out=True, target_modules=["c_attn"]), 2.5),
    "experts": (peft.LoraConfig(r=3, lora_alpha=5, target_modules=["q_proj"], rank_pattern={"experts.down_proj": 2}, target_parameters=[
        "mlp.experts.gate_up_proj", "mlp.experts.down_proj"]), .51),
    "experts-bare": (peft.LoraConfig(r=3, lora_alpha=5, use_rslora=True, target_modules=["q_proj"], rank_pattern={r".*\.gate_up_proj": 6},
                                     alpha_pattern={r".*\.gate_up_proj": 10}, target_parameters=["gate_up_proj", "down_proj"]), .51),
    "experts-down": (peft.LoraConfig(r=3, lora_alpha=5, target_modules=["q_proj"], target_parameters=["experts.down_proj"]), .51),
    "loha": (peft.LoHaConfig(r=4, alpha=6, target_modules=LINEAR + ["conv1", "conv2"]), .51),
    "loha-effective": (peft.LoHaConfig(r=4, alpha=6, use_effective_conv2d=True, target_modules=["conv1", "conv2"]), .51),
    "lokr": (peft.LoKrConfig(r=2, alpha=6, target_modules=LINEAR + ["conv1", "conv2"]), .51),
    "lokr-both": (peft.LoKrConfig(r=1, alpha=3, decompose_both=True, decompose_factor=4, target_modules=LINEAR), .51),
    "lokr-effective": (peft.LoKrConfig(r=2, alpha=3, use_effective_conv2d=True, target_modules=["conv2"]), .51),
    "ia3": (peft.IA3Config(target_modules=LINEAR + ["conv2"], feedforward_modules=["down_proj", "conv2"]), .51),
    "ia3-out": (peft.IA3Config(target_modules=["q_proj", "conv2"], feedforward_modules=[]), .51),
    "ia3-conv1d": (peft.IA3Config(target_modules=["c_attn"], feedforward_modules=[], fan_in_fan_out=True), .51),
    "ia3-conv1d-in": (peft.IA3Config(target_modules=["c_attn"], feedforward_modules=["c_attn"], fan_in_fan_out=True), .51),
    "tokens": (peft.TrainableTokensConfig(target_modules=["embed"], token_indices=[5, 36, 0]), .51),
    "norms": (peft.LNTuningConfig(target_modules=["norm"]), .51),
}


def randomize(model):
    """Gives everything that training changes other values, and magnitudes positive ones."""
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        with torch.no_grad():
            if "magnitude" in name:
                p.mul_(1 + torch.rand_like(p) / 4)
            elif "ia3" in name:
                p.copy_(1 + torch.randn_like(p) / 8)
            else:
                p.copy_(torch.randn_like(p) / 4)


def save(path, state):
    save_file({k: v.detach().clone().contiguous() for k, v in state.items()}, path)


def load(path):
    with safe_open(path, framework="pt") as f:
        return {k: f.get_tensor(k) for k in f.keys()}


def merged(base, adapters):
    """Returns what peft makes of a state dict and directories of adapters, in float64."""
    net = Net().double()
    net.load_state_dict({k: v.double() for k, v in base.items()})
    model = peft.PeftModel.from_pretrained(net, adapters[0], adapter_name="a0", autocast_adapter_dtype=False)
    for i, path in enumerate(adapters[1:], 1):
        model.load_adapter(path, f"a{i}", autocast_adapter_dtype=False)
    model = model.double()
    names = [f"a{i}" for i in range(len(adapters))]
    return model.merge_and_unload(adapter_names=names).state_dict()


def farthest(got, want, slack):
    """Returns the largest distance in units in the last place of F32, less the slack."""
    got, want = got.double().numpy(), want.double().numpy()
    unit = numpy.spacing(numpy.abs(want).astype(numpy.float32)).astype(numpy.float64)
    return float(((numpy.abs(got - want) - slack) / unit).max()) if got.size else 0.0


def remember(tools, out, base, *adapters, options=()):
    command = [os.path.join(tools.bin, "amn-remember"), "-q", "-f", *options]
    for a in adapters:
        command += ["--adapter", a]
    return subprocess.run([*command, "-o", out, base], check=False).returncode == 0


def compare(tally, what, out, base, want, allowed):
    got, rounds = load(out), what.startswith("lokr") or what == "loha-effective"
    tally.check(set(got) == set(want), f"{what}: names")
    for name in sorted(set(got) & set(want)):
        slack = 2 ** -22 * float((want[name] - base[name]).abs().max()) if rounds else 0
        far = farthest(got[name], want[name], slack)
        tally.check(far <= allowed, f"{what}: {name} is {far:.3g} units off, allowed {allowed}")


def check_case(tally, tools, name, config, allowed):
    torch.manual_seed(sum(name.encode()))
    net = Net()
    base = {k: v.clone() for k, v in net.state_dict().items()}
    path, folder, out = tools.path("base.safetensors"), tools.path(f"adapter-{name}"), tools.path("out.safetensors")
    save(path, base)
    model = peft.get_peft_model(net, config)
    randomize(model)
    model.save_pretrained(folder)
    tally.check(remember(tools, out, path, folder), f"{name}: merged")
    compare(tally, name, out, base, merged(base, [folder]), allowed)
    if name.startswith("experts"):
        check_apart(tally, tools, base, folder, out)
        check_layouts(tally, tools, folder, out)
    return folder


def apart(state):
    """Returns a state with one tensor for an expert and kind, as files have them."""
    out = {}
    for k, v in state.items():
        if k.endswith("experts.gate_up_proj"):
            for e, one in enumerate(v):
                for kind, half in zip(("gate_proj", "up_proj"), one.chunk(2, 0)):
                    out[k.replace("gate_up_proj", f"{e}.{kind}.weight")] = half
        elif k.endswith("experts.down_proj"):
            for e, one in enumerate(v):
                out[k.replace("down_proj", f"{e}.down_proj.weight")] = one
        else:
            out[k] = v
    return out


def check_apart(tally, tools, base, folder, out):
    want = apart(load(out))
    save(tools.path("apart.safetensors"), apart(base))
    tally.check(remember(tools, out, tools.path("apart.safetensors"), folder), "experts apart: merged")
    got = load(out)
    tally.check(set(got) == set(want) and all(torch.equal(got[k], want[k]) for k in want), "experts apart: the same values")


def rewritten(tools, folder, change, **members):
    """Writes an adapter of experts again, each lora_A [experts, rank, in] and lora_B [out, rank, experts] as change() returns them."""
    state, new = load(os.path.join(folder, "adapter_model.safetensors")), tools.path("rewritten")
    for key in [k for k in state if ".experts." in k and "lora_A" in k]:
        other = key.replace("lora_A", "lora_B")
        n = Net().mlp.experts.down_proj.shape[0]
        a, b = state[key], state[other]
        state[key], state[other] = change(a.reshape(n, -1, a.shape[1]), b.reshape(b.shape[0], -1, n))
    os.makedirs(new, exist_ok=True)
    save(os.path.join(new, "adapter_model.safetensors"), state)
    with open(os.path.join(folder, "adapter_config.json"), encoding="utf-8") as f:
        config = json.load(f)
    with open(os.path.join(new, "adapter_config.json"), "w", encoding="utf-8") as f:
        json.dump({**config, **members}, f)
    return new


def check_layouts(tally, tools, folder, out):
    """The columns of lora_B grouped by expert, and the factors as peft before 0.19 has them: the same values."""
    base = tools.path("apart.safetensors")
    tally.check(remember(tools, out, base, folder), "layouts: merged")
    want = load(out)
    grouped = lambda a, b: (a.flatten(0, 1), b.transpose(1, 2).flatten(1, 2))
    old = lambda a, b: (b.permute(2, 1, 0).flatten(0, 1), a.permute(2, 1, 0).flatten(1, 2))
    for change, members in (grouped, {"lora_B_layout": "grouped_by_expert"}), (old, {"peft_version": "0.18.1"}), (old, {"peft_version": None}):
        tally.check(remember(tools, out, base, rewritten(tools, folder, change, **members)), f"{members}: merged")
        got = load(out)
        tally.check(set(got) == set(want) and all(torch.equal(got[k], want[k]) for k in want), f"{members}: the same values")


def check_several(tally, tools, folders):
    """Two adapters in both orders: the values differ in rounding only."""
    base = load(tools.path("base.safetensors"))
    want = merged(base, folders)
    out = tools.path("out.safetensors")
    for order in folders, folders[::-1]:
        tally.check(remember(tools, out, tools.path("base.safetensors"), *order), "two adapters: merged")
        compare(tally, "two adapters", out, base, want, .51)


def check_types(tally, tools, folder):
    """Bases of other types: the float64 sum, rounded to F32 and then to the type."""
    base = load(tools.path("base.safetensors"))
    out = tools.path("out.safetensors")
    for dtype in torch.bfloat16, torch.float16, torch.float64:
        stored = {k: v.to(dtype) for k, v in base.items()}
        save(tools.path("typed.safetensors"), stored)
        tally.check(remember(tools, out, tools.path("typed.safetensors"), folder), f"{dtype}: merged")
        want, got = merged(stored, [folder]), load(out)
        for k, v in want.items():
            same = got[k] == (v if dtype == torch.float64 else v.float().to(dtype))
            near = (got[k].double() - v).abs() <= 1e-12 * v.abs() + 1e-15 if dtype == torch.float64 else same
            tally.check(got[k].dtype == dtype and near.float().mean() > .999, f"{dtype}: {k}")


def logits(model, ids):
    with torch.no_grad():
        return model(input_ids=ids).logits


def check_tied(tally, tools, targets):
    """A tied model computes what base and adapter compute without merging, which peft's own merge does not."""
    torch.manual_seed(len(targets))
    config = LlamaConfig(vocab_size=48, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, tie_word_embeddings=True)
    base, folder, out = tools.path("tied/"), tools.path("tied-adapter"), tools.path(f"tied-out-{len(targets)}/")
    LlamaForCausalLM(config).save_pretrained(base)
    model = peft.get_peft_model(LlamaForCausalLM.from_pretrained(base), peft.LoraConfig(r=4, lora_alpha=6, target_modules=targets))
    randomize(model)
    model.save_pretrained(folder, save_embedding_layers=False)
    ids = torch.randint(0, 48, (2, 9))
    want = logits(peft.PeftModel.from_pretrained(LlamaForCausalLM.from_pretrained(base), folder).double().eval(), ids)
    tally.check(remember(tools, out, base, folder), f"tied {targets}: merged")
    with open(os.path.join(out, "config.json"), encoding="utf-8") as f:
        tie = json.load(f)["tie_word_embeddings"]
    tally.check(tie == (not {"embed_tokens", "lm_head"} & set(targets)), f"tied {targets}: tie_word_embeddings is {tie}")
    got = logits(LlamaForCausalLM.from_pretrained(out).double().eval(), ids)
    tally.check((got - want).abs().max() < 1e-5 * want.abs().max(), f"tied {targets}: logits")


SMALL = {"vocab_size": 48, "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "head_dim": 8}
EXPERTS = {"target_modules": ["q_proj", "o_proj"], "target_parameters": ["experts.gate_up_proj", "experts.down_proj"]}
MODELS = {
    "gpt2": (GPT2Config(vocab_size=48, n_embd=32, n_layer=2, n_head=4), {"target_modules": ["c_attn", "c_proj", "c_fc"], "fan_in_fan_out": True}),
    "qwen3moe": (Qwen3MoeConfig(**SMALL, moe_intermediate_size=20, num_experts=5, num_experts_per_tok=2), EXPERTS),
    "qwen3moe-down": (Qwen3MoeConfig(**SMALL, moe_intermediate_size=20, num_experts=5, num_experts_per_tok=2),
                      {"target_modules": ["v_proj"], "target_parameters": ["experts.down_proj"]}),
    "qwen3moe-usual": (Qwen3MoeConfig(**SMALL, moe_intermediate_size=20, num_experts=5, num_experts_per_tok=2),
                       {"target_modules": ["q_proj", "gate_proj", "up_proj", "down_proj"], "use_rslora": True}),
    "qwen3moe-all": (Qwen3MoeConfig(**SMALL, moe_intermediate_size=20, num_experts=5, num_experts_per_tok=2), {"target_modules": "all-linear"}),
    "qwen2moe": (Qwen2MoeConfig(**SMALL, moe_intermediate_size=20, shared_expert_intermediate_size=28, num_experts=5, num_experts_per_tok=2),
                 {"target_modules": ["q_proj", "shared_expert.up_proj"]} | {"target_parameters": EXPERTS["target_parameters"]}),
    "mixtral": (MixtralConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2), EXPERTS),
    "mixtral-usual": (MixtralConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2), {"target_modules": ["q_proj", "w1", "w2", "w3"]}),
    "gpt-oss": (GptOssConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2), EXPERTS),
    "gpt-oss-square": (GptOssConfig(**{**SMALL, "intermediate_size": 32}, num_local_experts=4, num_experts_per_tok=2), EXPERTS),
}


def load_model(path):
    """Experts one by one, because the others have no float64."""
    return AutoModelForCausalLM.from_pretrained(path, experts_implementation="eager")


def check_model(tally, tools, name, config, how):
    """Whole models, whose files have other names than peft: the merged model computes what base and adapter compute."""
    torch.manual_seed(len(name))
    base, folder, out = tools.path(f"{name}/"), tools.path(f"{name}-adapter"), tools.path(f"{name}-out/")
    AutoModelForCausalLM.from_config(config).save_pretrained(base)
    model = peft.get_peft_model(load_model(base), peft.LoraConfig(r=4, lora_alpha=6, **how))
    randomize(model)
    model.save_pretrained(folder)
    ids = torch.randint(0, 48, (2, 9))
    want = logits(peft.PeftModel.from_pretrained(load_model(base), folder).double().eval(), ids)
    tally.check((want - logits(load_model(base).double().eval(), ids)).abs().max() > 1e-3 * want.abs().max(), f"{name}: changes")
    if not tally.check(remember(tools, out, base, folder), f"{name}: merged"):
        return
    got = logits(load_model(out).double().eval(), ids)
    tally.check((got - want).abs().max() < 1e-5 * want.abs().max(), f"{name}: logits")


def main():
    tools, tally = Tools(), Tally()
    folders = {name: check_case(tally, tools, name, *case) for name, case in CASES.items()}
    check_several(tally, tools, [folders["lora"], folders["rslora"]])
    check_types(tally, tools, folders["lora"])
    for targets in ["q_proj", "embed_tokens"], ["q_proj", "lm_head", "k_proj"], ["q_proj"], ["embed_tokens", "lm_head", "o_proj", "v_proj"]:
        check_tied(tally, tools, targets)
    for name, (config, how) in MODELS.items():
        check_model(tally, tools, name, config, how)
    tally.finish()


main()
