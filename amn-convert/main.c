/* amn-convert: a model in, the same tensors in another format out; what is quantized is decoded on the way. */
#include "job/job.h"

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct job *job = own;
    switch (option->key) {
    case OPT_TO:
        return job_take_format(job, option, arg, err);
    case OPT_TENSOR:
        job->naming.only = arg;
        return true;
    default:
        return job_take(job, option, arg, err);
    }
}

int
main(int argc, char **argv)
{
    struct job job = { .to = DTYPE_BF16 };
    cli_options(&job.cli, CLI_CONVERT, take, &job, argc, argv);
    job_take_output(&job);
    return job_run(&job);
}
