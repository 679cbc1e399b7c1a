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
    case OPT_PURE:
        return job->reduction.pure = true;
    case OPT_GROUP_SIZE:
        if (!cli_number(&n, option, arg, 1, ENCODE_FLOATS, err))
            return false;
        job->reduction.how.group_size = n;
        return true;
    case OPT_SYMMETRIC:
        return job->reduction.how.symmetric = true;
    case OPT_ASYMMETRIC:
        return job->reduction.how.asymmetric = true;
    case OPT_CONVROT:
        return job->reduction.how.convrot = true;
    case OPT_NONFINITE:
        return job->nonfinite_ok = true;
    case OPT_DTYPE:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        job->to = dtype_target(choice);
        return job->cast = true;
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

bool
job_check(const struct job *job, struct err *err)
{
    if (job->forgets && !job->scheme)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--scheme NAME says what weights become");
    if (!job->scheme && (job->reduction.pure || job->nonfinite_ok || job->reduction.how.group_size != 0
        || job->reduction.how.symmetric || job->reduction.how.asymmetric || job->reduction.how.convrot))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--pure, --group-size, --symmetric, --asymmetric, --convrot and "
            "--allow-nonfinite go with a scheme to encode by");
    if (job->reduction.how.symmetric && job->reduction.how.asymmetric)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--symmetric and --asymmetric exclude one another");
    if (!job->writer)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "the format of the output is not known: --to FORMAT, or an extension "
            "of --output that names one: safetensors, gguf, npz, npy, raw");
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
