#!/bin/sh
# safetensors 0.8.0 with torch 2.15.0: save_file stores the memory of a tensor and ignores torch's marks for conjugated and
# negated views. The sign of the imaginary part, or of every value, is lost, without an error. torch.save keeps both.
#
#     saved:  tensor([1.-2.j]) tensor([-2.])
#     loaded: tensor([1.+2.j]) tensor([2.])
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet safetensors==0.8.0 torch==2.15.0 numpy==2.4.6
cd "$work"
"$work/bin/python" - <<'E'
import torch
from safetensors.torch import load_file, save_file

whole = torch.tensor([1 + 2j]).conj()
part = torch.tensor([1 + 2j]).conj().imag
save_file({"whole": whole, "part": part}, "a.safetensors")
loaded = load_file("a.safetensors")
print("saved: ", whole, part)
print("loaded:", loaded["whole"], loaded["part"])
assert loaded["whole"].item() == 1 + 2j and loaded["part"].item() == 2, "the behaviour has changed"
E
