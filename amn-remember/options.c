#include "options.h"

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct job *job = own;
    unsigned choice;
    switch (option->key) {
    case OPT_TO:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        job->to = dtype_target(choice);
        return true;
    default:
        return job_take(job, option, arg, err);
    }
}

void
options_parse(struct job *job, int argc, char **argv)
{
    *job = (struct job){ .writer = &writer_safetensors, .to = DTYPE_BF16 };
    cli_options(&job->cli, CLI_REMEMBER, take, job, argc, argv);
    job_take_output(job);
}
