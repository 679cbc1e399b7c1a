"""peer_shards.py BIN FOLDER: let torch, accelerate and DeepSpeed train random models on 2 to 4 CPU ranks and save checkpoints,
and compare what their own tools consolidate with what amn-convert reads from the directory."""
import os
import random
import subprocess
import sys

import torch

from peers import Tally, Tools, load, same_bits

KINDS = ("fsdp", "accelerate", "tensor", "ranks", "zero1", "zero2", "zero3")
WEIGHTS = "pytorch_model_fsdp_0"        # accelerate: beside optimizer_0


# --- a rank

class Model(torch.nn.Module):
    """Layers of odd sizes, a buffer, a frozen parameter and tied weights."""

    def __init__(self, rng, tied=True):
        super().__init__()
        width, self.vocabulary = rng.choice((6, 10, 17)), rng.choice((11, 20, 33))
        self.emb = torch.nn.Embedding(self.vocabulary, width)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width, bias=rng.randrange(2)) for _ in range(rng.randrange(1, 4)))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, self.vocabulary, bias=False)
        self.register_buffer("steps", torch.arange(rng.randrange(1, 5)))
        if tied:
            self.head.weight = self.emb.weight
        self.norm.bias.requires_grad_(False)

    def forward(self, x):
        x = self.emb(x)
        for layer in self.layers:
            x = torch.nn.functional.gelu(layer(x))
        return self.head(self.norm(x))


def loss_of(model, x):
    y = model(x)
    return torch.nn.functional.cross_entropy(y.float().flatten(0, 1), x.flatten())


def run_zero(kind, folder, rng, tied):
    import deepspeed
    config = {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "zero_force_ds_cpu_optimizer": False,
              "zero_optimization": {"stage": int(kind[-1]), "stage3_param_persistence_threshold": 0, "sub_group_size": 200}}
    model = Model(rng, tied)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    engine.backward(loss_of(engine, torch.randint(0, model.vocabulary, (2, 5))))
    engine.step()
    engine.save_checkpoint(folder, tag="global_step1")


def run_torch(kind, folder, rng, world):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    model = Model(rng, tied=False).to(rng.choice((torch.float32, torch.bfloat16)))
    if kind == "tensor":                # two dimensions of a mesh, if there are four ranks
        shape = (2, 2) if world == 4 else (world,)
        mesh, state = init_device_mesh("cpu", shape), {}
        for name, value in model.state_dict().items():
            places = [rng.choice((Shard(0), Shard(value.dim() - 1), Replicate())) for _ in shape]
            state[name] = distribute_tensor(value, mesh, places)
    else:
        mesh = init_device_mesh("cpu", (world,))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
        loss_of(model, torch.randint(0, model.vocabulary, (2, 5))).backward()
        optimizer.step()
        state, moments = get_state_dict(model, optimizer)
    if kind == "ranks":
        rank = torch.distributed.get_rank()
        torch.save(model.state_dict(), os.path.join(folder, f"model_world_size_{world}_rank_{rank}.pt"))
        full = {n: v.full_tensor() if hasattr(v, "full_tensor") else v for n, v in model.state_dict().items()}
        if rank == 0:
            torch.save(full, folder + ".whole")
    elif kind == "accelerate":
        dcp.save({"model": state}, checkpoint_id=os.path.join(folder, WEIGHTS))
        dcp.save({"optimizer": moments}, checkpoint_id=os.path.join(folder, "optimizer_0"))
    else:
        dcp.save({"model": state} if kind == "tensor" else {"model": state, "optim": moments}, checkpoint_id=folder)


def rank_main(kind, folder, seed):
    world = int(os.environ["WORLD_SIZE"])
    rng = random.Random(seed)
    torch.manual_seed(seed)
    if kind.startswith("zero"):
        import deepspeed
        deepspeed.comm.torch.build_shm_op = lambda: None        # compiles an extension for shared memory
        deepspeed.init_distributed(dist_backend="gloo")
        run_zero(kind, folder, rng, tied=kind != "zero3")
    else:
        torch.distributed.init_process_group("gloo")
        run_torch(kind, folder, rng, world)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def save(kind, folder, seed, world):
    """Lets `world` ranks save into the folder. Returns why that failed, or None."""
    os.makedirs(folder)
    port = str(20000 + random.randrange(20000))
    ranks = []
    for r in range(world):
        env = dict(os.environ, RANK=str(r), LOCAL_RANK=str(r), WORLD_SIZE=str(world), LOCAL_SIZE=str(world), MASTER_ADDR="127.0.0.1",
                   MASTER_PORT=port, DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1")
        ranks.append(subprocess.Popen([sys.executable, __file__, "--rank", kind, folder, str(seed)], env=env,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
    errors = [p.communicate(timeout=3600)[1] for p in ranks]
    failed = [e for p, e in zip(ranks, errors) if p.returncode]
    return failed[0].decode()[-400:] if failed else None


# --- what the libraries consolidate

def consolidated(kind, folder):
    if kind == "ranks":
        return torch.load(folder + ".whole")
    if kind.startswith("zero"):
        from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
        state = get_fp32_state_dict_from_zero_checkpoint(folder, exclude_frozen_parameters=False)
        return {n: v.clone() for n, v in state.items()}
    if kind == "accelerate":
        from accelerate.utils import merge_fsdp_weights
        merge_fsdp_weights(os.path.join(folder, WEIGHTS), folder + ".merged", safe_serialization=True)
        return load(os.path.join(folder + ".merged", "model.safetensors"))[0]
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
    dcp_to_torch_save(folder, folder + ".pt")
    return torch.load(folder + ".pt")["model"]


def compare(tally, tools, kind, folder, what):
    want, out = consolidated(kind, folder), folder + ".safetensors"
    master = kind in ("zero1", "zero2")
    done = subprocess.run([os.path.join(tools.bin, "amn-convert"), "-q", "-f", *(["--state", "master"] if master else []), "-o", out, folder],
                          capture_output=True)
    if not tally.check(done.returncode == 0, f"{what}: status {done.returncode} {done.stderr[-200:].decode()}"):
        return
    got, _ = load(out)
    missing = set(want) - set(got)
    tally.check(not missing, f"{what}: every tensor is there, not {sorted(missing)[:3]}")
    for name, value in want.items():
        if name in got and name == "steps" and kind.startswith("zero"):
            tally.check(torch.equal(got[name].float(), value.float()), f"{what}: {name}")       # widened there, kept here
        elif name in got:
            tally.check(same_bits(got[name], value), f"{what}: {name}")


def main():
    tally, tools = Tally(), Tools()
    work = tools.path("shards")
    seed = 0
    for kind in KINDS:
        for world in (2, 3, 4):
            seed += 1
            folder = os.path.join(work, f"{kind}-{world}")
            why = save(kind, folder, seed, world)
            if tally.check(why is None, f"{kind} on {world} ranks: saved {why}"):
                compare(tally, tools, kind, folder, f"{kind} on {world} ranks")
    tally.finish()


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        rank_main(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
