#include "options.h"

#include <string.h>

#define SHARD_SIZE (UINT64_C(5) << 30)

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
    case OPT_SHARD_SIZE:
        return cli_size(&job->dir.shard_size, option, arg, err) && (job->dir.shard_size != 0
            || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--shard-size: a file has at least one byte"));
    case OPT_RESUME:
        return job->dir.resume = true;
    default:
        return job_take(job, option, arg, err);
    }
}

/* A path that ends with a slash is that of a directory. */
static void
take_directory(struct job *job)
{
    const char *path = job->output.path;
    if (!path || path[strlen(path) - 1] != '/')
        return;
    job->dir.path = path;
    job->dir.direct = job->output.direct;
    job->dir.no_clobber = job->output.no_clobber;
    if (job->dir.shard_size == 0)
        job->dir.shard_size = SHARD_SIZE;
}

void
options_parse(struct job *job, int argc, char **argv)
{
    *job = (struct job){ .writer = &writer_safetensors, .to = DTYPE_BF16 };
    cli_options(&job->cli, CLI_REMEMBER, take, job, argc, argv);
    if (job->output.path && strcmp(job->output.path, "-") == 0)
        job->output.path = NULL;
    take_directory(job);
}
