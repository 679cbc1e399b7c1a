/* amn-remember: a quantized model in, the same model in BF16, F16 or F32 safetensors out. */
#include "job/job.h"

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct job *job = own;
    unsigned choice;
    if (option->key != OPT_TO)
        return job_take(job, option, arg, err);
    if (!cli_choice(&choice, option, arg, err))
        return false;
    job->to = dtype_target(choice);
    return true;
}

int
main(int argc, char **argv)
{
    struct job job = { .writer = &writer_safetensors, .to = DTYPE_BF16 };
    cli_options(&job.cli, CLI_REMEMBER, take, &job, argc, argv);
    job_take_output(&job);
    return job_run(&job);
}
