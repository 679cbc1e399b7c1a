/* tools: the tables of tools and options. Parsing, --help and shell completions are all made from them; an option is defined
 * nowhere else. */
#ifndef CLI_TOOLS_H
#define CLI_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

enum cli_tool_id { CLI_PARSE, CLI_INSPECT, CLI_REMEMBER, CLI_FORGET, CLI_CONVERT, CLI_LIST, CLI_TOOLS };
_Static_assert(CLI_TOOLS < 31, "sets of tools are int and unsigned");

struct cli_tool {
    const char *name;               /* "amn-inspect"; "amn list" for a command that is part of amn */
    const char *also;               /* second name under which it is installed, or NULL */
    const char *operands;           /* as shown by --help: "[FILE]" */
    const char *const *words;       /* all possible operands, ending with NULL; or NULL */
    const char *names_after;        /* the word of `words` that any names may follow, or NULL */
    bool folders;                   /* besides `words`, an operand may be a directory */
    const char *purpose;            /* for lists of tools: lower case, no final period */
    const char *summary;            /* for --help: a sentence */
    size_t max_operands;
    bool reads_stdin;               /* if there is no operand */
};

extern const struct cli_tool cli_tools[CLI_TOOLS];

/* A verb of amn that is short for an option of amn-inspect with the same name: `amn scan` for `amn-inspect --scan`. The table ends
 * with a NULL verb. */
struct cli_verb {
    const char *verb;
    int key;
    const char *operands;
};
extern const struct cli_verb cli_verbs[];

/* Returns what a form does, as its option's help and lists of verbs say. */
const char *cli_verb_purpose(const struct cli_verb *form);

/* The key of an option is its letter, or CLI_LONG and above for options without one. */
enum { CLI_LONG = 256 };
enum cli_key {
    CLI_OPT_ARRAYS = CLI_LONG, CLI_OPT_METADATA, CLI_OPT_SCAN, CLI_OPT_GRID, CLI_OPT_TO, CLI_OPT_DTYPE, CLI_OPT_KEEP_QUANTIZED,
        CLI_OPT_DEQUANTIZE,
    CLI_OPT_HASH, CLI_OPT_CHECK, CLI_OPT_DIFF, CLI_OPT_FETCH, CLI_OPT_FETCH_WINDOW, CLI_OPT_STORED, CLI_OPT_MANIFEST,
    CLI_OPT_ADAPTER, CLI_OPT_BASE, CLI_OPT_IN_PLACE, CLI_OPT_TENSOR, CLI_OPT_TENSOR_TYPE, CLI_OPT_PURE, CLI_OPT_IMATRIX, CLI_OPT_GROUP_SIZE, CLI_OPT_SYMMETRIC,
    CLI_OPT_ASYMMETRIC, CLI_OPT_CONVROT, CLI_OPT_NO_FUSE, CLI_OPT_NONFINITE, CLI_OPT_TARGET_SIZE, CLI_OPT_TARGET_BPW,
    CLI_OPT_CANDIDATES, CLI_OPT_REPORT, CLI_OPT_MIN_SQNR, CLI_OPT_EXACT, CLI_OPT_INEXACT, CLI_OPT_INCLUDE, CLI_OPT_EXCLUDE, CLI_OPT_ONLY,
    CLI_OPT_DROP, CLI_OPT_KEEP_F32, CLI_OPT_RENAME,
    CLI_OPT_STRIP_PREFIX,
    CLI_OPT_ADD_PREFIX, CLI_OPT_ORDER, CLI_OPT_SIZE, CLI_OPT_RANGE, CLI_OPT_PART, CLI_OPT_PART_SIZE,
    CLI_OPT_PARTS, CLI_OPT_PLAN, CLI_OPT_NO_METADATA, CLI_OPT_GGUF_KV, CLI_OPT_GGUF_UNSET, CLI_OPT_GGUF_METADATA, CLI_OPT_PRE,
    CLI_OPT_NO_TOKENIZER, CLI_OPT_NAMES, CLI_OPT_MTP, CLI_OPT_NO_MTP, CLI_OPT_MMPROJ, CLI_OPT_NO_MMPROJ, CLI_OPT_ALLOW_MISSING, CLI_OPT_SKIP_UNKNOWN,
    CLI_OPT_KEEP_SHAPES,
    CLI_OPT_FAMILY, CLI_OPT_FAMILY_TEMPLATE,
    CLI_OPT_OUTPUT_DIR, CLI_OPT_SHARD_SIZE, CLI_OPT_RESUME, CLI_OPT_SYNC, CLI_OPT_DIRECT, CLI_OPT_NO_SPOOL,
    CLI_OPT_NO_VERIFY, CLI_OPT_ROOT, CLI_OPT_STATE, CLI_OPT_ALLOW_GLOBAL, CLI_OPT_STRICT, CLI_OPT_JSON, CLI_OPT_HUMAN, CLI_OPT_CONFIG, CLI_OPT_INPUT_SCHEME,
    CLI_OPT_ALLOW_UNCLAIMED,
    CLI_OPT_PROGRESS, CLI_OPT_JSON_ERRORS, CLI_OPT_MAX_ALLOC, CLI_OPT_MAX_TOTAL, CLI_OPT_MAX_ITEMS, CLI_OPT_MAX_RATIO,
    /* what follows from options, for conflicts.h: the output is a directory, or several files; --to hf was given; amn-convert moves
     * codes without being told; a report or manifest goes to standard output; --dtype GLOB=DTYPE */
    CLI_FACT_DIRECTORY, CLI_FACT_SPLIT, CLI_FACT_HF, CLI_FACT_MOVES, CLI_FACT_STDOUT, CLI_FACT_TYPES, CLI_KEYS
};

/* The headings of --help, in order. */
enum cli_group {
    CLI_GROUP_REPORT, CLI_GROUP_QUANTIZE, CLI_GROUP_OUTPUT, CLI_GROUP_TENSORS, CLI_GROUP_METADATA, CLI_GROUP_PREVIEW,
    CLI_GROUP_PARTS, CLI_GROUP_INPUT, CLI_GROUP_GENERAL, CLI_GROUP_LIMITS, CLI_GROUPS,
    CLI_GROUP_SYNONYMS = CLI_GROUPS     /* accepted, but in no help text or completion */
};

extern const char *const cli_groups[CLI_GROUPS];

struct cli_option {
    int key;
    unsigned tools;                 /* one bit per tool: 1 << CLI_PARSE if amn-parse has the option */
    unsigned rare;                  /* bits of the tools that list it only under --help=all */
    enum cli_group group;
    const char *name;               /* long name, without dashes */
    const char *arg;                /* name of the required argument, as in "SIZE"; NULL if there is none */
    const char *const *words;       /* all possible arguments, ending with NULL; or NULL */
    const char *help;               /* no final period; a line of --help has 80 columns */
};

/* In the order of --help. An option whose argument or text differs between tools has several rows with the same name and
 * key. Ends with a row without a name. */
extern const struct cli_option cli_options_of_all[];

/* Returns true if a tool is a program of its own, not part of amn. */
static inline bool
cli_is_program(const struct cli_tool *tool)
{
    return tool->name[3] == '-';
}

static inline bool
cli_has(enum cli_tool_id tool, const struct cli_option *option)
{
    return option->tools >> tool & 1;
}

/* Returns true if help texts and completions of the tool offer the option. */
static inline bool
cli_offers(enum cli_tool_id tool, const struct cli_option *option)
{
    return cli_has(tool, option) && option->group != CLI_GROUP_SYNONYMS;
}

/* Returns true if the argument of an option may be left out; it then follows after '=' only. */
static inline bool
cli_is_optional(const struct cli_option *option)
{
    return option->key == CLI_OPT_EXACT;
}

/* Words that a tool converts by their index. */
extern const char *const cli_when_words[];      /* auto always never: enum cli_when, enum sink_direct */
extern const char *const cli_order_words[];     /* input name: enum writer_order */
extern const char *const cli_exact_words[];     /* f32 bf16 f16 real: enum exact_level */
extern const char *const cli_names_words[];     /* hf gguf */
extern const char *const cli_state_words[];     /* model master all */
extern const char *const cli_format_words[];    /* output formats of amn-convert; the first CLI_EXTENSIONS are also file
                                                 * extensions, the others are directories */
enum { CLI_EXTENSIONS = 5 };

#endif
