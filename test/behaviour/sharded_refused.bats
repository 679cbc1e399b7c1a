#!/usr/bin/env bats
# Checkpoints of training jobs that are refused: files that are missing, truncated or changed, and metadata that contradict the files,
# each other or themselves. test/cases-shards has more, as they were found.
# bats file_tags=fast
load helper

cases=$BATS_TEST_DIRNAME/../cases-shards

# refused STATUS WORD [ARG...] DIR: the checkpoint is refused with this word before any output.
refused() {
    local status=$1 word=$2
    shift 2
    try "$status" amn-convert "$@" -o x.safetensors
    grep -qF -- "$word" err || { cat err; return 1; }
    [ ! -e x.safetensors ]
}

# changed CASE: makes a copy of its input, c.
changed() {
    rm -rf c
    cp -r "$cases/$1/input" c
}

@test "metadata that is no pickle, or is cut anywhere, is malformed" {
    mkdir c
    cp "$cases/dcp-tp-fsdp/input"/* c
    echo '{"a": 1}' >c/.metadata
    try 65 amn-parse c
    size=$(stat -c %s "$cases/dcp-tp-fsdp/input/.metadata")
    for n in 0 1 2 100 $((size / 3)) $((size - 1)); do
        head -c $n "$cases/dcp-tp-fsdp/input/.metadata" >c/.metadata
        try 65 amn-convert -o x.safetensors c
        [ ! -e x.safetensors ]
    done
}

# unread STATUS WORD STATEMENTS: changes the metadata of a checkpoint of torch, which then is refused.
unread() {
    changed dcp-fsdp2
    "$helpers/edit-pickle" c/.metadata "$3"
    refused "$1" "$2" c
}

@test "metadata that contradict the files or themselves are unread by name" {
    changed dcp-fsdp2
    try 0 amn-convert -q -o w.safetensors c
    "$helpers/edit-pickle" c/.metadata 'm.version = "same"'
    try 0 amn-convert -q -o same.safetensors c
    cmp w.safetensors same.safetensors
    unread 65 'model.up.weight: a piece reaches beyond its shape' 'tensor("model.up.weight").size = size(6, 6)'
    unread 65 'model.up.weight: two pieces overlap' 'tensor("model.up.weight").chunks[1].offsets = size(3, 0)
next(k for k in m.storage_data if k.fqn == "model.up.weight" and k.offset.args[0][0] == 4).offset = size(3, 0)'
    unread 65 'there is a hole' 'del tensor("model.up.weight").chunks[1]'
    unread 65 'other dimensions than the tensor' 'tensor("model.up.weight").chunks[1].offsets = size(4)'
    unread 65 'it has no size or no chunks' 'del tensor("model.up.weight").size'
    unread 65 'another shape than .metadata declares' 'tensor("model.down.weight").size = tensor("model.up.weight").size
tensor("model.down.weight").chunks = __import__("copy").deepcopy(tensor("model.up.weight").chunks)
for k in m.storage_data:
    if k.fqn == "model.down.weight":
        k.offset = size(4 * (k.offset.args[0][0] != 0), 0)'
    unread 65 'another type than .metadata declares' 'tensor("model.up.weight").properties.state = (tensor("model.pos").properties.state[0],) + tensor("model.up.weight").properties.state[1:]'
    unread 65 'storage_data has a chunk twice' 'm.storage_data[type(next(iter(m.storage_data)))()] = 1
k = next(k for k in m.storage_data if getattr(k, "fqn", "") == "model.up.weight")
n = list(m.storage_data)[-1]
n.__dict__["args"] = None
n.__dict__.update(k.__dict__)
m.storage_data[n] = m.storage_data[k]'
    unread 65 'truncated: bytes' 'place("model.up.weight").length = 1 << 40'
    unread 65 'the file has' 'place("model.up.weight").offset = (1 << 63) - 1'
    unread 65 '__0_0.distcp' 'place("model.up.weight").offset += 1'
    for name in ../c/__0_0.distcp .. '' a/b; do
        unread 65 'no name of a file in this directory' "place('model.up.weight').relative_path = '$name'"
    done
    unread 66 '__9_0.distcp' 'place("model.up.weight").relative_path = "__9_0.distcp"'
    unread 69 'transformed (zstd)' 'place("model.up.weight").transform_descriptors = ["zstd"]'
    unread 65 'an entry of another kind' 'm.storage_data[next(iter(m.storage_data))] = 7'
    unread 65 'it has no storage_data' 'm.storage_data = None'
    unread 65 'neither a tensor nor bytes' 'm.state_dict_metadata["model.x"] = 1'
    unread 65 'a path that is not a tuple' 'm.planner_data["model.up.weight"] = "model.up.weight"'
    unread 69 'no weights of a model' 'for k in list(m.state_dict_metadata):
    if k.startswith("model"):
        del m.state_dict_metadata[k]'
    unread 65 'duplicate name' 'm.planner_data["model.up.weight"] = ("model", "_orig_mod", "up", "bias")'
    unread 77 'getcwd' 'import os; m.version = type("X", (), {"__reduce__": lambda self: (os.getcwd, ())})()'
    unread 77 'getattr' 'm.version = type("X", (), {"__reduce__": lambda self: (getattr, (m.storage_data, "x"))})()'
}

# rank R STATEMENTS: changes the optimizer states of a rank of DeepSpeed in c; o is what they hold.
rank() {
    "$helpers/edit-pickle" c/global_step3/bf16_zero_pp_rank_$1_mp_rank_00_optim_states.pt "o = m['optimizer_state_dict']
$2"
}

@test "optimizer states of DeepSpeed that contradict each other or the model states are refused" {
    unequal() {     # CASE RANK WORD STATEMENTS
        changed "$1"
        rank "$2" "$4"
        refused 65 "$3" --state master c
        grep -qF "zero_pp_rank_$2_mp_rank_00_optim_states.pt" err
    }
    for case in ds-z1-master ds-z3; do
        for r in 0 1; do
            for count in 4 1 '[2, 5]' '[]'; do
                [ "$case$count" != 'ds-z3[]' ] || continue          # says nothing, as that of some versions
                unequal $case $r 'its partition_count is not the number of ranks' "o['partition_count'] = $count"
            done
        done
    done
    unequal ds-z1-master 1 'its zero_stage is not that of rank 0' "o['zero_stage'].args = (2,)"
    unequal ds-z1-master 0 'its zero_stage contradicts the model states' "o['zero_stage'].args = (3,)"
    unequal ds-z3 1 'its zero_stage contradicts the model states' "o['zero_stage'] = 2"
    unequal ds-z1-master 1 'its zero_stage contradicts' "o['zero_stage'] = 'one'"
    unequal ds-z1-master 1 'its param_alignment_paddings are not those of rank 0' "o['param_alignment_paddings'] = [[1, 0], [0, 0]]"
    unequal ds-z1-master 1 'param_slice_mappings contradicts' "o['param_slice_mappings'][1]['ln.bias'].start += 1"
    unequal ds-z1-master 0 'not one of param_shapes' "o['param_slice_mappings'][0]['new'] = o['param_slice_mappings'][0]['emb.weight']"
    unequal ds-z1-master 1 'another number of groups' "del o['single_partition_of_fp32_groups'][0]"
    unequal ds-z1-master 1 'no optimizer_state_dict' "del m['optimizer_state_dict']"
    # the same mistake in all ranks, against the lengths of the vectors
    changed ds-z1-master
    for r in 0 1; do
        rank $r "o['param_alignment_paddings'] = [[9, 0], [0, 0]]; del o['param_slice_mappings']"
    done
    refused 65 'param_shapes needs 105 elements of group 0' --state master c
    # a list that names the number for each group, and states without a stage, are good
    changed ds-z1-master
    try 0 amn-convert -q --state master -o a.safetensors c
    for r in 0 1; do
        rank $r "o['partition_count'] = 2; del o['zero_stage'], o['param_alignment_paddings']"
    done
    try 0 amn-convert -q --state master -o b.safetensors c
    cmp a.safetensors b.safetensors
}

@test "model states of DeepSpeed that are not what they should be are refused" {
    states() {      # STATUS WORD STATEMENTS
        changed ds-z1-master
        "$helpers/edit-pickle" c/global_step3/mp_rank_00_model_states.pt "$3"
        refused "$1" "$2" --state master c
    }
    states 65 'no module or no buffer_names' 'del m["buffer_names"]'
    states 65 'no module or no buffer_names' 'm["module"] = []'
    states 65 'its partition_count is not the number of ranks' 'm["dp_world_size"] = 1; import os; os.remove(path.replace("mp_rank", "bf16_zero_pp_rank_1_mp_rank").replace("model", "optim"))'
    states 66 'bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt' 'm["dp_world_size"] = 3'
    states 75 'number of ranks exceeds' 'm["dp_world_size"] = 1 << 40'
    states 65 'another number of groups' 'm["param_shapes"].append({"new": size(1)})'
    states 65 'a value that is not a shape' 'm["param_shapes"][0]["a.weight"] = 30'
    states 65 'size overflows' 'm["param_shapes"][0]["a.weight"] = size(1 << 40, 1 << 40)'
    states 65 'param_slice_mappings' 'm["param_shapes"][0]["a.weight"] = size(5, 5)'
    states 65 'param_slice_mappings' 'm["param_shapes"][0] = dict(reversed(m["param_shapes"][0].items()))'
    states 69 'no param_shapes' 'del m["param_shapes"]'
}

@test "files of ranks that contradict each other are refused" {
    differ() {      # STATUS WORD STATEMENTS
        changed rank-dtensor-uneven
        "$helpers/edit-pickle" c/model_world_size_3_rank_1.pt "def slot(name): return m['emb.weight'].args[3][1][name]
def whole(i, value):
    a = [list(x) if isinstance(x, tuple) else x for x in m['emb.weight'].args]
    a[2][i] = value
    m['emb.weight'].args = tuple(tuple(x) if isinstance(x, list) else x for x in a)
def place(name, **state):
    p = named('torch.distributed.tensor.placement_types', name)()
    p.args = None
    p.__dict__.update(state)
    slot('_spec').placements = (p,)
mesh = slot('_spec').mesh
$3"
        refused "$1" "$2" c
        grep -qF 'model_world_size_3_rank_' err
    }
    differ 65 'up.bias: not all files have it' 'del m["up.bias"]'
    differ 65 'new: not all files have it' 'm["new"] = m["up.bias"]'
    differ 65 'emb.weight: its type or shape is not that in the file of rank 0' 'whole(2, (12, 6))'
    differ 65 'emb.weight: its type or shape is not that in the file of rank 0' 'whole(1, named("torch", "float32"))'
    differ 65 'scale: its type or shape is not that in the file of rank 0' 'm["scale"] = m["pos"]'
    differ 65 'scale: its type or shape is not that in the file of rank 0' 'm["scale"] = m["emb.weight"]'
    differ 65 'its piece has another shape than its place' 'place("Replicate")'
    differ 65 'its piece has another shape than its place' 'm["emb.weight"].args[3][1]["_local_tensor"] = m["pos"]'
    differ 65 'another number of placements' 'slot("_spec").placements *= 2'
    differ 65 'along a dimension that it does not have' 'place("Shard", dim=2)'
    differ 69 'partial sums' 'place("Partial", reduce_op="sum")'
    differ 65 'places without a rank' 'mesh._layout.axes[0].shape = (4,)'
    differ 65 'does not have the rank of this file' 'mesh._layout.axes[0].shape = (1,)'
    differ 65 'it has no mesh' 'slot("_spec").mesh = None'
    differ 65 'its mesh has no shape' 'mesh._layout.axes = ()'
    # all files agree on a mesh of four ranks, but there are three files
    changed rank-dtensor-uneven
    for r in 0 1 2; do
        mv c/model_world_size_3_rank_$r.pt c/model_world_size_2_rank_$r.pt
    done
    rm c/model_world_size_2_rank_2.pt
    refused 66 'model_world_size_2_rank_2.pt' c
}

@test "types that safetensors cannot hold are refused by name" {
    unread 69 'complex128' 'tensor("model.up.weight").properties.state = (named("torch", "complex128"),) + tensor("model.up.weight").properties.state[1:]'
}

@test "a file of a checkpoint that changes during the job: 74, with its name" {
    for file in dcp-fsdp2/__1_0.distcp ds-z2-master/global_step3/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt \
        rank-dtensor-uneven/model_world_size_3_rank_2.pt; do
        args=
        [[ $file != *master/* ]] || args='--state master'
        for change in 'printf x >>' 'touch -d 2001-01-01 '; do
            changed "${file%%/*}"
            try 74 "$helpers/held" "$change c/${file#*/}" amn-convert -v $args -o x.safetensors c
            grep -qF "${file##*/}: input/output: file changed while being read" err
            [ ! -e x.safetensors ]
        done
    done
}

@test "a checkpoint is refused where its files show parallelism that they do not describe" {
    for name in mp_rank_01_model_states.pt expert_0_mp_rank_00_model_states.pt layer_00-model_00-model_states.pt; do
        rm -rf d
        cp -r "$cases/ds-z0/input/global_step3" d
        cp d/mp_rank_00_model_states.pt "d/$name"
        try 69 amn-convert -o x.safetensors d
        grep -qF "$name" err
    done
    cp -r "$cases/rank-dtensor-bf16/input" r
    cp r/model_world_size_2_rank_0.pt r/model_world_size_2_rank_2.pt
    try 65 amn-convert -o x.safetensors r
    grep -qF 'rank 2 of 2' err
    cp -r "$cases/dcp-fsdp2/input" c
    try 75 amn-convert --max-total 1K -o x.safetensors c
    [ ! -e x.safetensors ]
}
