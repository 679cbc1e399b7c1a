#include "cli/tools.h"

#include "dtype/dtype.h"

static const char *const stores[] = { "hf", "ollama", NULL };      /* the words of container/store.h */

const struct cli_tool cli_tools[CLI_TOOLS] = {
    [CLI_PARSE] = {
        .name = "amn-parse",
        .operands = "[FILE]...",
        .says = "list every tensor",
        .summary = "List every tensor of a model, one JSON object a line.",
        .max_operands = SIZE_MAX,
        .reads_stdin = true,
    },
    [CLI_INSPECT] = {
        .name = "amn-inspect",
        .also = "amn-info",
        .operands = "[FILE]...",
        .says = "what a model is, and what quantization took from it",
        .summary = "Say what a model is, how it is quantized, and what that took from it.",
        .max_operands = SIZE_MAX,
        .reads_stdin = true,
    },
    [CLI_REMEMBER] = {
        .name = "amn-remember",
        .also = "amn-dequantize",
        .operands = "[FILE]",
        .says = "recover precision: everything quantized becomes BF16",
        .summary = "Recover the precision of a quantized model and write it as safetensors.",
        .max_operands = 1,
        .reads_stdin = true,
    },
    [CLI_FORGET] = {
        .name = "amn-forget",
        .also = "amn-quantize",
        .operands = "[FILE]",
        .says = "reduce precision by a named scheme",
        .summary = "Reduce the precision of a model by a named scheme.",
        .max_operands = 1,
        .reads_stdin = true,
    },
    [CLI_CONVERT] = {
        .name = "amn-convert",
        .operands = "[FILE]",
        .says = "change the format: to safetensors, GGUF, NPZ, NPY",
        .summary = "Write a model in another format, decoding what is quantized.",
        .max_operands = 1,
        .reads_stdin = true,
    },
    [CLI_LIST] = {
        .name = "amn list",
        .operands = "[hf | ollama]...",
        .words = stores,
        .says = "the models that are on this machine already",
        .summary = "List the models in the local stores of Hugging Face and Ollama.",
        .max_operands = SIZE_MAX,
    },
};

const char *const cli_when_words[] = { "auto", "always", "never", NULL };
const char *const cli_order_words[] = { "input", "name", NULL };
const char *const cli_format_words[] = { "safetensors", "gguf", "npz", "npy", "raw", NULL };

enum { PARSE = 1 << CLI_PARSE, INSPECT = 1 << CLI_INSPECT, REMEMBER = 1 << CLI_REMEMBER, FORGET = 1 << CLI_FORGET,
    CONVERT = 1 << CLI_CONVERT, LIST = 1 << CLI_LIST };
enum { REPORTS = PARSE | INSPECT | LIST, ENCODE = FORGET | CONVERT, WRITE = REMEMBER | ENCODE, OF_ONE = PARSE | INSPECT | WRITE, ALL = (1 << CLI_TOOLS) - 1 };

const struct cli_option cli_options_of_all[] = {
    { OPT_METADATA, INSPECT, "metadata", NULL, NULL, "in readable text, all keys of the metadata too" },
    { OPT_ARRAYS, INSPECT, "arrays", NULL, NULL, "long arrays of the metadata in full" },
    { OPT_SCAN, INSPECT, "scan", NULL, NULL, "say what the pickles in a file would run when loaded" },
    { OPT_ENCODE, FORGET, "scheme", "NAME", NULL, "what weights become: q4_k, nf4, fp8 ..." },
    { OPT_PURE, ENCODE, "pure", NULL, NULL, "every matrix becomes of this scheme, whatever it is" },
    { OPT_GROUP_SIZE, ENCODE, "group-size", "N", NULL, "so many elements of a row share a scale" },
    { OPT_SYMMETRIC, ENCODE, "symmetric", NULL, NULL, "codes without zero points" },
    { OPT_ASYMMETRIC, ENCODE, "asymmetric", NULL, NULL, "codes with zero points" },
    { OPT_CONVROT, ENCODE, "convrot", NULL, NULL, "with comfy-int8: rotated by Hadamard matrices" },
    { OPT_NONFINITE, ENCODE, "allow-nonfinite", NULL, NULL, "encode NaN and infinity as the reference does" },
    { OPT_TO, INSPECT, "to", "DTYPE", dtype_targets, "size of the model in bf16 (default), f16 or f32" },
    { 'o', WRITE, "output", "FILE", NULL, "write to FILE, which appears once it is complete" },
    { 'n', WRITE, "no-clobber", NULL, NULL, "fail when FILE is there already" },
    { 'f', WRITE, "force", NULL, NULL, "write binary data to a terminal too" },
    { OPT_TO, REMEMBER, "to", "DTYPE", dtype_targets, "recovered weights are bf16 (default), f16 or f32" },
    { OPT_TO, CONVERT, "to", "FORMAT", cli_format_words, "write safetensors, gguf, npz, npy, raw, or a scheme" },
    { OPT_TO, FORGET, "to", "FORMAT", cli_format_words, "safetensors or gguf, where a scheme is of both" },
    { OPT_DTYPE, ENCODE, "dtype", "DTYPE", dtype_targets, "all floats become bf16, f16 or f32" },
    { OPT_TENSOR, CONVERT, "tensor", "NAME", NULL, "write this tensor alone" },
    { OPT_ORDER, REMEMBER, "order", "ORDER", cli_order_words, "tensors as the input has them (default) or by name" },
    { OPT_INCLUDE, REMEMBER | CONVERT, "include", "GLOB", NULL, "only tensors whose names match; may be repeated" },
    { OPT_EXCLUDE, REMEMBER | CONVERT, "exclude", "GLOB", NULL, "no tensors whose names match; may be repeated" },
    { OPT_INCLUDE, FORGET, "include", "GLOB", NULL, "reduce only these, and whatever they are; repeatable" },
    { OPT_EXCLUDE, FORGET, "exclude", "GLOB", NULL, "leave these as they are; may be repeated" },
    { OPT_RENAME, WRITE, "rename", "s/RE/TEXT/", NULL, "rename as sed -E does; may be repeated" },
    { OPT_STRIP_PREFIX, WRITE, "strip-prefix", "TEXT", NULL, "take it from the names that begin with it" },
    { OPT_ADD_PREFIX, WRITE, "add-prefix", "TEXT", NULL, "put it before all names" },
    { OPT_TEST, WRITE, "test", NULL, NULL, "read and decode everything, write nothing" },
    { OPT_SIZE, WRITE, "size", NULL, NULL, "print the exact length of the output, write nothing" },
    { OPT_RANGE, WRITE, "range", "A-B", NULL, "write only bytes A to B; A- and -LAST_N as in HTTP" },
    { OPT_PART, WRITE, "part", "I/N", NULL, "write only part I of N, counted from 1" },
    { OPT_PART_SIZE, WRITE, "part-size", "SIZE", NULL, "cut into parts of SIZE; --part then takes I alone" },
    { OPT_PARTS, WRITE, "parts", NULL, NULL, "print how many parts of --part-size there are" },
    { OPT_PLAN, WRITE, "plan", NULL, NULL, "print as JSON where each tensor will lie" },
    { OPT_SHARD_SIZE, REMEMBER, "shard-size", "SIZE", NULL, "with -o DIR/: files of SIZE, or 5G, and an index" },
    { OPT_RESUME, REMEMBER, "resume", NULL, NULL, "go on with a directory that was interrupted" },
    { 'j', WRITE, "jobs", "N", NULL, "use N worker threads" },
    { OPT_SYNC, WRITE, "sync", NULL, NULL, "flush FILE to the disk before it gets its name" },
    { OPT_DIRECT, WRITE, "direct", "WHEN", cli_when_words, "write past the page cache: auto, always or never" },
    { OPT_NO_SPOOL, WRITE, "no-spool", NULL, NULL, "put no pipe into a temporary file: fail instead" },
    { OPT_NO_VERIFY, WRITE, "no-verify", NULL, NULL, "do not look at the checksums of an archive" },
    { OPT_JSON, REPORTS, "json", NULL, NULL, "write JSON, also to a terminal" },
    { OPT_HUMAN, REPORTS, "human", NULL, NULL, "write readable text, also to a pipe" },
    { 'q', ALL, "quiet", NULL, NULL, "no progress bar, no notes, no warnings" },
    { 'v', ALL, "verbose", NULL, NULL, "say on standard error what is being done" },
    { OPT_CONFIG, OF_ONE, "config", "FILE", NULL, "read this config.json; none: read none at all" },
    { OPT_SCHEME, OF_ONE & ~FORGET, "scheme", "NAME", NULL, "what could be of several schemes is of this one" },
    { OPT_SCHEME, FORGET, "input-scheme", "NAME", NULL, "what could be of several schemes is of this one" },
    { OPT_ROOT, OF_ONE, "root", "PATH", NULL, "of a checkpoint, only what lies under PATH; or auto" },
    { OPT_PROGRESS, OF_ONE, "progress", "WHEN", cli_when_words, "a bar on standard error: auto, always or never" },
    { OPT_JSON_ERRORS, ALL, "json-errors", NULL, NULL, "errors as one JSON object a line" },
    { OPT_MAX_ALLOC, ALL, "max-alloc", "SIZE", NULL, "largest allocation that a header can ask for" },
    { OPT_MAX_TOTAL, ALL, "max-total", "SIZE", NULL, "sum of such allocations" },
    { OPT_MAX_ITEMS, ALL, "max-items", "N", NULL, "tensors and keys of a model" },
    { OPT_MAX_RATIO, ALL, "max-ratio", "N", NULL, "expansion of a compressed input" },
    { 'h', ALL, "help", NULL, NULL, "print this help" },
    { 'V', ALL, "version", NULL, NULL, "print the version" },
    { 0, 0, NULL, NULL, NULL, NULL }
};
