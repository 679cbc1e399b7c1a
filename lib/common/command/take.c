/* Options that all writing tools have. */
#include "cli/conflicts.h"
#include "command/command_priv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cpus.h"
#include "base/num.h"
#include "base/str.h"
#include "command/operands.h"
#include "command/vocabulary.h"

enum { JOBS_MAX = 256 };

/* Parses a number of bits per element. */
static bool
take_real(double *out, const struct cli_option *option, const char *arg, struct err *err)
{
    char *end;
    *out = strtod(arg, &end);
    return (*end == '\0' && *arg && *out > 0 && *out <= 64) || err_set(err, ERR_USAGE,
        "--%s: invalid number of bits '%s': expected more than 0, at most 64", option->name, arg);
}

/* How options that only set a member of struct command are handled. */
enum take_kind {
    TAKE_FLAG,                  /* sets a bool */
    TAKE_ENCODE,                /* sets a member of struct encode_options to 1 */
    TAKE_TEXT,                  /* sets a string, borrowed */
    TAKE_NAME,                  /* sets a string that must not be empty; `what` names it */
    TAKE_SIZE,                  /* sets a number of bytes, at least 1 */
    TAKE_INSTEAD                /* sets what to produce instead of the output */
};

static const struct take_row {
    int key;
    enum take_kind kind;
    size_t at;                  /* offset of the member; for TAKE_INSTEAD the value */
    const char *what;
} rows[] = {
    { 'f', TAKE_FLAG, offsetof(struct command, output.terminal_ok), NULL },
    { 'n', TAKE_FLAG, offsetof(struct command, output.no_clobber), NULL },
    { 'o', TAKE_NAME, offsetof(struct command, output.path), "file name" },
    { 's', TAKE_TEXT, offsetof(struct command, scheme), NULL },
    { CLI_OPT_ASYMMETRIC, TAKE_ENCODE, offsetof(struct command, reduction.how.asymmetric), NULL },
    { CLI_OPT_BASE, TAKE_NAME, offsetof(struct command, base), "path" },
    { CLI_OPT_CANDIDATES, TAKE_TEXT, offsetof(struct command, candidate_names), NULL },
    { CLI_OPT_CONVROT, TAKE_ENCODE, offsetof(struct command, reduction.how.convrot), NULL },
    { 'l', TAKE_INSTEAD, COMMAND_DRY_RUN, NULL },
    { CLI_OPT_GGUF_METADATA, TAKE_NAME, offsetof(struct command, keys.path), "file name" },
    { CLI_OPT_FAMILY, TAKE_NAME, offsetof(struct command, hf.family), "file name" },
    { CLI_OPT_IN_PLACE, TAKE_FLAG, offsetof(struct command, in_place), NULL },
    { CLI_OPT_IMATRIX, TAKE_TEXT, offsetof(struct command, imatrix), NULL },
    { CLI_OPT_KEEP_SHAPES, TAKE_FLAG, offsetof(struct command, keep_shapes), NULL },
    { CLI_OPT_KEEP_QUANTIZED, TAKE_FLAG, offsetof(struct command, keep_quantized), NULL },
    { CLI_OPT_DEQUANTIZE, TAKE_FLAG, offsetof(struct command, dequantize), NULL },
    { CLI_OPT_MANIFEST, TAKE_NAME, offsetof(struct command, manifest), "file name" },
    { CLI_OPT_NO_FUSE, TAKE_FLAG, offsetof(struct command, reduction.apart), NULL },
    { CLI_OPT_NO_METADATA, TAKE_FLAG, offsetof(struct command, keys.none), NULL },
    { CLI_OPT_NO_TOKENIZER, TAKE_FLAG, offsetof(struct command, hf.no_tokenizer), NULL },
    { CLI_OPT_MTP, TAKE_FLAG, offsetof(struct command, hf.mtp_only), NULL },
    { CLI_OPT_NO_MTP, TAKE_FLAG, offsetof(struct command, hf.no_mtp), NULL },
    { CLI_OPT_MMPROJ, TAKE_FLAG, offsetof(struct command, hf.mmproj), NULL },
    { CLI_OPT_NO_MMPROJ, TAKE_FLAG, offsetof(struct command, no_mmproj), NULL },
    { CLI_OPT_ALLOW_MISSING, TAKE_FLAG, offsetof(struct command, hf.allow_missing), NULL },
    { CLI_OPT_SKIP_UNKNOWN, TAKE_FLAG, offsetof(struct command, hf.skip_unknown), NULL },
    { CLI_OPT_NO_SPOOL, TAKE_FLAG, offsetof(struct command, no_spool), NULL },
    { CLI_OPT_NO_VERIFY, TAKE_FLAG, offsetof(struct command, no_verify), NULL },
    { CLI_OPT_NONFINITE, TAKE_FLAG, offsetof(struct command, nonfinite_ok), NULL },
    { CLI_OPT_PART_SIZE, TAKE_SIZE, offsetof(struct command, cut.part_size), NULL },
    { CLI_OPT_PARTS, TAKE_INSTEAD, COMMAND_PARTS, NULL },
    { CLI_OPT_PLAN, TAKE_INSTEAD, COMMAND_PLAN, NULL },
    { CLI_OPT_PRE, TAKE_NAME, offsetof(struct command, hf.pre), "name" },
    { CLI_OPT_PURE, TAKE_FLAG, offsetof(struct command, reduction.pure), NULL },
    { CLI_OPT_REPORT, TAKE_NAME, offsetof(struct command, report), "file name" },
    { CLI_OPT_RESUME, TAKE_FLAG, offsetof(struct command, resume), NULL },
    { CLI_OPT_SHARD_SIZE, TAKE_SIZE, offsetof(struct command, shard_size), NULL },
    { CLI_OPT_SIZE, TAKE_INSTEAD, COMMAND_SIZE, NULL },
    { CLI_OPT_SYMMETRIC, TAKE_ENCODE, offsetof(struct command, reduction.how.symmetric), NULL },
    { CLI_OPT_SYNC, TAKE_FLAG, offsetof(struct command, output.sync), NULL },
    { CLI_OPT_TARGET_SIZE, TAKE_SIZE, offsetof(struct command, target_size), NULL },
    { 't', TAKE_INSTEAD, COMMAND_TEST, NULL },
};

static bool
take_row(struct command *cmd, const struct take_row *row, const struct cli_option *option, const char *arg, struct err *err)
{
    char *member = (char *)cmd + row->at;
    switch (row->kind) {
    case TAKE_FLAG:
        return *(bool *)member = true;
    case TAKE_ENCODE:
        *(uint64_t *)member = 1;
        return true;
    case TAKE_SIZE:
        return cli_size((uint64_t *)member, option, arg, err) && (*(uint64_t *)member != 0 || err_set(err, ERR_USAGE, "--%s must be at least 1 byte", option->name));
    case TAKE_INSTEAD:
        cmd->instead = (enum command_instead)row->at;
        return true;
    default:
        *(const char **)member = arg;
        return row->kind == TAKE_TEXT || *arg
            || err_set(err, ERR_USAGE, "--%s: empty %s", option->name, row->what);
    }
}

/* Handles --dtype DTYPE and --dtype GLOB=DTYPE. */
static bool
take_type(struct command *cmd, const struct cli_option *option, const char *arg, struct err *err)
{
    const char *equals = strrchr(arg, '=');
    unsigned choice;
    if (!cli_choice(&choice, option, equals ? equals + 1 : arg, err))
        return false;
    if (equals) {
        cmd->cli.given[CLI_OPT_DTYPE] = cmd->cast;
        cmd->cli.given[CLI_FACT_TYPES] = true;
        return naming_give_type(&cmd->types, option->name, arg, (size_t)(equals - arg), dtype_target(choice), err);
    }
    cmd->to = dtype_target(choice);
    return cmd->cast = true;
}

/* Handles an option whose argument is one of its words. */
static bool
take_choice(struct command *cmd, const struct cli_option *option, const char *arg, struct err *err)
{
    unsigned choice;
    if (!cli_choice(&choice, option, arg, err))
        return false;
    if (option->key == CLI_OPT_EXACT) {
        cmd->exact.level = (enum exact_level)choice;
    } else if (option->key == CLI_OPT_NAMES) {
        cmd->to_hf = choice == 0;
        cmd->keeps_names = choice != 0;
    } else if (option->key == CLI_OPT_ORDER) {
        cmd->layout.order = (enum writer_order)choice;
    } else {
        cmd->output.direct = (enum sink_direct)choice;
    }
    return true;
}

static bool
take_number(struct command *cmd, const struct cli_option *option, const char *arg, struct err *err)
{
    uint64_t n;
    bool jobs = option->key == 'j';
    if (!cli_number(&n, option, arg, jobs ? 0 : 1, jobs ? JOBS_MAX : ENCODE_FLOATS, err))
        return false;
    if (jobs)
        cmd->jobs = (unsigned)(n ? n : num_min(cpus_count(), JOBS_MAX));
    else
        cmd->reduction.how.group_size = n;
    return true;
}

bool
command_take(void *of, const struct cli_option *option, const char *arg, struct err *err)
{
    struct command *cmd = of;
    if (option->key == 's' && strcasecmp(arg, "help") == 0)
        exit(vocabulary_print(stdout, "schemes", false, err) && cli_finish_stdout(err) ? CLI_OK : cli_fail(&cmd->cli, err));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].key == option->key)
            return take_row(cmd, &rows[i], option, arg, err);
    switch (option->key) {
    case 'c':
        return true;                    /* the default */
    case CLI_OPT_OUTPUT_DIR:
        cmd->cli.many = true;
        cmd->output_dir = arg;
        return *arg || err_set(err, ERR_USAGE, "--%s: empty file name", option->name);
    case CLI_OPT_ADAPTER:
        return adapter_argument_add(&cmd->adapters, arg, err);
    case CLI_OPT_INCLUDE:
    case CLI_OPT_EXCLUDE:
        return naming_match(&cmd->reduction.which, option->name, arg, option->key == CLI_OPT_INCLUDE, err);
    case CLI_OPT_ONLY:
    case CLI_OPT_DROP:
        return naming_match(&cmd->naming, option->name, arg, option->key == CLI_OPT_ONLY, err);
    case CLI_OPT_KEEP_F32:
        return naming_give_type(&cmd->types, option->name, arg, strlen(arg), DTYPE_F32, err);
    case CLI_OPT_RENAME:
        return naming_rename(&cmd->naming, arg, err);
    case CLI_OPT_STRIP_PREFIX:
        return naming_strip(&cmd->naming, arg, err);
    case CLI_OPT_ADD_PREFIX:
        return naming_prefix(&cmd->naming, arg, err);
    case CLI_OPT_TENSOR_TYPE:
        return reduction_rule(&cmd->reduction, arg, err);
    case CLI_OPT_TARGET_BPW:
        return take_real(&cmd->target_bpw, option, arg, err);
    case CLI_OPT_METADATA:
        return keys_give(&cmd->keys, KEYS_TEXT, option->name, arg, err);
    case CLI_OPT_GGUF_KV:
        return keys_give(&cmd->keys, KEYS_TYPED, option->name, arg, err);
    case CLI_OPT_GGUF_UNSET:
        return keys_unset(&cmd->keys, option->name, arg, err);
    case CLI_OPT_PART:
        return byte_range_read_part(&cmd->cut, arg) || err_set(err, ERR_USAGE,
            "--part: invalid part '%s': expected I/N with 1 <= I <= N", arg);
    case CLI_OPT_RANGE:
        return byte_range_read_range(&cmd->cut, arg) || err_set(err, ERR_USAGE,
            "--range: invalid range '%s': expected A-B with A <= B, A- or -N", arg);
    case CLI_OPT_EXACT:
        cmd->is_exact = true;
        return !arg || take_choice(cmd, option, arg, err);
    case CLI_OPT_INEXACT:
        return naming_match(&cmd->exact.inexact, option->name, arg, true, err);
    case CLI_OPT_DTYPE:
        return take_type(cmd, option, arg, err);
    case CLI_OPT_NAMES:
    case CLI_OPT_ORDER:
    case CLI_OPT_DIRECT:
        return take_choice(cmd, option, arg, err);
    default:
        return take_number(cmd, option, arg, err);
    }
}

const char *
command_hf_option(const struct command *cmd)
{
    static const int keys[] = { CLI_OPT_FAMILY, CLI_OPT_PRE, CLI_OPT_NO_TOKENIZER, CLI_OPT_MTP, CLI_OPT_NO_MTP,
        CLI_OPT_MMPROJ, CLI_OPT_ALLOW_MISSING, CLI_OPT_SKIP_UNKNOWN, 0 };
    return conflicts_first(&cmd->cli, keys);
}

/* Checks that options for metadata and order, and the kind of the output, match its format. */
static bool
check_format(const struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct writer *writer = job->writer;
    static const int text[] = { CLI_OPT_METADATA, CLI_OPT_NO_METADATA, CLI_OPT_NAMES, 0 };
    static const int typed[] = { CLI_OPT_KEEP_SHAPES, CLI_OPT_GGUF_KV, CLI_OPT_GGUF_UNSET, CLI_OPT_GGUF_METADATA, 0 };
    enum keys_kind kind = writer->keys;
    const char *option = "order name";
    if (cmd->layout.order == WRITER_ORDER_INPUT)
        option = conflicts_first(&cmd->cli, text);
    if (option && kind != KEYS_TEXT)
        return err_set(err, ERR_USAGE, "--%s requires safetensors output, but the output is %s", option,
            writer->name);
    if (cmd->to_hf || job->dir.path)
        option = NULL;
    else
        option = command_hf_option(cmd);
    if (!option)
        option = conflicts_first(&cmd->cli, typed);
    if (option && kind != KEYS_TYPED)
        return err_set(err, ERR_USAGE, "--%s requires GGUF output, but the output is %s", option, writer->name);
    return !job->dir.path || writer == &writer_safetensors || err_set(err, ERR_USAGE,
        "-o DIR/ writes safetensors, not %s; give -o FILE instead%s", writer->name,
        writer == &writer_gguf ? ", with --shard-size SIZE to split it" : "");
}

bool
command_check(const struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    if (!job->writer)
        return err_set(err, ERR_USAGE, "unknown output format: use -o FILE.gguf (or .safetensors, .npz, .npy, "
            ".raw) or --to FORMAT");
    return check_format(job, err) && operands_stdin_once(&cmd->cli, err) && byte_range_check(&cmd->cut, err);
}
