/* tools: the tools, and all their options: one row each. Parsing, --help and the completions for shells are made from
 * these two tables, and nothing else knows what options there are. */
#ifndef CLI_TOOLS_H
#define CLI_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

enum cli_tool_id { CLI_PARSE, CLI_INSPECT, CLI_REMEMBER, CLI_FORGET, CLI_CONVERT, CLI_LIST, CLI_TOOLS };

struct cli_tool {
    const char *name;               /* "amn-inspect"; "amn list" when it is no program of its own, but a part of amn */
    const char *also;               /* the other name it is installed under, or NULL */
    const char *operands;           /* how --help shows them: "[FILE]" */
    const char *const *words;       /* all that an operand can be, ending with NULL; or NULL */
    const char *says;               /* what it does, in a line of a list: no capital, no full stop */
    const char *summary;            /* the same as a sentence */
    size_t max_operands;
    bool reads_stdin;               /* when there is no operand */
};

extern const struct cli_tool cli_tools[CLI_TOOLS];

/* An option is a short letter or CLI_LONG and more. All keys are listed here, for take() of a tool. */
enum { CLI_LONG = 256 };
enum cli_key {
    OPT_ARRAYS = CLI_LONG, OPT_METADATA, OPT_SCAN, OPT_TO, OPT_DTYPE, OPT_KEEP_QUANTIZED,
    OPT_TENSOR, OPT_TENSOR_TYPE, OPT_PURE, OPT_IMATRIX, OPT_GROUP_SIZE, OPT_SYMMETRIC,
    OPT_ASYMMETRIC, OPT_CONVROT, OPT_NO_FUSE, OPT_NONFINITE, OPT_TARGET_SIZE, OPT_TARGET_BPW,
    OPT_CANDIDATES, OPT_REPORT, OPT_INCLUDE, OPT_EXCLUDE, OPT_RENAME, OPT_STRIP_PREFIX,
    OPT_ADD_PREFIX, OPT_TEST, OPT_ORDER, OPT_SIZE, OPT_RANGE, OPT_PART, OPT_PART_SIZE,
    OPT_PARTS, OPT_PLAN, OPT_DRY_RUN, OPT_NO_METADATA, OPT_GGUF_KV, OPT_GGUF_METADATA, OPT_PRE,
    OPT_SHARD_SIZE, OPT_SPLIT_SIZE, OPT_RESUME, OPT_SYNC, OPT_DIRECT, OPT_NO_SPOOL,
    OPT_NO_VERIFY, OPT_ROOT, OPT_JSON, OPT_HUMAN, OPT_CONFIG, OPT_SCHEME, OPT_INPUT_SCHEME,
    OPT_PROGRESS, OPT_JSON_ERRORS, OPT_MAX_ALLOC, OPT_MAX_TOTAL, OPT_MAX_ITEMS, OPT_MAX_RATIO
};

struct cli_option {
    int key;
    unsigned tools;                 /* bit 1 << CLI_PARSE: amn-parse has it */
    const char *name;               /* the long name without dashes */
    const char *arg;                /* name of the required argument: "SIZE"; NULL when it takes none */
    const char *const *words;       /* all that the argument can be, ending with NULL; or NULL */
    const char *help;               /* without a full stop; a line of --help has 80 columns */
};

/* In the order of --help; a tool's own come first. Two tools may have options of one name in a row each, with the same
 * key. Ends with a row without a name. */
extern const struct cli_option cli_options_of_all[];

/* Whether a tool is a program, and not a part of amn. */
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

/* The words of arguments that a tool turns into something by their place in the list. */
extern const char *const cli_when_words[];      /* auto always never: enum cli_when, enum sink_direct */
extern const char *const cli_order_words[];     /* input name: enum writer_order */
extern const char *const cli_format_words[];    /* what amn-convert writes, and the extensions of their files */

#endif
