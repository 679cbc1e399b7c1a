/* amn-forget: a model in, the same with less precision out. */
#include "job/job.h"

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct job *job = own;
    switch (option->key) {
    case OPT_INPUT_SCHEME:
        job->input_scheme = arg;
        return true;
    case OPT_TO:
        return job_take_format(job, option, arg, err);
    case OPT_INCLUDE:
    case OPT_EXCLUDE:
        return naming_match(&job->reduction.which, arg, option->key == OPT_INCLUDE, err);
    default:
        return job_take(job, option, arg, err);
    }
}

int
main(int argc, char **argv)
{
    struct job job = { .to = DTYPE_BF16, .forgets = true };
    cli_options(&job.cli, CLI_FORGET, take, &job, argc, argv);
    job.scheme = job.cli.scheme;
    job.cli.scheme = job.input_scheme;
    job_take_output(&job);
    return job_run(&job);
}
