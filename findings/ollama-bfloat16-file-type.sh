#!/bin/sh
# Ollama 0.17.4: its conversion of a BF16 checkpoint keeps the matrices in BF16 and declares general.file_type 1, which is F16
# in llama.cpp and in Ollama's own list (BF16 is 32). Programs that show or choose by the key take the file for F16.
#
#     file_type F16, token_embd.weight BF16
set -eu
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
mkdir model
cat >model/config.json <<'E'
{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 8, "num_hidden_layers": 1,
 "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 8, "vocab_size": 2,
 "max_position_embeddings": 64, "rms_norm_eps": 1e-6}
E
cat >model/tokenizer.json <<'E'
{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "ByteLevel"},
 "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}
E
python3 - <<'E'
import json
header = json.dumps({"model.embed_tokens.weight": {"dtype": "BF16", "shape": [2, 8], "data_offsets": [0, 32]}}).encode()
open("model/model.safetensors", "wb").write(len(header).to_bytes(8, "little") + header + bytes(32))
E
cat >main.go <<'E'
package main

import (
	"fmt"
	"os"

	"github.com/ollama/ollama/convert"
	"github.com/ollama/ollama/fs/ggml"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	f, err := os.Create("a.gguf")
	check(err)
	check(convert.ConvertModel(os.DirFS("model"), f))
	_, err = f.Seek(0, 0)
	check(err)
	model, err := ggml.Decode(f, -1)
	check(err)
	for _, tensor := range model.Tensors().Items() {
		fmt.Printf("file_type %s, %s %s\n", model.KV().FileType(), tensor.Name, tensor.Type())
	}
}
E
go mod init finding >init 2>&1
go get github.com/ollama/ollama@v0.17.4 >get 2>&1
go mod tidy >tidy 2>&1
said=$(go run .)
echo "$said"
[ "$said" = "file_type F16, token_embd.weight BF16" ] || { echo "the behaviour has changed" >&2; exit 1; }
