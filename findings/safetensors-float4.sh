#!/bin/sh
# safetensors 0.8.0 with torch 2.15.0: save writes float4_e2m1fn_x2 as F4, and load of the same bytes does not know the type.
# A file can be loaded as a whole, but no slice of it: the shape in the file counts values, that of torch counts pairs.
#
#     load(save(x)):    KeyError: 'F4'
#     load_file:        torch.Size([2, 4])
#     get_slice()[0:1]: RuntimeError: shape '[2, 8]' is invalid for input of size 8
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet safetensors==0.8.0 torch==2.15.0 numpy==2.4.6
cd "$work"
"$work/bin/python" - <<'E'
import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, save, save_file


def attempt(act):
    try:
        return str(act())
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)


x = torch.zeros(2, 4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
save_file({"x": x}, "a.safetensors")
results = [attempt(lambda: load(save({"x": x}))["x"].shape), attempt(lambda: load_file("a.safetensors")["x"].shape),
           attempt(lambda: safe_open("a.safetensors", "pt").get_slice("x")[0:1].shape)]
print("load(save(x)):    %s\nload_file:        %s\nget_slice()[0:1]: %s" % tuple(results))
wanted = ["KeyError: 'F4'", "torch.Size([2, 4])", "RuntimeError: shape '[2, 8]' is invalid for input of size 8"]
assert results == wanted, "the behaviour has changed"
E
