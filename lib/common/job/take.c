/* The options that all tools that write have. */
#include "job/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "job/operands.h"

enum { JOBS_MAX = 256 };

#define SHARD_SIZE (UINT64_C(5) << 30)

/* At most one of --size, --parts, --plan, --dry-run, --test. */
static bool
take_instead(struct job *job, enum job_instead instead, struct err *err)
{
    if (job->instead != JOB_OUTPUT && job->instead != instead)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--size, --parts, --plan, --dry-run and --test exclude one "
            "another");
    job->instead = instead;
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
job_take(void *of, const struct cli_option *option, const char *arg, struct err *err)
{
    struct job *job = of;
    unsigned choice;
    uint64_t n;
    switch (option->key) {
    case 'o':
        job->output.path = arg;
        return *arg || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--output: the name of the file is empty");
    case 'n':
        return job->output.no_clobber = true;
    case 'f':
        return job->output.terminal_ok = true;
    case 'j':
        if (!cli_number(&n, option, arg, 1, JOBS_MAX, err))
            return false;
        job->jobs = (unsigned)n;
        return true;
    case OPT_INCLUDE:
    case OPT_EXCLUDE:
        return naming_match(&job->naming, arg, option->key == OPT_INCLUDE, err);
    case OPT_RENAME:
        return naming_rename(&job->naming, arg, err);
    case OPT_STRIP_PREFIX:
        return naming_strip(&job->naming, arg, err);
    case OPT_ADD_PREFIX:
        return naming_prefix(&job->naming, arg, err);
    case OPT_PURE:
        return job->reduction.pure = true;
    case OPT_TENSOR_TYPE:
        return reduction_rule(&job->reduction, arg, err);
    case OPT_IMATRIX:
        job->imatrix = arg;
        return true;
    case OPT_TARGET_SIZE:
        return cli_size(&job->target_size, option, arg, err) && (job->target_size != 0
            || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--target-size: a file has at least one byte"));
    case OPT_TARGET_BPW:
        return take_real(&job->target_bpw, option, arg, err);
    case OPT_CANDIDATES:
        job->candidate_names = arg;
        return true;
    case OPT_REPORT:
        job->report = arg;
        return *arg || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--report: the name of the file is empty");
    case OPT_GROUP_SIZE:
        if (!cli_number(&n, option, arg, 1, ENCODE_FLOATS, err))
            return false;
        job->reduction.how.group_size = n;
        return true;
    case OPT_SYMMETRIC:
        job->reduction.how.symmetric = true;
        return true;
    case OPT_ASYMMETRIC:
        job->reduction.how.asymmetric = true;
        return true;
    case OPT_CONVROT:
        job->reduction.how.convrot = true;
        return true;
    case OPT_NO_FUSE:
        return job->reduction.apart = true;
    case OPT_NONFINITE:
        return job->nonfinite_ok = true;
    case OPT_DTYPE:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        job->to = dtype_target(choice);
        return job->cast = true;
    case OPT_ORDER:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        job->layout.order = (enum writer_order)choice;
        return true;
    case OPT_METADATA:
        return keys_give(&job->keys, KEYS_TEXT, option->name, arg, err);
    case OPT_GGUF_KV:
        return keys_give(&job->keys, KEYS_TYPED, option->name, arg, err);
    case OPT_GGUF_METADATA:
        job->keys.path = arg;
        return *arg || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--gguf-metadata: the name of the file is empty");
    case OPT_PRE:
        job->pre = arg;
        return *arg || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--pre: the name is empty");
    case OPT_NO_METADATA:
        return job->keys.none = true;
    case OPT_SIZE:
        return take_instead(job, JOB_SIZE, err);
    case OPT_PARTS:
        return take_instead(job, JOB_PARTS, err);
    case OPT_PLAN:
        return take_instead(job, JOB_PLAN, err);
    case OPT_DRY_RUN:
        return take_instead(job, JOB_DRY_RUN, err);
    case OPT_TEST:
        return take_instead(job, JOB_TEST, err);
    case OPT_PART:
        return cut_read_part(&job->cut, arg) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "--part: '%s' is no I/N with I from 1 to N", arg);
    case OPT_PART_SIZE:
        return cli_size(&job->cut.part_size, option, arg, err) && (job->cut.part_size != 0
            || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--part-size: a part has at least one byte"));
    case OPT_RANGE:
        return cut_read_range(&job->cut, arg) || err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "--range: '%s' is none of A-B, A- and -LAST_N", arg);
    case OPT_SHARD_SIZE:
        return take_file_size(&job->dir.shard_size, option, arg, err);
    case OPT_SPLIT_SIZE:
        return take_file_size(&job->split.size, option, arg, err);
    case OPT_RESUME:
        return job->dir.resume = true;
    case OPT_KEEP_QUANTIZED:
        return job->keep_quantized = true;
    case OPT_SYNC:
        return job->output.sync = true;
    case OPT_DIRECT:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        job->output.direct = (enum sink_direct)choice;
        return true;
    case OPT_NO_VERIFY:
        return job->no_verify = true;
    default:
        return job->no_spool = true;
    }
}

/* A path that ends with a slash is that of a directory. */
void
job_take_output(struct job *job)
{
    struct sink_options *output = &job->output;
    if (output->path && strcmp(output->path, "-") == 0)
        output->path = NULL;
    job->split.path = output->path;
    job->split.direct = output->direct;
    job->split.sync = output->sync;
    if (!output->path || !str_ends(output->path, "/"))
        return;
    job->dir.path = output->path;
    job->dir.direct = output->direct;
    job->dir.no_clobber = output->no_clobber;
    if (job->dir.shard_size == 0)
        job->dir.shard_size = SHARD_SIZE;
}

/* Whether only a part of the output is asked for. */
static bool
is_some(const struct cut *cut)
{
    return cut->range || cut->part != 0 || cut->part_size != 0;
}

/* What does not go with an output of several files. */
static bool
check_files(const struct job *job, struct err *err)
{
    bool dir = job->dir.path, split = job->split.size != 0;
    if (!dir && (job->dir.shard_size != 0 || job->dir.resume))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--shard-size and --resume go with -o DIR/, which ends with a "
            "slash");
    if (dir && job->writer != &writer_safetensors)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "-o DIR/ holds safetensors files, not %s%s", job->writer->name,
            job->writer == &writer_gguf ? ": name a file, with --split-size SIZE for a split one" : ": name a file");
    if (split && (dir || job->writer != &writer_gguf || !job->output.path || !str_ends(job->output.path, ".gguf")))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--split-size goes with GGUF and -o NAME.gguf, which gives files "
            "NAME-00001-of-0000N.gguf%s",
            job->writer == &writer_safetensors ? "; for safetensors there is --shard-size" : "");
    return !(dir || split) || ((job->instead == JOB_OUTPUT || job->instead == JOB_DRY_RUN) && !is_some(&job->cut))
        || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "%s writes whole files: --size, --parts, --plan, --range and --part "
            "do not go with it", dir ? "-o DIR/" : "--split-size");
}

/* Options about metadata, and the order of one format, go with the format that they are about. */
static bool
check_format(const struct job *job, struct err *err)
{
    enum keys_kind kind = job->writer->keys;
    const char *option = job->layout.order != WRITER_ORDER_INPUT ? "--order name" : job->keys.text.n != 0 ? "--metadata"
        : job->keys.none ? "--no-metadata" : NULL;
    if (option && kind != KEYS_TEXT)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "%s goes with safetensors, and the output is %s", option,
            job->writer->name);
    option = job->pre ? "--pre" : job->keys.typed.n != 0 ? "--gguf-kv" : job->keys.path ? "--gguf-metadata" : NULL;
    return !option || kind == KEYS_TYPED || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "%s goes with GGUF, and the output is %s",
        option, job->writer->name);
}

bool
job_check(const struct job *job, struct err *err)
{
    const struct reduction *r = &job->reduction;
    if (job->forgets && !job->scheme)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--scheme NAME says what weights become");
    if (!job->scheme && (r->pure || r->nrules != 0 || job->imatrix || job->nonfinite_ok || r->how.group_size != 0
        || r->how.symmetric || r->how.asymmetric || r->how.convrot || r->apart))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--pure, --tensor-type, --imatrix, --group-size, --symmetric, "
            "--asymmetric, --convrot, --no-fuse and --allow-nonfinite go with a scheme to encode by");
    if (job->report && (!job->scheme || job->cut.range || job->cut.part != 0
        || (job->instead != JOB_OUTPUT && job->instead != JOB_TEST)))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--report is about a whole output that is encoded, when it is made");
    if (r->how.symmetric && r->how.asymmetric)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--symmetric and --asymmetric exclude one another");
    if (!job->writer)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "the format of the output is not known: --to FORMAT, or an extension "
            "of --output that names one: safetensors, gguf, npz, npy, raw");
    if (!check_format(job, err))
        return false;
    if (job->instead == JOB_TEST && job->output.path)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--test writes nothing: it does not go with --output");
    if (job->keep_quantized && (job->cast || job->scheme))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--keep-quantized and --dtype exclude one another: one moves tensors "
            "as they are, the other decodes them");
    if (job->instead != JOB_DRY_RUN && job->cli.form != CLI_BY_TERMINAL)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--json and --human go with --dry-run");
    if (job->instead == JOB_DRY_RUN && is_some(&job->cut))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--dry-run lists a whole output: --range and --part do not go with "
            "it");
    return check_files(job, err) && operands_stdin_once(&job->cli, err)
        && cut_check(&job->cut, job->instead == JOB_PARTS, err);
}
