/* The options that all tools that write have. */
#include "command/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "command/operands.h"

enum { JOBS_MAX = 256 };

#define SHARD_SIZE (UINT64_C(5) << 30)

/* At most one of --size, --parts, --plan, --dry-run, --test. */
static bool
take_instead(struct command *cmd, enum command_instead instead, struct err *err)
{
    if (cmd->instead != COMMAND_OUTPUT && cmd->instead != instead)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--size, --parts, --plan, --dry-run and --test exclude one "
            "another");
    cmd->instead = instead;
    return true;
}

/* A number of bits for an element. */
static bool
take_real(double *out, const struct cli_option *option, const char *arg, struct err *err)
{
    char *end;
    *out = strtod(arg, &end);
    return (*end == '\0' && *arg && *out > 0 && *out <= 64) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
        "--%s: '%s' is no number of bits, up to 64", option->name, arg);
}

/* The size of one file of several. */
static bool
take_file_size(uint64_t *size, const struct cli_option *option, const char *arg, struct err *err)
{
    return cli_size(size, option, arg, err) && (*size != 0
        || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--%s: a file has at least one byte", option->name));
}

bool
command_take(void *of, const struct cli_option *option, const char *arg, struct err *err)
{
    struct command *cmd = of;
    unsigned choice;
    uint64_t n;
    switch (option->key) {
    case 'o':
        cmd->output.path = arg;
        return *arg || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--output: the name of the file is empty");
    case 'n':
        return cmd->output.no_clobber = true;
    case 'f':
        return cmd->output.terminal_ok = true;
    case 'j':
        if (!cli_number(&n, option, arg, 1, JOBS_MAX, err))
            return false;
        cmd->jobs = (unsigned)n;
        return true;
    case CLI_OPT_INCLUDE:
    case CLI_OPT_EXCLUDE:
        return naming_match(&cmd->naming, arg, option->key == CLI_OPT_INCLUDE, err);
    case CLI_OPT_RENAME:
        return naming_rename(&cmd->naming, arg, err);
    case CLI_OPT_STRIP_PREFIX:
        return naming_strip(&cmd->naming, arg, err);
    case CLI_OPT_ADD_PREFIX:
        return naming_prefix(&cmd->naming, arg, err);
    case CLI_OPT_PURE:
        return cmd->reduction.pure = true;
    case CLI_OPT_TENSOR_TYPE:
        return reduction_rule(&cmd->reduction, arg, err);
    case CLI_OPT_IMATRIX:
        cmd->imatrix = arg;
        return true;
    case CLI_OPT_TARGET_SIZE:
        return cli_size(&cmd->target_size, option, arg, err) && (cmd->target_size != 0
            || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--target-size: a file has at least one byte"));
    case CLI_OPT_TARGET_BPW:
        return take_real(&cmd->target_bpw, option, arg, err);
    case CLI_OPT_CANDIDATES:
        cmd->candidate_names = arg;
        return true;
    case CLI_OPT_REPORT:
        cmd->report = arg;
        return *arg || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--report: the name of the file is empty");
    case CLI_OPT_GROUP_SIZE:
        if (!cli_number(&n, option, arg, 1, ENCODE_FLOATS, err))
            return false;
        cmd->reduction.how.group_size = n;
        return true;
    case CLI_OPT_SYMMETRIC:
        cmd->reduction.how.symmetric = true;
        return true;
    case CLI_OPT_ASYMMETRIC:
        cmd->reduction.how.asymmetric = true;
        return true;
    case CLI_OPT_CONVROT:
        cmd->reduction.how.convrot = true;
        return true;
    case CLI_OPT_NO_FUSE:
        return cmd->reduction.apart = true;
    case CLI_OPT_NONFINITE:
        return cmd->nonfinite_ok = true;
    case CLI_OPT_DTYPE:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        cmd->to = dtype_target(choice);
        return cmd->cast = true;
    case CLI_OPT_ORDER:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        cmd->layout.order = (enum writer_order)choice;
        return true;
    case CLI_OPT_METADATA:
        return keys_give(&cmd->keys, KEYS_TEXT, option->name, arg, err);
    case CLI_OPT_GGUF_KV:
        return keys_give(&cmd->keys, KEYS_TYPED, option->name, arg, err);
    case CLI_OPT_GGUF_METADATA:
        cmd->keys.path = arg;
        return *arg || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--gguf-metadata: the name of the file is empty");
    case CLI_OPT_PRE:
        cmd->pre = arg;
        return *arg || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--pre: the name is empty");
    case CLI_OPT_NO_METADATA:
        return cmd->keys.none = true;
    case CLI_OPT_SIZE:
        return take_instead(cmd, COMMAND_SIZE, err);
    case CLI_OPT_PARTS:
        return take_instead(cmd, COMMAND_PARTS, err);
    case CLI_OPT_PLAN:
        return take_instead(cmd, COMMAND_PLAN, err);
    case CLI_OPT_DRY_RUN:
        return take_instead(cmd, COMMAND_DRY_RUN, err);
    case CLI_OPT_TEST:
        return take_instead(cmd, COMMAND_TEST, err);
    case CLI_OPT_PART:
        return byte_range_read_part(&cmd->cut, arg) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "--part: '%s' is no I/N with I from 1 to N", arg);
    case CLI_OPT_PART_SIZE:
        return cli_size(&cmd->cut.part_size, option, arg, err) && (cmd->cut.part_size != 0
            || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--part-size: a part has at least one byte"));
    case CLI_OPT_RANGE:
        return byte_range_read_range(&cmd->cut, arg) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "--range: '%s' is none of A-B, A- and -LAST_N", arg);
    case CLI_OPT_SHARD_SIZE:
        return take_file_size(&cmd->dir.shard_size, option, arg, err);
    case CLI_OPT_SPLIT_SIZE:
        return take_file_size(&cmd->split.size, option, arg, err);
    case CLI_OPT_RESUME:
        return cmd->dir.resume = true;
    case CLI_OPT_KEEP_QUANTIZED:
        return cmd->keep_quantized = true;
    case CLI_OPT_SYNC:
        return cmd->output.sync = true;
    case CLI_OPT_DIRECT:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        cmd->output.direct = (enum sink_direct)choice;
        return true;
    case CLI_OPT_NO_VERIFY:
        return cmd->no_verify = true;
    default:
        return cmd->no_spool = true;
    }
}

/* A path that ends with a slash is that of a directory. */
void
command_take_output(struct command *cmd)
{
    struct sink_options *output = &cmd->output;
    if (output->path && strcmp(output->path, "-") == 0)
        output->path = NULL;
    cmd->split.path = output->path;
    cmd->split.direct = output->direct;
    cmd->split.sync = output->sync;
    if (!output->path || !str_ends(output->path, "/"))
        return;
    cmd->dir.path = output->path;
    cmd->dir.direct = output->direct;
    cmd->dir.no_clobber = output->no_clobber;
    if (cmd->dir.shard_size == 0)
        cmd->dir.shard_size = SHARD_SIZE;
}

/* Whether only a part of the output is asked for. */
static bool
is_some(const struct byte_range *cut)
{
    return cut->range || cut->part != 0 || cut->part_size != 0;
}

/* What does not go with an output of several files. */
static bool
check_files(const struct command *cmd, struct err *err)
{
    bool dir = cmd->dir.path, split = cmd->split.size != 0;
    if (!dir && (cmd->dir.shard_size != 0 || cmd->dir.resume))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--shard-size and --resume go with -o DIR/, which ends with a "
            "slash");
    if (dir && cmd->writer != &writer_safetensors)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "-o DIR/ holds safetensors files, not %s%s", cmd->writer->name,
            cmd->writer == &writer_gguf ? ": name a file, with --split-size SIZE for a split one" : ": name a file");
    if (split && (dir || cmd->writer != &writer_gguf || !cmd->output.path || !str_ends(cmd->output.path, ".gguf")))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--split-size goes with GGUF and -o NAME.gguf, which gives files "
            "NAME-00001-of-0000N.gguf%s",
            cmd->writer == &writer_safetensors ? "; for safetensors there is --shard-size" : "");
    return !(dir || split) || ((cmd->instead == COMMAND_OUTPUT || cmd->instead == COMMAND_DRY_RUN) && !is_some(&cmd->cut))
        || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "%s writes whole files: --size, --parts, --plan, --range and --part "
            "do not go with it", dir ? "-o DIR/" : "--split-size");
}

/* Options about metadata, and the order of one format, go with the format that they are about. */
static bool
check_format(const struct command *cmd, struct err *err)
{
    enum keys_kind kind = cmd->writer->keys;
    const char *option = cmd->layout.order != WRITER_ORDER_INPUT ? "--order name" : cmd->keys.text.n != 0 ? "--metadata"
        : cmd->keys.none ? "--no-metadata" : NULL;
    if (option && kind != KEYS_TEXT)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "%s goes with safetensors, and the output is %s", option,
            cmd->writer->name);
    option = cmd->pre ? "--pre" : cmd->keys.typed.n != 0 ? "--gguf-kv" : cmd->keys.path ? "--gguf-metadata" : NULL;
    return !option || kind == KEYS_TYPED || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "%s goes with GGUF, and the output is %s",
        option, cmd->writer->name);
}

bool
command_check(const struct command *cmd, struct err *err)
{
    const struct reduction *r = &cmd->reduction;
    if (cmd->forgets && !cmd->scheme)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--scheme NAME says what weights become");
    if (!cmd->scheme && (r->pure || r->nrules != 0 || cmd->imatrix || cmd->nonfinite_ok || r->how.group_size != 0
        || r->how.symmetric || r->how.asymmetric || r->how.convrot || r->apart))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--pure, --tensor-type, --imatrix, --group-size, --symmetric, "
            "--asymmetric, --convrot, --no-fuse and --allow-nonfinite go with a scheme to encode by");
    if (cmd->report && (!cmd->scheme || cmd->cut.range || cmd->cut.part != 0
        || (cmd->instead != COMMAND_OUTPUT && cmd->instead != COMMAND_TEST)))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--report is about a whole output that is encoded, when it is made");
    if (r->how.symmetric && r->how.asymmetric)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--symmetric and --asymmetric exclude one another");
    if (!cmd->writer)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "the format of the output is not known: --to FORMAT, or an extension "
            "of --output that names one: safetensors, gguf, npz, npy, raw");
    if (!check_format(cmd, err))
        return false;
    if (cmd->instead == COMMAND_TEST && cmd->output.path)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--test writes nothing: it does not go with --output");
    if (cmd->keep_quantized && (cmd->cast || cmd->scheme))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--keep-quantized and --dtype exclude one another: one moves tensors "
            "as they are, the other decodes them");
    if (cmd->instead != COMMAND_DRY_RUN && cmd->cli.form != CLI_BY_TERMINAL)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--json and --human go with --dry-run");
    if (cmd->instead == COMMAND_DRY_RUN && is_some(&cmd->cut))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--dry-run lists a whole output: --range and --part do not go with "
            "it");
    return check_files(cmd, err) && operands_stdin_once(&cmd->cli, err)
        && byte_range_check(&cmd->cut, cmd->instead == COMMAND_PARTS, err);
}
