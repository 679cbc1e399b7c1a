#include "cli/conflicts.h"

/* A rule about the options that were given. Lists of keys end with 0. */
struct conflict {
    unsigned tools;             /* set of tools */
    const int *any;             /* applies if one of these was given; NULL: always */
    const int *with;            /* fails if one of these was given, too, */
    const int *without;         /* or none of these, */
    bool one;                   /* or two of `any` */
    const char *text;           /* %s is the name of the first of `with` that was given */
};

#define KEYS(...) (const int[]){ __VA_ARGS__, 0 }

enum { PARSE = 1 << CLI_PARSE, INSPECT = 1 << CLI_INSPECT, REMEMBER = 1 << CLI_REMEMBER, FORGET = 1 << CLI_FORGET,
    CONVERT = 1 << CLI_CONVERT, WRITE = REMEMBER | FORGET | CONVERT };

/* Options that say how weights are encoded, where a scheme is not one that the user named. */
#define SCHEME 's', CLI_OPT_TARGET_SIZE, CLI_OPT_TARGET_BPW
/* Options for a part of the output, and for text in place of the output. */
#define PART CLI_OPT_RANGE, CLI_OPT_PART
#define TEXT CLI_OPT_SIZE, CLI_OPT_PARTS, CLI_OPT_PLAN

/* The first row that fails is reported. */
static const struct conflict conflicts[] = {
    /* the tools that report */
    { .tools = PARSE, .any = KEYS(CLI_OPT_STORED, 'j'), .without = KEYS(CLI_OPT_HASH), .text = "--stored and --jobs require --hash" },
    { .tools = INSPECT, .any = KEYS(CLI_OPT_SCAN, CLI_OPT_HASH, CLI_OPT_CHECK, CLI_OPT_DIFF, CLI_OPT_GRID), .one = true,
        .text = "--scan, --hash, --check, --diff and --grid are mutually exclusive" },
    { .tools = INSPECT, .any = KEYS(CLI_OPT_HASH, CLI_OPT_CHECK, CLI_OPT_DIFF), .with = KEYS(CLI_OPT_METADATA, CLI_OPT_ARRAYS),
        .text = "--hash, --check and --diff cannot be combined with --metadata or --arrays" },
    { .tools = INSPECT, .any = KEYS(CLI_OPT_CHECK, CLI_OPT_DIFF, CLI_OPT_STORED), .with = KEYS(CLI_OPT_TO),
        .text = "--check, --diff and --stored cannot be combined with --to; to compare values after rounding, use amn hash --to bf16" },
    { .tools = INSPECT, .any = KEYS(CLI_OPT_STORED), .without = KEYS(CLI_OPT_HASH, CLI_OPT_CHECK),
        .text = "--stored requires --hash or --check" },
    { .tools = INSPECT, .any = KEYS('j'), .without = KEYS(CLI_OPT_HASH, CLI_OPT_CHECK, CLI_OPT_DIFF),
        .text = "--jobs requires --hash, --check or --diff" },
    { .tools = INSPECT, .any = KEYS(CLI_OPT_REPORT, CLI_OPT_MIN_SQNR), .without = KEYS(CLI_OPT_DIFF),
        .text = "--report and --min-sqnr require --diff" },
    { .tools = INSPECT, .any = KEYS(CLI_FACT_STDOUT), .with = KEYS(CLI_OPT_DIFF),
        .text = "--report - cannot be combined with --diff, which writes to standard output itself; use --json" },
    { .tools = INSPECT,
        .any = KEYS(CLI_OPT_ONLY, CLI_OPT_DROP, CLI_OPT_RENAME, CLI_OPT_STRIP_PREFIX, CLI_OPT_ADD_PREFIX),
        .without = KEYS(CLI_OPT_CHECK, CLI_OPT_DIFF),
        .text = "--only, --drop, --rename, --strip-prefix and --add-prefix require --check or --diff" },
    { .tools = INSPECT, .any = KEYS(CLI_OPT_GRID), .with = KEYS(CLI_OPT_METADATA, CLI_OPT_ARRAYS, CLI_OPT_TO),
        .text = "--grid cannot be combined with --metadata, --arrays or --to" },
    { .tools = INSPECT, .any = KEYS(CLI_OPT_SCAN),
        .with = KEYS(CLI_OPT_METADATA, CLI_OPT_ARRAYS, CLI_OPT_TO, CLI_OPT_INPUT_SCHEME, CLI_OPT_CONFIG, CLI_OPT_ROOT),
        .text = "--scan cannot be combined with --metadata, --arrays, --to, --input-scheme, --config or --root" },

    /* what is written in place of the output, and to where */
    { .tools = WRITE, .any = KEYS(TEXT, 'l', 't'), .one = true,
        .text = "--size, --parts, --plan, --dry-run and --test are mutually exclusive" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_OUTPUT_DIR),
        .with = KEYS('o', 'c', CLI_OPT_REPORT, CLI_OPT_MANIFEST, 'l', 't', TEXT, PART, CLI_OPT_PART_SIZE),
        .text = "--output-dir cannot be combined with -o, --stdout, --report, --manifest, --dry-run, --test, --size, --parts, --plan, "
            "--range or --part" },

    { .tools = CONVERT, .any = KEYS(CLI_OPT_IN_PLACE),
        .with = KEYS('o', 'c', CLI_OPT_TO, CLI_OPT_OUTPUT_DIR, 'l', 't', TEXT, PART, CLI_OPT_PART_SIZE, CLI_OPT_RESUME, CLI_OPT_SHARD_SIZE,
            CLI_OPT_REPORT, CLI_OPT_MANIFEST, CLI_OPT_FETCH, CLI_OPT_ORDER),
        .text = "--in-place writes to the input itself; it cannot be combined with --%s" },
    { .tools = CONVERT, .any = KEYS(CLI_OPT_IN_PLACE),
        .without = KEYS(CLI_OPT_GGUF_KV, CLI_OPT_GGUF_UNSET, CLI_OPT_GGUF_METADATA, CLI_OPT_METADATA, CLI_OPT_RENAME, CLI_OPT_STRIP_PREFIX,
            CLI_OPT_ADD_PREFIX),
        .text = "--in-place requires a change: --gguf-kv KEY=VALUE, --gguf-unset KEY, --metadata KEY=VALUE or --rename" },

    /* how weights are encoded */
    { .tools = FORGET, .any = KEYS(CLI_OPT_CANDIDATES), .without = KEYS(CLI_OPT_TARGET_SIZE, CLI_OPT_TARGET_BPW),
        .text = "--candidates requires --target-size or --target-bpw" },
    { .tools = FORGET, .any = KEYS(CLI_OPT_TARGET_SIZE, CLI_OPT_TARGET_BPW), .one = true, .with = KEYS('s', CLI_OPT_PURE),
        .text = "--target-size and --target-bpw cannot be combined with each other, --scheme or --pure" },
    { .tools = CONVERT | FORGET, .any = KEYS(CLI_FACT_HF), .with = KEYS(CLI_OPT_NAMES),
        .text = "--to hf and --names are mutually exclusive: --to hf is --names hf" },
    { .tools = CONVERT, .any = KEYS(CLI_FACT_HF), .with = KEYS(CLI_OPT_KEEP_QUANTIZED),
        .text = "--to hf writes a dequantized model; it cannot be combined with --keep-quantized" },
    { .tools = FORGET, .any = KEYS(CLI_OPT_INEXACT), .without = KEYS(CLI_OPT_EXACT), .text = "--inexact requires --exact" },
    { .tools = FORGET, .any = KEYS(CLI_OPT_EXACT),
        .with = KEYS(CLI_OPT_DTYPE, CLI_FACT_TYPES, CLI_OPT_IMATRIX, CLI_OPT_CONVROT, CLI_OPT_TARGET_SIZE, CLI_OPT_TARGET_BPW, CLI_OPT_NONFINITE,
            CLI_OPT_PURE, CLI_OPT_ADAPTER),
        .text = "--exact cannot be combined with --%s, with which nothing is exact" },
    { .tools = FORGET, .any = KEYS(CLI_OPT_EXACT), .with = KEYS(CLI_OPT_KEEP_F32),
        .text = "--exact chooses the types of all tensors; it cannot be combined with --%s" },
    { .tools = FORGET, .without = KEYS(SCHEME, CLI_OPT_EXACT),
        .text = "no scheme: give --scheme NAME, such as --scheme q4_k_m" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_PURE, CLI_OPT_TENSOR_TYPE, CLI_OPT_IMATRIX, CLI_OPT_GROUP_SIZE, CLI_OPT_SYMMETRIC,
            CLI_OPT_ASYMMETRIC, CLI_OPT_CONVROT, CLI_OPT_NO_FUSE, CLI_OPT_NONFINITE),
        .without = KEYS(SCHEME),
        .text = "--pure, --tensor-type, --imatrix, --group-size, --symmetric, --asymmetric, --convrot, --no-fuse and "
            "--allow-nonfinite require --scheme NAME" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_REPORT), .with = KEYS(PART, TEXT, 'l'),
        .without = KEYS(SCHEME, CLI_OPT_EXACT, CLI_FACT_MOVES, CLI_OPT_ADAPTER),
        .text = "--report requires a scheme or --adapter, and a whole output: it cannot be combined with --range, --part, --size, "
            "--parts, --plan or --dry-run" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_SYMMETRIC), .with = KEYS(CLI_OPT_ASYMMETRIC),
        .text = "--symmetric and --asymmetric are mutually exclusive" },

    /* the rest, in the order of the manual */
    { .tools = WRITE, .any = KEYS(CLI_OPT_PRE), .with = KEYS(CLI_OPT_NO_TOKENIZER),
        .text = "--pre and --no-tokenizer are mutually exclusive" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_MTP), .with = KEYS(CLI_OPT_NO_MTP), .text = "--mtp and --no-mtp are mutually exclusive" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_MMPROJ), .with = KEYS(CLI_OPT_MTP, CLI_OPT_NO_MTP, CLI_OPT_PRE, CLI_OPT_NO_TOKENIZER),
        .text = "--mmproj writes towers, which have neither a tokenizer nor multi-token prediction; it cannot be combined with --%s" },
    { .tools = WRITE, .any = KEYS('c'), .with = KEYS('o'),
        .text = "--stdout and --output are mutually exclusive; give -o FILE alone to write a file" },
    { .tools = WRITE, .any = KEYS('t'), .with = KEYS('o'),
        .text = "--test and --output are mutually exclusive: --test writes nothing" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_KEEP_QUANTIZED), .with = KEYS(CLI_OPT_DTYPE, CLI_FACT_TYPES, CLI_OPT_KEEP_F32, SCHEME,
        CLI_OPT_DEQUANTIZE),
        .text = "--keep-quantized copies tensors unchanged; it cannot be combined with --%s" },
    { .tools = CONVERT, .any = KEYS(CLI_OPT_INCLUDE, CLI_OPT_EXCLUDE),
        .without = KEYS(SCHEME, CLI_OPT_DTYPE, CLI_OPT_DEQUANTIZE, CLI_OPT_ADAPTER),
        .text = "--include and --exclude choose the tensors that --dtype, --dequantize, --scheme or --adapter changes; use --only GLOB or "
            "--drop GLOB to choose the tensors that are written" },
    { .tools = WRITE, .any = KEYS(CLI_FACT_HF), .with = KEYS(CLI_OPT_INCLUDE, CLI_OPT_EXCLUDE, CLI_OPT_KEEP_F32, CLI_FACT_TYPES),
        .text = "--to hf gives all tensors one type; --%s cannot be combined with it" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_DEQUANTIZE), .with = KEYS(SCHEME),
        .text = "--dequantize cannot be combined with a scheme, which quantizes" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_JSON, CLI_OPT_HUMAN), .without = KEYS('l'), .text = "--json and --human require --dry-run" },
    { .tools = WRITE, .any = KEYS('l'), .with = KEYS(PART, CLI_OPT_PART_SIZE),
        .text = "--dry-run lists the whole output; it cannot be combined with --range or --part" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_SHARD_SIZE), .without = KEYS(CLI_FACT_DIRECTORY, CLI_FACT_SPLIT, CLI_OPT_OUTPUT_DIR),
        .text = "--shard-size requires -o DIR/ or -o NAME.gguf" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_RESUME), .with = KEYS(CLI_FACT_SPLIT),
        .text = "--resume requires -o DIR/ or -o FILE, without --shard-size" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_RESUME), .without = KEYS('o', CLI_OPT_OUTPUT_DIR),
        .text = "--resume requires -o DIR/ or -o FILE" },
    { .tools = WRITE, .any = KEYS(CLI_FACT_DIRECTORY), .with = KEYS(TEXT, PART, CLI_OPT_PART_SIZE),
        .text = "-o DIR/ cannot be combined with --size, --parts, --plan, --range or --part" },
    { .tools = WRITE, .any = KEYS(CLI_FACT_SPLIT), .with = KEYS(TEXT, PART, CLI_OPT_PART_SIZE),
        .text = "--shard-size cannot be combined with --size, --parts, --plan, --range or --part" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_PARTS), .without = KEYS(CLI_OPT_PART_SIZE), .text = "--parts needs --part-size SIZE" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_RANGE), .with = KEYS(CLI_OPT_PART, CLI_OPT_PART_SIZE),
        .text = "--range and --part are mutually exclusive" },
    { .tools = WRITE, .any = KEYS(CLI_FACT_STDOUT), .without = KEYS('o', 't', CLI_OPT_OUTPUT_DIR),
        .text = "--report - and --manifest - require -o FILE, because the output itself goes to standard output" },
    { .tools = WRITE, .any = KEYS(CLI_OPT_MANIFEST), .with = KEYS(PART, CLI_OPT_PART_SIZE, TEXT, 'l', 't'),
        .text = "--manifest requires a whole output: it cannot be combined with --range, --part, --size, --parts, --plan, --dry-run "
            "or --test" },
};

/* Returns how many keys of a list were given, 0 for NULL, and sets *first to the first one. */
static unsigned
count(const bool given[CLI_KEYS], const int *keys, int *first)
{
    unsigned n = 0;
    for (; keys && *keys; keys++)
        if (given[*keys] && n++ == 0)
            *first = *keys;
    return n;
}

/* Returns the name of an option of this tool; "" for a fact that no option has alone. */
static const char *
conflicts_name_of(const struct cli *cli, int key)
{
    for (const struct cli_option *o = cli_options_of_all; o->name; o++)
        if (o->key == key && cli_offers(cli->id, o))
            return o->name;
    return key == CLI_FACT_TYPES ? "dtype" : "";
}

const char *
conflicts_first(const struct cli *cli, const int *keys)
{
    int key = 0;
    if (count(cli->given, keys, &key) != 0)
        return conflicts_name_of(cli, key);
    return NULL;
}

bool
conflicts_check(const struct cli *cli, const bool given[CLI_KEYS], struct err *err)
{
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++) {
        const struct conflict *c = &conflicts[i];
        int key = 0, other = 0;
        unsigned any = count(given, c->any, &key), with = count(given, c->with, &other);
        bool applies = c->tools >> cli->id & 1 && (any != 0 || !c->any);
        bool fails = with != 0 || (c->without && count(given, c->without, &key) == 0) || (c->one && any > 1);
        if (applies && fails)
            return err_set(err, ERR_USAGE, c->text, conflicts_name_of(cli, other));
    }
    return true;
}
