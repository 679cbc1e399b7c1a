/* The options that all tools that write have. */
#include "job/job.h"

#include "base/str.h"

enum { JOBS_MAX = 256 };

/* At most one of --size, --parts, --plan, --test. */
static bool
take_instead(struct job *job, enum job_instead instead, struct err *err)
{
    if (job->instead != JOB_OUTPUT && job->instead != instead)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--size, --parts, --plan and --test exclude one another");
    job->instead = instead;
    return true;
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
    case OPT_NO_METADATA:
        return job->keys.none = true;
    case OPT_SIZE:
        return take_instead(job, JOB_SIZE, err);
    case OPT_PARTS:
        return take_instead(job, JOB_PARTS, err);
    case OPT_PLAN:
        return take_instead(job, JOB_PLAN, err);
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
    option = job->keys.typed.n != 0 ? "--gguf-kv" : job->keys.path ? "--gguf-metadata" : NULL;
    return !option || kind == KEYS_TYPED || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "%s goes with GGUF, and the output is %s",
        option, job->writer->name);
}

bool
job_check(const struct job *job, struct err *err)
{
    if (!job->writer)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "the format of the output is not known: --to FORMAT, or an extension "
            "of --output that names one: safetensors, gguf, npz, npy, raw");
    if (!check_format(job, err))
        return false;
    if (!job->dir.path && job->output.path && str_ends(job->output.path, "/"))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--output: the output is one file, and a slash ends the name of a "
            "directory");
    if (job->instead == JOB_TEST && job->output.path)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--test writes nothing: it does not go with --output");
    if (!job->dir.path && (job->dir.shard_size != 0 || job->dir.resume))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--shard-size and --resume go with -o DIR/, which ends with a slash");
    if (job->dir.path && (job->instead != JOB_OUTPUT || (job->cut.range || job->cut.part != 0 || job->cut.part_size != 0)))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "-o DIR/ writes whole files: --size, --parts, --plan, --range and "
            "--part do not go with it");
    return cut_check(&job->cut, job->instead == JOB_PARTS, err);
}
