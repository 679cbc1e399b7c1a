#include "options.h"

#include <string.h>

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

void
options_parse(struct job *job, int argc, char **argv)
{
    *job = (struct job){ .to = DTYPE_BF16 };
    cli_options(&job->cli, CLI_CONVERT, take, job, argc, argv);
    job_take_output(job);
}
