"""peer_torch.py BIN FOLDER: compare checkpoints that torch writes, in both forms and with two of its versions if there are
two, with torch's own reading of them."""
import hashlib
import json
import os
import subprocess
import sys

from safetensors import safe_open

from peers import Tally, Tools

SYSTEM = "/usr/bin/python3"             # Debian's python3-torch, an older one


def digests(path):
    """Returns name, dtype, shape and SHA-256 of each tensor, from the bytes of the file."""
    with open(path, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], hashlib.sha256(data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]])
                   .hexdigest()) for name, t in header.items()}


def compare(tally, tools, folder, path):
    what = os.path.join(os.path.basename(folder), os.path.basename(path))
    with open(path[:-3] + ".expected", encoding="utf-8") as f:
        want = {name: (dtype, shape, digest) for name, dtype, shape, digest in map(json.loads, f)}
    for how, out in tools.remember(path):
        if tally.check(out is not None, f"{what}, {how}: status 0"):
            tally.check(digests(out) == want, f"{what}, {how}: the tensors of torch")
            with safe_open(out, framework="pt") as f:
                tally.check(set(f.keys()) == set(want), f"{what}, {how}: names, read by safetensors")
    plain = tools.read("amn-parse", path)
    tally.check(plain is not None and plain.count(b"\n") == len(want), f"{what}: listed")


def main():
    tally, tools = Tally(), Tools()
    make = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make-checkpoints.py")
    for python in sys.executable, SYSTEM:
        version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True,
                                 check=False).stdout.strip()
        if not version:
            print(f"skip: {python} has no torch")
            continue
        folder = tools.path("torch-" + version)
        os.makedirs(folder)
        made = subprocess.run([python, make, folder], check=False)
        tally.check(made.returncode == 0, f"torch {version} writes")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".pt"):
                compare(tally, tools, folder, os.path.join(folder, name))
    tally.finish()


main()
