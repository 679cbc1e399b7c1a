#include "cli/foreign_names.h"

#include <stddef.h>

#include "base/str.h"

struct foreign_name {
    const char *name, *here;
};

static const char stays[] = "; tensors that are not quantized are kept: use --exclude GLOB";

/* Options of convert_hf_to_gguf and convert_lora_to_gguf, llama-quantize, gguf-split, gguf-new-metadata, mergekit, mlx_lm and
 * optimum. */
static const struct foreign_name options[] = {
    { "outtype", "; use --dtype f16, bf16 or f32, or amn quantize --scheme q8_0" },
    { "base-model-id", "; use --base hf:ORG/NAME" },
    { "outfile", "; use -o FILE" },
    { "output-file", "; use -o FILE" },
    { "mlx-path", "; use -o DIR/" },
    { "hf-path", "; the model is an argument without an option" },
    { "model-name", "; use --gguf-kv general.name=NAME" },
    { "general-name", "; use --gguf-kv general.name=NAME" },
    { "general-description", "; use --gguf-kv general.description=TEXT" },
    { "chat-template", "; use --gguf-kv tokenizer.chat_template=TEXT" },
    { "override-kv", "; use --gguf-kv KEY=VALUE" },
    { "remove-metadata", "; use --gguf-unset KEY" },
    { "remote", "; amn opens no network connection: use --fetch COMMAND" },
    { "bigendian", "; amn writes little-endian files only" },
    { "vocab-only", "; amn writes whole models only" },
    { "mmproj", "; amn writes no projector files" },
    { "no-lazy", "; amn never holds a model in memory" },
    { "use-temp-file", "; amn never holds a model in memory" },
    { "lazy-unpickle", "; amn never unpickles" },
    { "split-max-size", "; use --shard-size SIZE" },
    { "split-max-tensors", "; use --shard-size SIZE" },
    { "max-shard-size", "; use --shard-size SIZE" },
    { "out-shard-size", "; use --shard-size SIZE" },
    { "keep-split", "; use --shard-size SIZE" },
    { "merge", "; parts of a split GGUF are read as one model: give the first one" },
    { "leave-output-tensor", "; use --tensor-type '^output.weight=f16'" },
    { "output-tensor-type", "; use --tensor-type '^output.weight=TYPE'" },
    { "token-embedding-type", "; use --tensor-type '^token_embd.weight=TYPE'" },
    { "allow-requantize", "; quantized models are quantized again without an option" },
    { "requantize", "; quantized models are quantized again without an option" },
    { "prune-layers", "; amn removes no layers" },
    { "include-weights", "; the importance matrix is used for all weights" },
    { "exclude-weights", "; the importance matrix is used for all weights" },
    { "skip-modules", stays },
    { "modules-to-not-convert", stays },
    { "ignore", stays },
    { "lora", "; use --adapter FILE" },
    { "lora-scaled", "; use --adapter FILE:SCALE" },
    { "q-bits", "; use --scheme mlx-4bit or mlx-8bit" },
    { "q-group-size", "; use --group-size N" },
    { "bits", "; the scheme has the bits in its name, such as --scheme mlx-4bit" },
    { "quantize", "; use amn quantize --scheme NAME" },
    { "qtype", "; use --scheme NAME" },
    { "ftype", "; use --scheme NAME" },
    { "device", "; amn uses the CPU" },
    { "cuda", "; amn uses the CPU" },
    { "gpu", "; amn uses the CPU" },
    { NULL, NULL }
};

static const struct foreign_name verbs[] = {
    { "merge", "; use amn convert --adapter FILE for an adapter; several operands of amn convert become one model" },
    { "split", "; use amn convert --shard-size SIZE -o NAME.gguf or -o DIR/" },
    { "join", "; parts are read as one model: use amn convert" },
    { "verify", "; use amn check MANIFEST FILE" },
    { "sha256sum", "; use amn hash FILE for the values of a model" },
    { "compare", "; use amn diff FILE FILE" },
    { "cmp", "; use amn diff FILE FILE" },
    { "ls", "; use amn list" },
    { "show", "; use amn inspect FILE" },
    { "dump", "; use amn parse FILE, or amn inspect --metadata FILE" },
    { "stat", "; use amn inspect FILE" },
    { "tensors", "; use amn parse FILE" },
    { "metadata", "; use amn inspect --metadata FILE" },
    { "extract", "; use amn convert --only GLOB -o FILE, or --tensor NAME for one" },
    { "cat", "; use amn convert --tensor NAME for the bytes of a tensor" },
    { "decode", "; use amn dequantize FILE" },
    { "encode", "; use amn quantize --scheme NAME FILE" },
    { "export", "; use amn convert -o FILE" },
    { "import", "; use amn convert -o FILE" },
    { "pull", "; amn opens no network connection: download with another tool" },
    { "download", "; amn opens no network connection: download with another tool" },
    { "upload", "; amn opens no network connection: upload with another tool" },
    { "run", "; amn changes files and runs no models" },
    { "serve", "; amn changes files and runs no models" },
    { "chat", "; amn changes files and runs no models" },
    { NULL, NULL }
};

static const struct foreign_name types[] = {
    { "bfloat16", "bf16" }, { "torch.bfloat16", "bf16" },
    { "float16", "f16" }, { "torch.float16", "f16" }, { "fp16", "f16" }, { "half", "f16" },
    { "float32", "f32" }, { "torch.float32", "f32" }, { "fp32", "f32" }, { "float", "f32" },
    { NULL, NULL }
};

static const char *
find_name(const struct foreign_name *rows, const char *name)
{
    while (rows->name && !str_same_word(rows->name, name))
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
foreign_names_type(const char *name)
{
    const char *here = find_name(types, name);
    if (here)
        return here;
    return name;
}
