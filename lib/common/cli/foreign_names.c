#include "cli/foreign_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { NAME_MAX_BYTES = 64 };

/* Names, separated by spaces, and what they are here. */
struct foreign_name {
    const char *names, *here;
};

/* Options of convert_hf_to_gguf and convert_lora_to_gguf, llama-quantize, llama-gguf-split, llama-export-lora, the scripts of
 * gguf-py, mergekit, mlx_lm and optimum. */
static const struct foreign_name options[] = {
    { "outtype", "; use --dtype f16, bf16 or f32, or amn quantize --scheme q8_0" },
    { "outfile output-file out-path", "; use -o FILE" },
    { "save-path mlx-path", "; use -o DIR/" },
    { "export-gguf gguf-path", "; use -o FILE.gguf" },
    { "hf-path model", "; the model is an argument without an option" },
    { "model-name general-name", "; use --gguf-kv general.name=NAME" },
    { "general-description", "; use --gguf-kv general.description=TEXT" },
    { "chat-template chat-template-file", "; use --gguf-kv tokenizer.chat_template=TEXT, or =@FILE" },
    { "chat-template-config", "; use --gguf-kv tokenizer.chat_template=@FILE with the template alone" },
    { "pre-tokenizer", "; use --gguf-kv tokenizer.ggml.pre=NAME" },
    { "special-token special-token-by-id", "; use --gguf-kv tokenizer.ggml.eos_token_id=ID, or the key of another token" },
    { "override-kv", "; use --gguf-kv KEY=VALUE" },
    { "remove-metadata gguf-remove remove-key", "; use --gguf-unset KEY" },
    { "print-supported-models", "; use amn list families" },
    { "no-nextn", "; use --no-mtp" },
    { "fp8-as-q8", "; use amn quantize --scheme q8_0" },
    { "remote", "; amn opens no network connection: use --fetch COMMAND" },
    { "bigendian", "; amn writes little-endian files only" },
    { "vocab-only", "; amn writes whole models only" },
    { "dspark", "; amn writes no DSpark files" },
    { "mistral-format disable-mistral-community-chat-template",
        "; amn converts the Hugging Face form of a model, with config.json" },
    { "sentence-transformers-dense-modules", "; amn converts no dense modules to GGUF" },
    { "fuse-gate-up-exps fuse-qkv", "; amn fuses no tensors" },
    { "no-lazy use-temp-file low-cpu-memory in-memory max-buffer-size", "; amn never holds a model or a tensor in memory" },
    { "lazy-unpickle", "; amn never unpickles" },
    { "split-max-size split-max-tensors max-shard-size out-shard-size reshard keep-split", "; use --shard-size SIZE" },
    { "no-tensor-first-split", "; amn writes tensors to the first part, too" },
    { "merge", "; parts of a split GGUF are read as one model: give the first one" },
    { "delete-splits", "; amn removes no input" },
    { "leave-output-tensor", "; use --tensor-type '^output.weight=f16'" },
    { "output-tensor-type", "; use --tensor-type '^output.weight=TYPE'" },
    { "token-embedding-type", "; use --tensor-type '^token_embd.weight=TYPE'" },
    { "tensor-type-file quant-predicate", "; use --tensor-type RE=TYPE, once for each type" },
    { "allow-requantize requantize", "; quantized models are quantized again without an option" },
    { "prune-layers", "; amn removes no layers" },
    { "include-weights exclude-weights", "; the importance matrix is used for all weights" },
    { "skip-modules modules-to-not-convert ignore", "; tensors that are not quantized are kept: use --exclude GLOB" },
    { "threshold tolerance", "; use amn diff --min-sqnr DB" },
    { "lora adapter-path", "; use --adapter FILE" },
    { "lora-scaled", "; use --adapter FILE:SCALE" },
    { "lora-merge-cache", "; adapters are merged in one pass, without a cache" },
    { "lora-merge-dtype", "; use --dtype f32, bf16 or f16 for the output" },
    { "base-model-id", "; use --base hf:ORG/NAME" },
    { "q-bits", "; use --scheme mlx-4bit or mlx-8bit" },
    { "q-group-size", "; use --group-size N" },
    { "q-mode", "; use --scheme mlx-mxfp4, mlx-mxfp8 or mlx-nvfp4" },
    { "bits load-in-4bit load-in-8bit", "; the scheme has the bits in its name, such as --scheme mlx-4bit or nf4" },
    { "quantize", "; use amn quantize --scheme NAME" },
    { "qtype ftype", "; use --scheme NAME" },
    { "de-quantize", "; use amn dequantize" },
    { "num-threads nthreads write-threads async-write", "; use -j N" },
    { "device cuda gpu read-to-gpu multi-gpu num-gpus gpu-rich merge-cuda", "; amn uses the CPU" },
    { "no-tensors", "; use amn inspect --metadata" },
    { "json-array", "; use amn inspect --arrays" },
    { "markdown", "; amn writes text and JSON" },
    { "data-offset data-alignment", "; amn parse prints the offset of each tensor" },
    { "no-layer", "; amn hash prints one digest for the model, amn parse --hash one for each tensor" },
    { "sha256", "; use amn hash or amn parse --hash" },
    { "sha1 xxh64 uuid", "; digests are SHA-256" },
    { "progressbar", "; use --progress always" },
    { "trust-remote-code", "; amn never runs the code of a model" },
    { "random-seed", "; amn uses no random numbers" },
    { "safe-serialization", "; safetensors are written without an option" },
    { "transformers-cache cache-dir", "; give hf:ORG/NAME, which $HF_HUB_CACHE locates" },
    { "copy-tokenizer", "; -o DIR/ has the tokenizer without an option" },
    { "no-copy-tokenizer", "; use -o FILE.safetensors, or --no-tokenizer for GGUF" },
    { "write-model-card no-write-model-card upload-repo push-to-hub", "; amn writes no model card and uploads nothing" },
    { "clone-tensors", "; amn repeats no layers" },
    { "merge-method method base-model allow-crimes density weight normalize int8-mask tensor-intersection tensor-union",
        "; amn merges adapters into a model, but not models with each other" },
    { "print-yaml write-yaml full-random intermediate-dir lazy", "; amn reads no recipes and merges no models" },
    { "max-rank rank distribute-scale embed-lora save-module exclude-regex include-regex sv-epsilon skip-undecomposable",
        "; amn makes no adapter from two models" },
    { "approximation-method byte-match prefix-match cosine-similarity subword-method weight-scheme magikarp naive-count "
        "new-vocab-noise new-vocab-scale k", "; amn changes no vocabulary" },
    { "i-understand-this-is-not-useful-without-training", "; amn makes no mixture of experts" },
    { "batch-size force-population-size i-understand-the-depths-of-the-evils-i-am-unleashing max-fevals save-final-model "
        "sigma0 storage-path strategy task-search-path timeout vllm wandb wandb-entity wandb-project bf16 fp16",
        "; amn evaluates no models" },
    { NULL, NULL }
};

static const struct foreign_name verbs[] = {
    { "merge", "; use amn convert --adapter FILE for an adapter; several operands of amn convert become one model" },
    { "fuse", "; use amn convert --adapter FILE" },
    { "split", "; use amn convert --shard-size SIZE -o NAME.gguf or -o DIR/" },
    { "join", "; parts are read as one model: use amn convert" },
    { "verify", "; use amn check MANIFEST FILE, or amn check hf:ORG/NAME for a model in a store" },
    { "sha256sum", "; use amn hash FILE for the values of a model" },
    { "compare cmp", "; use amn diff FILE FILE" },
    { "ls models", "; use amn list" },
    { "show stat describe", "; use amn inspect FILE" },
    { "dump", "; use amn parse FILE, or amn inspect --metadata FILE" },
    { "tensors", "; use amn parse FILE" },
    { "metadata meta", "; use amn inspect --metadata FILE" },
    { "set-metadata new-metadata edit", "; use amn convert --gguf-kv KEY=VALUE or --gguf-unset KEY" },
    { "extract", "; use amn convert --only GLOB -o FILE, or --tensor NAME for one" },
    { "extract-lora lora-extract", "; amn makes no adapter from two models; amn diff FILE FILE compares them" },
    { "cat", "; use amn convert --tensor NAME for the bytes of a tensor" },
    { "rename", "; use amn convert --rename s/RE/TEXT/" },
    { "cast", "; use amn convert --dtype TYPE" },
    { "decode unquantize", "; use amn dequantize FILE" },
    { "encode", "; use amn quantize --scheme NAME FILE" },
    { "export import", "; use amn convert -o FILE" },
    { "pull download", "; amn opens no network connection: download with another tool" },
    { "push upload", "; amn opens no network connection: upload with another tool" },
    { "run serve chat generate bench perplexity", "; amn changes files and runs no models" },
    { "imatrix calibrate train finetune", "; amn runs no models; amn quantize --imatrix FILE reads what llama-imatrix writes" },
    { NULL, NULL }
};

static const struct foreign_name schemes[] = {
    { "fp8-block fp8-block-wise", "fp8" },
    { "q4 4bit 4-bit", "q4_k_m, mlx-4bit or nf4" },
    { "q8 8bit 8-bit", "q8_0, mlx-8bit or int8" },
    { "mlx mlx4 mlx-q4", "mlx-4bit" },
    { "mlx8 mlx-q8", "mlx-8bit" },
    { "gguf", "q4_k_m" },
    { "bnb bitsandbytes", "nf4 or int8" },
    { "compressed-tensors", "int4-group, fp8-per-channel or nvfp4" },
    { NULL, NULL }
};

static const struct foreign_name types[] = {
    { "bfloat16 torch.bfloat16", "bf16" },
    { "float16 torch.float16 fp16 half torch.half", "f16" },
    { "float32 torch.float32 fp32 float torch.float", "f32" },
    { NULL, NULL }
};

/* Returns true if a list of names has this one. */
static bool
has_name(const char *names, const char *name)
{
    char word[NAME_MAX_BYTES];
    for (size_t n; *names; names += n + (names[n] == ' ')) {
        n = strcspn(names, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, names);
        if (str_same_word(word, name))
            return true;
    }
    return false;
}

static const char *
find_name(const struct foreign_name *rows, const char *name)
{
    while (rows->names && !has_name(rows->names, name))
        rows++;
    return rows->here;
}

const char *
foreign_names_option(const char *name)
{
    return find_name(options, name);
}

const char *
foreign_names_verb(const char *name)
{
    return find_name(verbs, name);
}

const char *
foreign_names_scheme(const char *name)
{
    return find_name(schemes, name);
}

const char *
foreign_names_type(const char *name)
{
    const char *here = find_name(types, name);
    if (here)
        return here;
    return name;
}
