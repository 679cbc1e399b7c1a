// Writes files of npyio, gonpy, nlpodyssey/safetensors and Ollama into the folder given, which collect.py describes.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"codeberg.org/sbinet/npyio"
	"codeberg.org/sbinet/npyio/npz"
	"github.com/kshedden/gonpy"
	"github.com/nlpodyssey/safetensors"
	"github.com/ollama/ollama/convert"
	"gonum.org/v1/gonum/mat"
)

const ollamaVersion = "Ollama 0.17.4"

var out string
var matrix = []float32{-2.25, -1.25, -0.25, 0.75, 1.75, 2.75}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func raw(values any) []byte {
	var b bytes.Buffer
	check(binary.Write(&b, binary.LittleEndian, values))
	return b.Bytes()
}

func file(name, writer, note string) {
	fmt.Printf("%s\t%s\t%s\t\t\n", name, writer, note)
}

func tensor(name, kind, dims string, values any) {
	fmt.Printf("\t%s\t%s\t%s\t%x\n", name, kind, dims, raw(values))
}

func create(name string) *os.File {
	f, err := os.Create(filepath.Join(out, name))
	check(err)
	return f
}

func arrays() {
	const writer = "npyio 0.14.0"
	f := create("npyio.npy")
	check(npyio.Write(f, mat.NewDense(2, 3, []float64{-2.25, -1.25, -0.25, 0.75, 1.75, 2.75})))
	check(f.Close())
	file("npyio.npy", writer, "npyio.Write: version 2.0")
	tensor("arr_0", "F64", "2,3", []float64{-2.25, -1.25, -0.25, 0.75, 1.75, 2.75})

	z, err := npz.Create(filepath.Join(out, "npyio.npz"))
	check(err)
	check(z.Write("vector", matrix))
	check(z.Write("numbers", []int16{1, -2, 3}))
	check(z.Close())
	file("npyio.npz", writer, "npz.Writer: deflated, with data descriptors")
	tensor("vector", "F32", "6", matrix)
	tensor("numbers", "I16", "3", []int16{1, -2, 3})

	g, err := gonpy.NewFileWriter(filepath.Join(out, "gonpy.npy"))
	check(err)
	g.Shape = []int{2, 3}
	check(g.WriteFloat32(matrix))
	file("gonpy.npy", "gonpy 0.0.0-20210519231815", "NpyWriter: a shape without a blank, padding of 16")
	tensor("arr_0", "F32", "2,3", matrix)
}

func tensors() {
	view := func(kind safetensors.DType, shape []uint64, values any) safetensors.TensorView {
		v, err := safetensors.NewTensorView(kind, shape, raw(values))
		check(err)
		return v
	}
	all := map[string]safetensors.TensorView{
		"z.flags":  view(safetensors.BOOL, []uint64{3}, []byte{1, 0, 1}),
		"a.matrix": view(safetensors.F32, []uint64{2, 3}, matrix),
		"b.half":   view(safetensors.BF16, []uint64{2}, []uint16{0x3F80, 0xC010}),
		"c.wide":   view(safetensors.U64, []uint64{1}, []uint64{1 << 63}),
	}
	f := create("nlpodyssey.safetensors")
	check(safetensors.SerializeToWriter(all, map[string]string{"format": "go"}, f))
	check(f.Close())
	file("nlpodyssey.safetensors", "nlpodyssey/safetensors 0.0.0-20250209183917",
		"SerializeToWriter: data by type, header by name")
	tensor("z.flags", "BOOL", "3", []byte{1, 0, 1})
	tensor("a.matrix", "F32", "2,3", matrix)
	tensor("b.half", "BF16", "2", []uint16{0x3F80, 0xC010})
	tensor("c.wide", "U64", "1", []uint64{1 << 63})
}

// A model of one layer, with a vocabulary of eight.
func ollama() {
	const config = `{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 8, "num_hidden_layers": 1,
		"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 12, "vocab_size": 8, "max_position_embeddings": 64,
		"rms_norm_eps": 1e-6,
		"rope_theta": 10000.0, "bos_token_id": 0, "eos_token_id": 1, "torch_dtype": "bfloat16"}`
	const tokenizer = `{"version": "1.0", "added_tokens": [{"id": 6, "content": "<s>", "special": true},
		{"id": 7, "content": "</s>", "special": true}],
		"pre_tokenizer": {"type": "ByteLevel"},
		"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "ab": 4, "cd": 5}, "merges": ["a b", "c d"]}}`
	dir, err := os.MkdirTemp("", "writers")
	check(err)
	defer os.RemoveAll(dir)
	check(os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666))
	check(os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(tokenizer), 0o666))
	file("ollama.gguf", ollamaVersion, "convert.ConvertModel: keys sorted, last tensor not padded")
	all := map[string]safetensors.TensorView{}
	add := func(name, gguf string, shape ...uint64) {
		count, dims := uint64(1), []string{}
		for _, n := range shape {
			count *= n
			dims = append(dims, fmt.Sprint(n))
		}
		// Small whole numbers, which BF16 and F32 can both hold.
		brain, single := make([]uint16, count), make([]float32, count)
		for i := range brain {
			single[i] = float32((i+len(name))%9 - 4)
			brain[i] = binary.LittleEndian.Uint16(raw(single[i])[2:])
		}
		v, err := safetensors.NewTensorView(safetensors.BF16, shape, raw(brain))
		check(err)
		all[name] = v
		if len(shape) == 1 {
			tensor(gguf, "F32", strings.Join(dims, ","), single)
		} else {
			tensor(gguf, "BF16", strings.Join(dims, ","), brain)
		}
	}
	add("model.embed_tokens.weight", "token_embd.weight", 8, 8)
	add("model.norm.weight", "output_norm.weight", 8)
	add("lm_head.weight", "output.weight", 8, 8)
	layer, block := "model.layers.0.", "blk.0."
	add(layer+"input_layernorm.weight", block+"attn_norm.weight", 8)
	add(layer+"post_attention_layernorm.weight", block+"ffn_norm.weight", 8)
	add(layer+"self_attn.q_proj.weight", block+"attn_q.weight", 8, 8)
	add(layer+"self_attn.k_proj.weight", block+"attn_k.weight", 4, 8)
	add(layer+"self_attn.v_proj.weight", block+"attn_v.weight", 4, 8)
	add(layer+"self_attn.o_proj.weight", block+"attn_output.weight", 8, 8)
	add(layer+"self_attn.q_proj.bias", block+"attn_q.bias", 8)
	add(layer+"self_attn.k_proj.bias", block+"attn_k.bias", 4)
	add(layer+"self_attn.v_proj.bias", block+"attn_v.bias", 4)
	add(layer+"mlp.gate_proj.weight", block+"ffn_gate.weight", 12, 8)
	add(layer+"mlp.up_proj.weight", block+"ffn_up.weight", 12, 8)
	add(layer+"mlp.down_proj.weight", block+"ffn_down.weight", 8, 12)
	f, err := os.Create(filepath.Join(dir, "model.safetensors"))
	check(err)
	check(safetensors.SerializeToWriter(all, nil, f))
	check(f.Close())
	model := create("ollama.gguf")
	check(convert.ConvertModel(os.DirFS(dir), model))
	check(model.Close())
}

func main() {
	out = os.Args[1]
	arrays()
	tensors()
	ollama()
}
