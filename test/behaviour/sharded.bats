#!/usr/bin/env bats
# Checkpoints of training jobs, one file or more of each rank, read as one model: test/cases-shards has what torch, DeepSpeed and
# Megatron wrote, and what comes out. Here: other tools and outputs than its check uses, options, and messages.
# bats file_tags=fast
load helper

cases=$BATS_TEST_DIRNAME/../cases-shards

# whole CASE [ARG...]: converts a case to w.safetensors.
whole() {
    local case=$1
    shift
    try 0 amn-convert -q "$@" -o w.safetensors -f "$cases/$case/input"
}

@test "every tool reads a checkpoint of torch.distributed.checkpoint as the file that it becomes" {
    whole dcp-tp-fsdp
    amn-parse w.safetensors | jq -c '[.name, .dtype, .shape]' | sort >file
    amn-parse "$cases/dcp-tp-fsdp/input" | jq -c '[.name, .dtype, .shape]' | sort >dir
    cmp file dir
    [ "$(amn hash "$cases/dcp-tp-fsdp/input" | sed 's/.*= //')" = "$(amn hash w.safetensors | sed 's/.*= //')" ]
    try 0 amn diff "$cases/dcp-tp-fsdp/input" w.safetensors
    for bytes in 0-99 1000-4999 -77; do
        amn-convert -q --to safetensors --range=$bytes "$cases/dcp-tp-fsdp/input" >r
        amn-convert -q --to safetensors --range=$bytes w.safetensors | cmp - r
    done
    amn-convert -q -j 3 -o j.safetensors "$cases/dcp-tp-fsdp/input"
    cmp w.safetensors j.safetensors
}

@test "a checkpoint becomes other containers and quantized models in one step" {
    whole dcp-uneven
    for to in npz gguf; do
        try 0 amn-convert -q -o a.$to -f w.safetensors
        try 0 amn-convert -q -o b.$to -f "$cases/dcp-uneven/input"
        cmp a.$to b.$to
    done
    try 0 amn-forget -q --scheme fp8 --include '*weight' -o a.safetensors w.safetensors
    try 0 amn-forget -q --scheme fp8 --include '*weight' -o b.safetensors "$cases/dcp-uneven/input"
    cmp a.safetensors b.safetensors
    [ "$(amn-convert -q --to safetensors --size "$cases/dcp-uneven/input")" = "$(stat -c %s w.safetensors)" ]
}

@test "config.json beside a checkpoint is read and copied, also from huggingface/" {
    cp -r "$cases/dcp-fsdp2/input" c
    mkdir c/huggingface
    echo '{"model_type": "unheard", "tie_word_embeddings": false}' >c/huggingface/config.json
    try 0 amn-convert -q -o d/ c
    jq -e '.model_type == "unheard"' d/config.json
    mv c/huggingface/config.json c
    try 0 amn-convert -q -o e/ c
    cmp d/config.json e/config.json
}

@test "files of the model beside a checkpoint are copied, those of the training job are not" {
    cp -r "$cases/dcp-fsdp2/input" c
    mkdir c/additional_chat_templates c/optimizer_0
    echo '{"model_type": "unheard"}' >c/config.json
    of_model='chat_template.jinja generation_config.json modeling_unheard.py tokenizer.json tokenizer_config.json'
    of_job='latest zero_to_fp32.py random_states_0.pkl trainer_state.json run.yaml scheduler.bin'
    for name in $of_model $of_job additional_chat_templates/a.jinja; do
        echo '{}' >"c/$name"
    done
    # too large to be copied, but no reason to say so
    truncate -s 300M c/events.out
    try 0 amn-convert -o d/ c
    (cd d && find . -type f | sed 's|^./||' | sort) >there
    { printf '%s\n' $of_model config.json model.safetensors additional_chat_templates/a.jinja; } | sort | diff - there
    grep -qF 'files of the training job, 8 in all (the first is __0_0.distcp)' err
    ! grep -qF '256 MiB' err
    try 0 amn-convert -q -o q/ c
    [ ! -s err ]
    # a directory inside of the checkpoint is of the model as a whole
    mkdir c/huggingface
    mv c/config.json c/run.yaml c/huggingface
    try 0 amn-convert -o e/ c
    [ "$(ls e)" = "config.json
model.safetensors
run.yaml" ]
    # without a checkpoint nothing is left
    mkdir m
    cp "$fx/good-plain.safetensors" m/model.safetensors
    echo '{}' >m/latest
    try 0 amn-convert -q -o f/ m
    [ -e f/latest ]
}

@test "--state and --root choose, and are refused where they have no effect" {
    in=$cases/dcp-fsdp2/input
    all=$(amn-parse --state all "$in" | wc -l)
    model=$(amn-parse "$in" | wc -l)
    [ "$all" -gt "$model" ]
    try 0 amn-parse --root model "$in"
    [ "$(wc -l <out)" -eq "$model" ]
    try 2 amn-parse --root nowhere "$in"
    grep -qF "no tensor under 'nowhere'" err
    try 2 amn-parse --root model --state all "$in"
    try 69 amn-parse --state master "$in"
    grep -qF -- '--state master' err
    for option in '--state model' '--allow-global a.B'; do
        try 2 amn-parse $option "$fx/good-plain.safetensors"
        grep -qF 'applies to the checkpoint directory of a training job only' err
    done
    try 2 amn-parse --allow-global os.system "$in"
    grep -qF 'os.system cannot be allowed' err
    try 2 amn-parse --allow-global nodot "$in"
}

@test "several checkpoints in a directory are a usage error that lists them" {
    mkdir two
    cp -r "$cases/dcp-fsdp2/input" two/step-1
    cp -r "$cases/dcp-fsdp2/input" two/step-2
    try 2 amn-parse two
    grep -qF 'give one of step-1, step-2' err
    rm -r two/step-1
    try 0 amn-parse two
}

@test "a directory with a complete model is that model, whatever is beside it" {
    cp -r "$cases/dcp-fsdp2/input" c
    cp "$fx/good-plain.safetensors" c/model.safetensors
    amn-parse c | jq -r .name >a
    amn-parse "$fx/good-plain.safetensors" | jq -r .name | cmp - a
}

@test "what a checkpoint leaves out is said, and one file of it alone is refused" {
    try 0 amn-convert -o w.safetensors "$cases/dcp-fsdp2/input"
    grep -qE 'left out: [0-9]+ tensors of optim' err
    try 69 amn-parse "$cases/dcp-fsdp2/input/__0_0.distcp"
    grep -qF 'give its directory' err
}

@test "the weights of the optimizer, rounded, are those of the forward pass" {
    for case in ds-z1 ds-z2; do
        whole $case --state master --dtype bf16
        mv w.safetensors master.safetensors
        whole $case --dtype bf16
        amn diff --json master.safetensors w.safetensors | jq -es 'all(.[]; .status == null or .status == "equal")'
    done
    try 69 amn-convert --state master -o x.safetensors "$cases/ds-z0/input"
    grep -qF -- '--state master' err
    try 0 amn-convert -o z3.safetensors "$cases/ds-z3/input"
    grep -qF -- '--dtype bf16 gives those of the forward pass' err
}

@test "files that name the directory of a step are followed, and do not lead out of the directory" {
    cp -r "$cases/ds-z0/input" d
    try 0 amn-parse d
    for name in ../d/global_step3 .. . '' /etc; do
        printf '%s' "$name" >d/latest
        try 65 amn-parse d
    done
    printf 'global_step3\0/x' >d/latest
    try 65 amn-parse d
    printf 'global_step4\n' >d/latest
    try 66 amn-parse d
    grep -qF 'global_step4' err
}

@test "a file of one rank too many is malformed" {
    cp -r "$cases/ds-z2/input/global_step3" d
    cp d/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt d/bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt
    try 65 amn-convert --state master -o x.safetensors d
    grep -qF 'rank 2 of 2' err
    try 0 amn-convert -q -o x.safetensors d
}

@test "Meta's parts get the names and rows of Hugging Face with --to hf, and become a GGUF with config.json" {
    whole consolidated-hf --to hf
    amn-parse w.safetensors | jq -r .name | grep -qx model.layers.0.self_attn.q_proj.weight
    amn-parse "$cases/consolidated/input" | jq -r .name | grep -qx layers.0.attention.wq.weight
    cp -r "$cases/consolidated/input" c
    rm c/params.json
    try 69 amn-convert --to hf -o x.safetensors c
    grep -qF 'params.json' err
    try 0 amn-convert -q -o x.safetensors c
    rm c/consolidated.00.pth
    cp c/consolidated.01.pth c/consolidated.02.pth
    try 66 amn-convert -o y.safetensors c
    grep -qF 'consolidated.00.pth' err
}

@test "slices without the last rank are told by config.json" {
    mkdir s
    python3 - <<'PYTHON'
import json, struct
for n in 1, 2:
    name = "model.embed_tokens.weight"
    h = json.dumps({"__metadata__": {"DCP_SHARDING_INFO": json.dumps({name: {"saved_offsets": [2 * n - 2, 0]}})}, name: {"dtype": "F32",
        "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    with open("s/shard-0000%d-model-00001-of-00001.safetensors" % n, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h + bytes(24))
PYTHON
    try 0 amn-parse s
    grep -qF 'do not tell how many shards there are' err
    echo '{"vocab_size": 4, "hidden_size": 3}' >s/config.json
    try 0 amn-parse s
    echo '{"vocab_size": 5, "hidden_size": 3}' >s/config.json
    try 66 amn-parse s
    grep -qF 'a shard is missing' err
    rm s/shard-00001-model-00001-of-00001.safetensors
    try 66 amn-parse s
    grep -qF 'shard-00001-model-00001-of-00001.safetensors' err
}

@test "amn-parse tells where the pieces of a tensor lie, and --plan which bytes of which file are read" {
    in=$cases/dcp-tp-fsdp/input
    whole dcp-tp-fsdp
    try 0 amn-parse "$in"
    jq -c '{report, pieces}' out | "$helpers/json-keys" "AMN-PARSE CHECKPOINT"
    jq -es 'all(.[]; .file == null and .offset == null and (.pieces | map(.nbytes) | add) == .nbytes)' out
    jq -es 'any(.[]; .pieces | length == 4)' out
    # pieces of whole rows: their bytes, one after another, are the tensor
    python3 - "$in" out w.safetensors <<'PYTHON'
import json, struct, sys
whole = open(sys.argv[3], "rb").read()
n, = struct.unpack_from("<Q", whole)
head = json.loads(whole[8:8 + n])
done = 0
for line in open(sys.argv[2]):
    t = json.loads(line)
    rows = all(p["size"][1:] == t["shape"][1:] and not p["gaps"] for p in t["pieces"])
    if not rows:
        continue
    a, b = head[t["name"]]["data_offsets"]
    got = b"".join(open(p["file"], "rb").read()[p["offset"]:p["offset"] + p["nbytes"]] for p in t["pieces"])
    assert got == whole[8 + n + a:8 + n + b], t["name"]
    done += 1
assert done > 3
PYTHON
    try 0 amn-convert --to safetensors --plan "$in"
    jq -es 'map(select(.file) | .file | sub(".*/"; "")) == ["__0_0.distcp", "__1_0.distcp", "__2_0.distcp", "__3_0.distcp"]' out
    jq -es 'all(.[] | select(.inputs); (.inputs | map(.nbytes) | add) == .nbytes and all(.inputs[]; .file | endswith(".distcp")))' out
    # some rows of a tensor need some of its files
    at=$(jq -s 'map(select(.inputs | length == 4))[0].offset' out)
    try 0 amn-convert --to safetensors --plan --range=$at-$((at + 3)) "$in"
    jq -es 'map(select(.inputs))[0].inputs | length == 1 and .[0].nbytes == 4' out
    try 0 amn-parse --human "$in"
    grep -qE '  4 pieces$' out
}

@test "amn-inspect tells what a checkpoint holds and what can be read of it" {
    for case in dcp-fsdp1 dcp-all ds-z3 ds-universal rank-dtensor-uneven megatron-tp2-pp2 consolidated hf-one; do
        amn-inspect "$cases/$case/input" | jq -c '{report, checkpoint}'
    done >objects
    "$helpers/json-keys" "AMN-INSPECT CHECKPOINT" <objects
    [ "$(jq -r '.checkpoint | [.kind, .ranks, .step, (.states | join(" "))] | @csv' objects | tr -d '"')" = "dcp,2,pytorch_model_fsdp_0,model all
dcp,2,,model all
deepspeed-zero3,3,global_step3,model master
deepspeed-universal,,,model master
rank-files,3,,model
megatron,4,iter_0000007,model
meta-consolidated,2,,model
dcp-safetensors,2,,model" ]
    try 0 amn-inspect --human "$cases/dcp-fsdp2/input"
    grep -qE '^Checkpoint +dcp, 2 ranks$' out
    grep -qE '^ +optim: [0-9]+ tensors \(.*\), left out$|^Saved +optim: [0-9]+ tensors \(.*\), left out$' out
    grep -qE '^Can be read +--state model, all$' out
    try 0 amn-convert -v -o w.safetensors "$cases/dcp-fsdp2/input"
    grep -qE 'the tensors take [0-9]+ bytes of the [0-9.]+ KiB in the files of the checkpoint' err
}

@test "a file of another save beside a checkpoint is a warning" {
    cp -r "$cases/dcp-fsdp2/input" c
    cp c/__1_0.distcp c/__7_0.distcp
    try 0 amn-convert -o w.safetensors c
    grep -qF '.metadata does not list 1 of the .distcp files (the first is __7_0.distcp)' err
}

@test "amn scan reads all pickles of a checkpoint, in every directory of it and in every archive of a file" {
    for case in dcp-fsdp2 dcp-fsdp1 dcp-file-per-chunk ds-z3 ds-universal rank-dtensor-uneven bad-rank-local megatron-tp2-pp2 consolidated; do
        try 0 amn scan "$cases/$case/input"
        jq -es 'all(.[]; .verdict == "clean")' out
    done
    try 0 amn scan "$cases/dcp-fsdp2/input"
    jq -es 'map(.file | sub(".*/"; "")) == [".metadata", "__0_0.distcp", "__1_0.distcp"]' out
    [ "$(grep -c . out)" -eq 3 ]
    try 1 amn scan "$cases/bad-dcp-pickle/input"
    # one archive in the middle of a file
    cp -r "$cases/dcp-fsdp2/input" c
    python3 - <<'PYTHON'
import io, zipfile, zlib
data = open("c/__1_0.distcp", "rb").read()
end = data.index(b"PK\5\6", len(data) // 2) + 22
begin = data.rindex(b"PK\5\6", 0, end - 22) + 22
archive = data[begin:end]
pickle = zipfile.ZipFile(io.BytesIO(archive)).read("archive/data.pkl")
name = b"ctorch._utils\n_rebuild_tensor_v2\n"
evil = pickle.replace(name, b"cposix\nsystem\n".ljust(len(name), b"0"))
assert evil != pickle
crc = [zlib.crc32(p).to_bytes(4, "little") for p in (pickle, evil)]
open("c/__1_0.distcp", "wb").write(data[:begin] + archive.replace(pickle, evil).replace(*crc) + data[end:])
PYTHON
    try 1 amn scan c
    grep -q posix out
    try 77 amn-convert -o x.safetensors c
    # bytes between archives
    cp "$cases/dcp-fsdp2/input/__1_0.distcp" c
    echo more >>c/__1_0.distcp
    try 65 amn scan c
}

@test "one file of a rank leads to its directory" {
    shards=$cases/rank-dtensor-uneven/input
    try 69 amn-parse "$shards/model_world_size_3_rank_0.pt"
    grep -qF "give the directory: $shards" err
    for file in ds-z2/input/global_step3/mp_rank_00_model_states.pt megatron-tp2/input/iter_0000007/mp_rank_00/model_optim_rng.pt; do
        try 0 amn-convert -o w.safetensors -f "$cases/$file"
        grep -qF 'whose directory is read as the whole model: ' err
    done
    cp "$cases/ds-z2/input/global_step3/mp_rank_00_model_states.pt" alone.pt
    try 0 amn-convert -o w.safetensors -f alone.pt
    [ ! -s err ] || ! grep -q checkpoint err
}

@test "storages of a checkpoint are compared with their CRC-32, in rows and in columns" {
    for case in dcp-tp-fsdp ds-z2 ds-z3 megatron-tp2 rank-dtensor-uneven consolidated; do
        rm -rf c
        cp -r "$cases/$case/input" c
        python3 - <<'PYTHON' >list
import json, subprocess
seen = set()
for line in subprocess.run(["amn-parse", "c"], capture_output=True, text=True, check=True).stdout.splitlines():
    for p in json.loads(line)["pieces"]:
        if p["nbytes"] != 0 and not p["gaps"] and (p["file"], p["offset"]) not in seen:
            seen.add((p["file"], p["offset"]))
            print(p["file"], p["offset"] + p["nbytes"] // 2)
PYTHON
        [ "$(wc -l <list)" -gt 5 ]
        for n in 1 3 $(($(wc -l <list) / 2)) $(wc -l <list); do
            read -r file at <<<"$(sed -n ${n}p list)"
            cp "$file" kept
            python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2])); b = f.read(1)[0] ^ 1; f.seek(-1, 1); f.write(bytes([b]))' "$file" "$at"
            try 65 amn-convert -j 2 -o w.safetensors -f c
            grep -qF 'CRC-32 mismatch' err
            try 0 amn-convert -q --no-verify -o w.safetensors -f c
            cp kept "$file"
        done
        try 0 amn-convert -q -o w.safetensors -f c
    done
}
