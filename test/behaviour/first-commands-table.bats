#!/usr/bin/env bats
# What people type first: 166 jobs, each typed before the manual was read, and what comes. The other files of this name have the
# details.
load helper

# Makes the inputs: llama (shards), llama1 (one file), GGUF files, a tied Qwen3, an untied Llama, adapters, directories as people have them.
inputs() {
    local d
    "$tests/make/examples" ex
    amn dequantize -q -o llama1/ ex/model
    amn convert -q --shard-size 1M -o llama/ llama1
    amn convert -q -o l.bf16.gguf llama1
    amn quantize -q -s q4_k_m -o l.q4.gguf llama1
    for d in qwen3 llama3 qwen3_vl bert; do "$helpers/hf-model" "$corpus/hf-models/$d" $d; done
    mkdir ads
    cp -r ex/lora lora1
    cp -r ex/lora ads/lora1
    cp -r ex/lora ads/lora2
    cp -r llama1 newarch
    sed -i 's/LlamaForCausalLM/FooForCausalLM/' newarch/config.json
    (cd llama1 && sha256sum * >../SHA256SUMS)
    "$helpers/weights" wide.safetensors a.weight=F32:64x256
    python3 -c 'from modelfile import write; write("names.safetensors", [("a\x1bb.日本", "F32", [2], bytes(8))])'
    export AMN_OBJ=$(cd "${AMN_OBJ:-$tests/../obj}" && pwd)
}

# rows: reads lines ROW~STATUS~COMMAND~TEXT, runs the commands, and looks for the text in what they print. The output is `o` or
# begins with it.
rows() {
    local row status command text got bad=0
    while IFS='~' read -r row status command text; do
        got=0
        rm -rf o o[.-]*
        eval "$command" >.out 2>.err </dev/null || got=$?
        [ "$got" -eq $status ] && cat .out .err | tr -d '\0' | grep -qF -e "$text" && continue
        echo "row $row: $command: status $got, expected $status, '$text'"
        head -n 3 .out .err | cut -c1-300
        bad=1
    done
    [ $bad = 0 ]
}

@test "the first table" {
    inputs
    rows <<'END'
1~0~amn inspect l.q4.gguf | jq -r .format~GGUF
2~0~amn parse l.q4.gguf | jq -r 'select(.scheme) | .scheme' | sort -u~q4_k
3~0~amn dequantize ex/model -o o; ls o~config.json
3b~2~amn dequantize ex/model o~the output is given with -o
4~0~amn dequantize l.q4.gguf | split -b 1M - o.; cat o.* | cmp - <(amn dequantize l.q4.gguf) && echo same~same
4b~2~amn dequantize --range 100 l.q4.gguf~--range
5~0~gzip -c l.q4.gguf | amn dequantize -q | cmp - <(amn dequantize -q l.q4.gguf) && echo same~same
5b~2~cat l.q4.gguf | amn convert~--to FORMAT
6~0~amn dequantize -q -o o/ ex/model; amn dequantize --resume -o o/ ex/model; amn inspect --human o~Format
7~2~amn convert l.q4.gguf m.safetensors~-o
7b~2~amn dequantize -o o.gguf l.q4.gguf~use amn-convert -o o.gguf
8~0~amn convert llama1/model.safetensors -o o.gguf~llama.cpp cannot run the output
8b~0~amn convert ex/model -o o.gguf; amn inspect --human o.gguf~Architecture  llama
9~2~amn quantize llama1 q4_k_m~did you mean --scheme q4_k_m?
9b~0~amn quantize --scheme q4_k_m llama1/model.safetensors -o o.gguf~llama.cpp cannot run the output
10~0~"$helpers/weights" o.ck.safetensors state_dict.a.weight=F32:4x4 optimizer.state.0.exp_avg=F32:4x4; amn convert o.ck.safetensors -o o.safetensors~--root state_dict reads only the model
11~0~amn convert l.bf16.gguf -o o.npz~--dtype f32
12~0~amn quantize --scheme nf4 -o o llama1; cat o/config.json~bitsandbytes
13~0~amn quantize --scheme FP8_DYNAMIC -o o llama1; cat o/config.json~compressed-tensors
14~2~amn convert l.q4.gguf --tensor token_embd -o o.npy~did you mean token_embd.weight?
14b~2~amn convert --to f32 l.q4.gguf~did you mean --dtype f32?
14c~0~amn convert --scheme fp8 llama1 -o o.safetensors; amn parse o.safetensors~F8_E4M3
15~0~amn convert --strip-prefix model. llama1 -o o.safetensors; amn parse o.safetensors~"name":"embed_tokens.weight"
16~65~amn convert l.q4.gguf l.bf16.gguf -o o.gguf~--add-prefix
17~2~amn convert --shard-size 1M -o o.safetensors llama1~-o DIR/
18~0~amn convert --gguf-kv general.name=Foo l.q4.gguf -o o.gguf; amn parse o.gguf~Q4_K
18b~0~amn convert --gguf-kv llama.context_length=4096 l.q4.gguf -o o.gguf; amn inspect --metadata o.gguf~"llama.context_length":4096
18c~0~amn convert --gguf-metadata <(echo '{"general.name":"Foo"}') l.q4.gguf -o o.gguf; amn inspect --metadata o.gguf~"general.name":"Foo"
18d~0~amn convert --gguf-unset llama.vocab_size l.q4.gguf -o o.gguf; echo done~done
19~1~amn scan ex/checkpoint.pt~dangerous
20~0~amn diff llama llama1~"equal":20
21~0~amn quantize --scheme q8_0 --size l.bf16.gguf~1
22~2~amn quantize --target-size 1K l.bf16.gguf -o o.gguf~too small
23~0~amn quantize --scheme q4_k_m l.q4.gguf -o o.gguf; amn diff l.q4.gguf o.gguf~"equal":20
24~0~amn quantize --scheme q4_0 --include '*ffn_up*' l.q4.gguf -o o.gguf; amn parse o.gguf~Q6_K
25~2~amn quantize --scheme q4_k --group-size 64 -o o.gguf llama1~--group-size
26~0~amn quantize --scheme q4_k_m --dry-run --human llama1~Becomes
27~0~amn quantize --scheme gptq -o o/ llama1~not quantized: row length is not a multiple of the group size
28~66~amn inspect acme/llama-gguf~hf:acme/llama-gguf
29~66~amn inspect https://x/y~curl -L URL
30~73~touch o.gguf; amn convert -n -o o.gguf l.bf16.gguf~not overwritten (-n)
30~73~amn dequantize l.q4.gguf >&-~(standard output): cannot create
31~2~"$helpers/pty" amn dequantize l.q4.gguf~not writing binary data to a terminal; redirect it, use -o FILE, or force it with -f
32~2~amn quantize -s q4_k_m -o o.gguf none1 none2~'none1'
33~2~amn quantize --scheme q4_0 -M llama1~unknown option
34~0~amn quantize --sch q8_0 -o o.gguf llama1; amn parse o.gguf~Q8_0
35~0~amn dequantize -q --output-dir o l.q4.gguf l.bf16.gguf; ls o~l.q4.safetensors
36~0~amn quantize --scheme help~q4_k_m
37~0~amn parse --human l.q4.gguf | head -n 1~Tensor
38~0~amn parse --human names.safetensors~a\u{1b}b.日本  F32
39~66~LC_ALL=de_DE.UTF-8 amn inspect none~cannot open: No such file or directory
40~0~amn convert --help | head -n 1~Usage: amn convert
41~0~amn quantize -s q4_k_m --report o.html -o o.gguf llama1; cat o.html~</html>
42~124~mkfifo o.pipe; sleep 1 >o.pipe & timeout -s INT .3 amn convert --to gguf -o o.gguf <o.pipe; s=$?; ls -A; (exit $s)~lora1
43~0~{ sleep .6; cat l.q4.gguf; } | amn dequantize --progress=always -o o.safetensors~reading the header
44~0~"$helpers/pty" amn dequantize -o o.safetensors l.q4.gguf~13 weights dequantized, 3.28 MiB written to o.safetensors in
45~0~"$helpers/tab" bash "$AMN_OBJ/completions/amn.bash" 'amn quantize --scheme IQ4_N'~amn quantize --scheme iq4_nl
46~0~make -s -C "$tests/.." help~install
47~0~amn help help | head -n 1~AMN(1)
END
}

@test "the second table: adapters" {
    local names=$tests/cases/names
    inputs
    rows <<'END'
1~0~amn inspect lora1 --human~Modules       4: 4 LoRA
2~0~amn dequantize --adapter lora1 -o o/ llama1~4 weights changed by 1 adapter: the change is 6.58 % of the weights
3~0~amn dequantize --adapter lora1:0.5 --adapter ads/lora2:0.3 -o o/ llama1~4 weights changed by 2 adapters
4~2~amn merge llama1 lora1~use amn convert --adapter FILE
4~2~amn convert --lora lora1 llama1 -o o.gguf~use --adapter FILE
5~2~amn convert lora1 -o o.gguf~--base
5~0~amn convert lora1 -o o.gguf --base llama1; amn inspect --human o.gguf~Adapter       GGUF, lora
6~0~amn convert --to gguf lora1 --base llama1 -o o.gguf; amn parse o.gguf~blk.0.attn_q.weight.lora_a
7~0~amn quantize --adapter lora1 -s q4_k_m -o o.gguf l.q4.gguf~quantized 4 weights
8~0~amn convert --adapter lora1 -o o.gguf l.q4.gguf~dequantized to BF16: the adapter changes them
9~65~amn dequantize --adapter lora1 -o o/ qwen3~does not fit a weight of shape
10~66~amn inspect ads~give one of them, such as ads/lora1
10~66~amn dequantize --adapter ads -o o/ llama1~give one of them, or --adapter for each
11~2~amn extract llama1 llama~use amn convert --only GLOB
11~2~amn extract-lora llama1 llama~amn makes no adapter from two models
12~0~amn convert lora1 ads/lora2:0.5 -o o/; cat o/adapter_config.json~"r": 16
12~2~amn convert lora1 --adapter ads/lora2 -o o/~to join adapters, give all of them without --adapter
12~0~amn convert lora1 -o o.gguf --base llama1; amn convert o.gguf --base llama1 -o o.d/; amn diff lora1/adapter_model.safetensors o.d/adapter_model.safetensors~"equal":8
12~0~amn convert --to mlx lora1 -o o/; amn convert --to peft o/ -o o.d/; amn diff lora1/adapter_model.safetensors o.d/adapter_model.safetensors~"equal":8
12~69~amn convert --to kohya lora1 -o o.safetensors~it is of a language model
12~0~amn convert --to diffusers "$names/sd" -o o.d; amn convert --to kohya o.d -o o.safetensors; amn parse o.safetensors~lora_unet_down_blocks_1_attentions_0_transformer_blocks_0_attn1_to_k.alpha
END
}

@test "the second table: compare, hash, check" {
    inputs
    mkdir half wrong
    cp -r llama missing
    rm missing/model-00002-of-*
    head -c 500000 llama1/model.safetensors >half/model.safetensors
    cp -r llama/* wrong
    sed -i 's/model-00001-of/model-00002-of/' wrong/*.index.json
    cat l.q4.gguf l.q4.gguf >twice.gguf
    rows <<'END'
13~0~amn diff llama llama1 --human~Equal         20 tensors
14~1~amn diff llama1 l.q4.gguf --human~Different     15 tensors
14~1~amn diff l.q4.gguf llama1 --human~Different     15 tensors
15~1~amn diff l.bf16.gguf l.q4.gguf --human~Together
16~0~amn diff l.bf16.gguf l.q4.gguf | tail -n 1~"total":20
17~2~amn diff --threshold 40 l.bf16.gguf l.q4.gguf~--min-sqnr DB
17~1~amn diff --min-sqnr 40 l.bf16.gguf l.q4.gguf~"total":20
17~0~amn diff --min-sqnr 10 l.bf16.gguf l.q4.gguf~"total":20
18~1~amn diff llama1 qwen3 --human~Other shape
19~0~amn diff l.bf16.gguf l.q4.gguf | jq -r .dtype_b~Q6_K
20~0~amn check SHA256SUMS llama1~llama1: 4 files OK
21~0~amn hash llama1 >o.m; amn check o.m llama1~llama1: OK
22~0~amn hash --stored llama1/model.safetensors~AMN-STORED (llama1/model.safetensors) =
23~66~amn check ollama:tiny~ollama pull tiny
24~2~amn check llama1~a manifest comes first: amn check MANIFEST llama1
25~1~amn parse --hash llama1 >o.m; cp -r llama1 o.d; printf x | dd of=o.d/model.safetensors bs=1 seek=900000 conv=notrunc; amn check o.m o.d~model.layers.0.mlp.gate_proj.weight: FAILED
26~65~amn inspect half~truncated: 500000 of
26b~65~amn inspect wrong~the index and the shards may come from different downloads
26c~0~amn diff ex/model llama1~"equal_values":14
26c~0~amn hash --to bf16 ex/model llama1 | sed 's/.*= //' | sort | uniq -c~      2 
26c~0~amn hash --to bf16 ex/model >o.m; amn check o.m llama1~llama1: OK
26c~1~amn hash ex/model >o.m; amn check o.m llama1~FAILED
27~66~amn inspect missing~the model has 4 files, and this one is missing: download it again
27~66~rm missing/*.index.json; amn inspect missing~the directory has only 3 of the 4 shards
28~65~amn inspect twice.gguf~another GGUF file begins after the data
29~65~amn convert --shard-size 500K -o o.gguf l.q4.gguf; cat o-* >o.cat.gguf; amn convert -o o.j.gguf o.cat.gguf~files were joined, as by cat
END
}

@test "the second table: types, names, selections" {
    inputs
    "$helpers/odd-values" make odd
    rows <<'END'
30~0~amn convert --dtype f32 -o o/ llama1; cat o/config.json~"torch_dtype": "float32"
30b~0~amn dequantize --to f32 -o o/ llama1~amn convert --dtype converts all floats
31~0~amn convert --scheme q8_0 --exclude '*attn*' -o o.gguf llama1; amn parse o.gguf | grep -c '"dtype"'~20
32~0~amn convert --dtype f16 --exclude '*norm*' -o o.safetensors llama1; amn parse o.safetensors~BF16
32~0~amn convert --dtype f16 --dtype '*norm*=f32' -o o.safetensors llama1; amn parse o.safetensors~F32
32~2~amn quantize -s q8_0 --tensor-type norm=f32 -o o.gguf llama1~--dtype GLOB=TYPE
33~0~amn quantize -s q8_0 --exclude '*self_attn*' -o o.gguf llama1~quantized 5 weights
33~0~amn quantize -s q8_0 --tensor-type v_proj=q5_0 -o o.gguf llama1; amn parse o.gguf~Q5_0
34~0~amn convert --dtype bfloat16 -o o.gguf llama1 && amn convert -f --dtype float16 -o o.gguf llama1 && echo both~both
35~2~amn quantize --scheme f16 -o o.gguf llama1~did you mean amn convert --dtype f16?
35~0~amn quantize --scheme f16 --exact -o o.gguf llama1~0 weights, 14 kept
35~2~amn quantize l.bf16.gguf o.gguf F16~did you mean amn convert --dtype f16?
36~2~amn convert --outtype f16 llama1~use --dtype f16, bf16 or f32
36~69~amn convert --mmproj -o o.gguf llama1~no family has the towers of class
37~2~amn quantize --leave-output-tensor llama1~--tensor-type '^output.weight=f16'
37~2~amn quantize -t 4 -s q8_0 llama1~threads are given with -j 4
38~2~amn convert --rename s/nomatch/x/ -o o.safetensors llama1~no tensor has such a name
38~2~amn convert --strip-prefix foo. -o o.safetensors llama1~no tensor has such a name
39~2~amn convert --rename a=b -o o.safetensors llama1~is not s/EXPRESSION/TEXT/
40~2~amn quantize -s q8_0 --tensor-type norm=f16 -o o.gguf llama1~has no effect
41~0~amn convert --tensor model.embed_tokens.weight -o o.npy llama1~--dtype f32
42~0~amn quantize -q -s q8_0 -o o.gguf qwen3; amn convert --to hf -o o.d/ o.gguf; cat o.d/config.json~"tie_word_embeddings": true
43~0~amn convert --drop 'lm_head*' -o o/ llama3~left out: lm_head.weight
43~0~amn convert -q --drop 'lm_head*' -o o/ llama3; amn convert -o o.gguf o~the model has no lm_head.weight, but config.json declares
44~69~amn convert --drop '*visual*' -o o/ qwen3_vl~for the text model, write a GGUF file
45~0~amn convert -o o.gguf qwen3_vl~tensors of vision and audio towers are left out
46~0~amn convert --dtype f16 -o o.safetensors odd~overflow F16
47~0~amn convert -t odd~NaN and
END
}

@test "the second table: GGUF" {
    inputs
    echo '{{ x }}' >tpl.jinja
    "$helpers/hf-model" "$corpus/hf-models/gpt_oss" oss
    cases=$tests/cases-image
    rows <<'END'
48~0~amn convert --gguf-kv tokenizer.chat_template=@tpl.jinja -o o.gguf l.q4.gguf; amn inspect --metadata o.gguf~"tokenizer.chat_template":"{{ x }}
49~0~amn convert --gguf-kv llama.rope.scaling.factor=4.0 -o o.gguf l.q4.gguf; amn inspect --metadata o.gguf~"llama.rope.scaling.factor":"f32"
50~0~amn convert --gguf-kv 'general.tags=["a","b"]' -o o.gguf l.q4.gguf; amn inspect --metadata o.gguf~"general.tags":["a","b"]
51~2~amn convert --gguf-remove general.name -o o.gguf l.q4.gguf~--gguf-unset KEY
51~2~amn convert --remove-metadata general.name -o o.gguf l.q4.gguf~--gguf-unset KEY
52~0~cp l.q4.gguf o.gguf; amn convert --in-place --gguf-kv llama.context_length=4096 o.gguf; amn inspect --metadata o.gguf~"llama.context_length":4096
52~73~amn convert -o l.q4.gguf l.q4.gguf~give --in-place instead of -o to change keys
53~0~amn convert --shard-size 500K -o o.gguf l.q4.gguf; amn convert -q -o o.j.gguf o-00001-of-*; cmp o.j.gguf l.q4.gguf && echo same~same
54~69~amn convert --shard-size 500K -o o.gguf l.q4.gguf; amn convert -o o.j.gguf o-00002-of-*~this is part 2 of
55~66~amn convert --shard-size 500K -o o.gguf l.q4.gguf; rm o-00002-of-*; amn inspect o-00001-of-*~this one is missing: download it again
56~73~amn convert -q --shard-size 500K -o o.gguf l.q4.gguf; amn convert --shard-size 500K -o o.gguf l.q4.gguf~with -f
56~0~amn convert -q --shard-size 500K -o o.gguf l.q4.gguf; amn convert -f --shard-size 500K -o o.gguf l.q4.gguf; amn diff o-00001-of-* l.q4.gguf~"equal":20
56~73~amn convert -q --shard-size 500K -o o.gguf l.q4.gguf; amn convert -f --shard-size 500K -o o.gguf o-00001-of-*~overwrite
57~0~amn convert --to hf -o o/ l.q4.gguf; ls o~tokenizer_config.json
58~0~amn dequantize -o o/ l.q4.gguf; cat o/config.json~LlamaForCausalLM
59~0~amn quantize -s mlx-4bit -o o/ l.q4.gguf; cat o/config.json~"group_size": 64
59~0~amn quantize -s fp8 -o o/ l.q4.gguf; cat o/config.json~"quant_method": "fp8"
60~0~amn convert --to hf --scheme fp8 -o o/ l.q4.gguf; cat o/config.json~"quant_method": "fp8"
61~0~amn convert -q -o o.gguf oss; amn inspect --human o.gguf~gpt-oss
61b~0~amn quantize -q -s nvfp4 --include '*mlp*' -o o.a llama1; amn quantize -q -s fp8-per-channel --include '*self_attn*' -o o.b o.a; amn convert -o o.gguf o.b; amn parse o.gguf~NVFP4
61c~0~amn quantize -q -s gptq -o o.d/ llama1; amn convert -o o.gguf o.d~8 weights (8 with the source's scales)
61c~0~amn quantize -q -s awq -o o.d/ llama1; amn quantize --exact -s int4-group -o o.e o.d; cat o.e/config.json~compressed-tensors
62~0~amn quantize -q -s mxfp4 -o o.d/ llama1; amn quantize -q --exact -s mxfp4 -o o.gguf o.d; amn inspect --metadata o.gguf | jq '.metadata["general.file_type"]'~38
63~69~amn quantize --exact -s q8_0 -o o.gguf ex/model~f32 holds it
64~65~amn quantize --imatrix l.q4.gguf -s q4_k_m -o o.gguf llama1~has no entries
64~2~amn quantize -s iq2_xs -o o.gguf llama1~--imatrix FILE
65~2~amn quantize -s q4_k_m --tensor-type a=q4_k,b=q5_k -o o.gguf llama1~no tensor matches
66~2~amn quantize --target-size 50% -o o.gguf llama1~is not a size such as
66~0~amn quantize --target-size 8GB -o o.gguf llama1~as a mix of q8_0 (13)
67~0~amn quantize -s mxfp4_moe -o o.gguf llama1~mxfp4_moe writes experts as MXFP4, and the model has none
67b~0~amn quantize -q -s q4_k_m -o o.gguf "$cases/flux/model.safetensors"; amn inspect --human o.gguf~ComfyUI-GGUF
END
}

@test "the second table: directories as people have them, and new architectures" {
    inputs
    mkdir -p many/original two st/1_Pooling pipe/unet gm onnx/onnx ml/M.mlpackage none dcp five
    cp llama1/* many
    touch many/pytorch_model.bin many/optimizer.pt many/consolidated.00.pth onnx/onnx/model.onnx dcp/.metadata dcp/__0_0.distcp
    cp llama1/* two
    cp llama1/model.safetensors two/model.fp16.safetensors
    cp bert/* st
    echo '[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
        {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]' >st/modules.json
    echo '{"pooling_mode_mean_tokens":true}' >st/1_Pooling/config.json
    cp llama1/model.safetensors pipe/unet
    echo '{}' >pipe/model_index.json
    cp l.q4.gguf gm
    cp l.q4.gguf gm/mmproj-model-f16.gguf
    cp llama1/model.safetensors none
    printf 'lmgg\x98\xca\0\0%04000d' 0 >damaged.bin
    "$helpers/whisper-ggml" whisper ggml-base.en.bin
    cp llama1/* five
    mkdir cons shards
    echo >tpl
    "$helpers/checkpoint" cons/consolidated.00.pth views
    cp cons/consolidated.00.pth cons/consolidated.01.pth
    python3 - <<'PYTHON'
import json
from modelfile import write
names = {}
for i in range(200):
    file = "model-%05d-of-00200.safetensors" % (i + 1)
    tensors = [("layers.%d.%d.weight" % (i, k), "BF16", [2, 2], bytes(8)) for k in range(50)]
    write("shards/" + file, tensors)
    names.update({t[0]: file for t in tensors})
json.dump({"metadata": {"total_size": 80000}, "weight_map": names}, open("shards/model.safetensors.index.json", "w"))
PYTHON
    sed -i 's/"num_hidden_layers": 2/"num_hidden_layers": 3/' five/config.json
    rows <<'END'
68~0~amn inspect --human many~safetensors
69~0~amn convert -o o.gguf two~reading model.safetensors, not model.fp16.safetensors
70~69~amn convert -o o.gguf cons~the directory has neither params.json nor a norm.weight
70~69~amn convert -o o.gguf cons/consolidated.00.pth~one of several model-parallel parts, each with a slice of every matrix: give its directory
71~0~amn convert -q --dtype f16 -o o/ st; ls o/1_Pooling~config.json
71~0~amn convert -q -o o.gguf st; amn inspect --metadata o.gguf~"bert.pooling_type":1
72~2~amn convert -o o.pth llama1~.pth files are not written
72~2~amn quantize -s q4_k_m -o o.q4_k_m llama1~did you mean --scheme q4_k_m -o FILE.gguf?
73~69~amn inspect pipe~give one of them, such as pipe/unet
74~2~amn inspect gm~such as gm/l.q4.gguf
75~66~amn inspect onnx~its subdirectories have (onnx)
75~69~amn inspect ml~this is a model of Core ML
75~69~amn inspect ml/M.mlpackage/~this is a model of Core ML
75~65~amn inspect dcp~torch.distributed.checkpoint
76~0~amn convert -o o.gguf none~the directory has no config.json
77~0~amn inspect --human ggml-base.en.bin~ggml
77~65~amn inspect damaged.bin~whisper.cpp
78~69~printf '7z\274\257\047\034%040d' 0 >o.7z; amn inspect o.7z~7z x -so FILE | amn
78~69~printf 'Rar!\032\007\001\000%040d' 0 >o.rar; amn inspect o.rar~unrar x FILE
78~69~printf '\211HDF\r\n\032\n%040d' 0 >o.h5; amn inspect o.h5~HDF5
78~69~printf '\034\0\0\0TFL3%040d' 0 >o.tflite; amn inspect o.tflite~TensorFlow Lite
78~69~printf '\0\0\0\0ET12%0300d' 0 >o.pte; amn inspect o.pte~ExecuTorch
78~69~tar czf o.tar.gz tpl; amn inspect o.tar.gz~tar -xf FILE
78~65~echo version https://git-lfs.github.com/spec/v1 >o.st; amn inspect o.st~git lfs pull
78~65~echo '<!DOCTYPE html>' >o.st; amn inspect o.st~web page (HTML)
78~65~echo Access to model x is restricted >o.st; amn inspect o.st~it begins: Access to model x is restricted
78~65~: >o.st; amn inspect o.st~file is empty
78~65~cp /bin/true o.st; amn inspect o.st~a program or a library (ELF)
79~65~amn inspect llama1/config.json~this is a config.json
80~0~amn inspect --human "$fx/unsupported-exl3.safetensors"~EXL3
80~69~amn dequantize -o o.st "$fx/unsupported-exl3.safetensors"~EXL3 cannot be decoded yet
81~65~amn convert -o o.gguf ex/gptq~architectures, the model class, is missing
81~65~amn convert -o o.gguf ex/nvfp4~use --config none to keep the tensor names
82~0~amn inspect shards | jq -c '[.files, .tensors]'~[200,10000]
83~69~amn convert -o o.gguf newarch~all its tensors have names of family llama, so use --family llama
84~0~amn convert --family llama -o o.gguf newarch; amn inspect --human o.gguf~Architecture  llama
84~0~amn convert --family LlamaForCausalLM -o o.gguf newarch; amn inspect --human o.gguf~Architecture  llama
84~0~amn convert --family llama --to hf -o o/ l.q4.gguf; ls o~config.json
84~69~amn convert --family qwen3 --to hf -o o/ l.q4.gguf~the family of --family is for architecture qwen3
84~0~amn convert --family llama lora1 --base newarch -o o.gguf; amn inspect --human o.gguf~GGUF, lora
84~2~amn convert --family lama --to hf -o o/ l.q4.gguf~did you mean llama?
85~0~amn convert --family-template newarch~family  llama
86~65~amn convert -o o.gguf five~blk.2.attn_norm.weight: missing
END
}

@test "the second table: remote, pipes, machine, scripts, scan" {
    inputs
    mkdir gm code
    cp l.q4.gguf gm
    cp llama1/* code
    touch code/modeling_x.py
    ranged='tail -c +$((AMN_FROM + 1)) "$AMN_FILE" | head -c $((AMN_TO - AMN_FROM + 1))'
    rows <<'END'
87~66~amn inspect https://huggingface.co/a/b~hf download ORG/NAME
88~0~amn inspect --human --fetch "$ranged" llama1/~safetensors
89~0~amn convert -q --fetch 'cat "$AMN_FILE"' -o o.gguf l.q4.gguf; cmp o.gguf l.q4.gguf && echo same~same
90~0~amn convert -q --fetch "sh -c '$ranged'" -o o.gguf l.q4.gguf; cmp o.gguf l.q4.gguf && echo same~same
91~74~amn inspect --fetch "cat \$AMN_FILE" llama1~ends with a slash: llama1/
91~65~amn inspect --fetch : llama1~ends with a slash: llama1/
92~2~amn inspect --fetch "$ranged"~--fetch requires a FILE
93~0~amn help fetch~--fetch
94~69~tar cf - llama1 | amn convert -o o.gguf~--fetch
95~65~head -c 500000 l.q4.gguf | amn convert -o o.safetensors~truncated
96~0~amn dequantize -q -o o/ ex/model; amn dequantize --resume -o o/ ex/model; echo status $?~status 0
97~74~(ulimit -f 100; amn dequantize -o o.safetensors l.bf16.gguf); s=$?; ls; (exit $s)~File too large
98~0~amn convert --manifest - -o o.safetensors llama1~model.embed_tokens.weight
99~0~amn dequantize -q --output-dir o l.q4.gguf l.bf16.gguf; ls o~l.bf16.safetensors
100~0~mkdir o.home; HOME=o.home amn list ex/gptq llama1 | jq -r .name~llama1
100~0~mkdir -p o.home/.cache/llama.cpp; cp l.q4.gguf o.home/.cache/llama.cpp; HOME=$PWD/o.home XDG_CACHE_HOME= LLAMA_CACHE= amn list llama.cpp~"store":"llama.cpp"
101~1~amn scan ex~dangerous
102~0~cd gm; amn scan . >scan.json; status=$?; cd ..; (exit $status) && echo clean~clean
103~0~amn scan code~Python code is not scanned
104~0~amn scan --json ex/checkpoint.pt; amn inspect ex/model | jq -c '[.format, .quantized]'~["safetensors",14]
104~66~amn inspect --json-errors nosuch~"kind":"open"
105~0~amn list schemes --human~AS WRITTEN BY
106~0~amn version~amn 0
106~2~amn compare x~use amn diff FILE FILE
106~2~amn verify x~use amn check MANIFEST FILE
106~2~amn quantise x~did you mean quantize?
106~2~amn l.q4.gguf~amn inspect l.q4.gguf
107~0~amn diff --help~Usage: amn diff
107~0~amn help diff | head -n 1~Usage: amn diff [OPTION]... FILE FILE
107~0~amn help scan | head -n 1~Usage: amn scan
108~0~amn help topics~amn help adapters
109~0~"$helpers/tab" bash "$AMN_OBJ/completions/amn.bash" 'amn dif'~amn diff
109~0~"$helpers/tab" bash "$AMN_OBJ/completions/amn.bash" 'amn scan --js'~amn scan --json
110~66~amn quantize -s q8_0 none~amn quantize: none
110~2~amn diff a~amn diff: usage: expected two models
111~2~amn quantize -s FP8_BLOCK llama1 -o o/~did you mean fp8?
111~2~amn quantize -s hqq llama1 -o o/~which is read but not written
112~0~amn help convert | head -n 1~AMN-CONVERT
113~0~COLUMNS=80 amn parse --human l.q4.gguf | tail -n 1~1.71 million parameters
END
}
