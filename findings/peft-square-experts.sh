#!/bin/sh
# peft 0.18.1 and 0.21.2: LoRA factors of a stacked weight (target_parameters) changed their roles between the two releases.
# An adapter saved by 0.18.1 has A of [E * r, out] and B of [in, E * r]; 0.21.2 reads A as [E * r, in]. If the experts are
# square both fit, and the difference is merged transposed, without a warning, although adapter_config.json names the version.
# Others are refused.
#
#     0.18.1: [[1.0, 4.0], [2.0, 8.0]]
#     0.21.2: [[1.0, 2.0], [4.0, 8.0]]
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/pip" install --quiet peft==0.21.2 torch==2.15.0 transformers==5.24.0
"$work/bin/pip" install --quiet --no-deps --target "$work/old" peft==0.18.1
cd "$work"
cat >merge.py <<'E'
import os

import peft
import torch


class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3, 2, 2))

    def forward(self, x):
        return self.weight @ x


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = Experts()

    def forward(self, x):
        return self.experts(x)


if os.path.exists("adapter"):
    model = peft.PeftModel.from_pretrained(Model(), "adapter")
else:
    config = peft.LoraConfig(r=1, lora_alpha=1, target_modules=[], target_parameters=["experts.weight"])
    model = peft.get_peft_model(Model(), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(torch.arange(1.0, 1 + parameter.numel()).reshape(parameter.shape))
    model.save_pretrained("adapter")
print("%s: %s" % (peft.__version__, model.merge_and_unload().experts.weight[0].tolist()))
E
old=$(PYTHONPATH=$work/old "$work/bin/python" -W ignore merge.py)
new=$("$work/bin/python" -W ignore merge.py)
printf '%s\n%s\n' "$old" "$new"
[ "$old" = "0.18.1: [[1.0, 4.0], [2.0, 8.0]]" ] && [ "$new" = "0.21.2: [[1.0, 2.0], [4.0, 8.0]]" ] ||
    { echo "the behaviour has changed" >&2; exit 1; }
