#include "options.h"

#include <string.h>
#include <strings.h>

/* In the order of cli_format_words. */
static const struct writer *const writers[] = { &writer_safetensors, &writer_gguf, &writer_npz, &writer_npy, &writer_raw };

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct job *job = own;
    unsigned choice;
    switch (option->key) {
    case OPT_TO:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        job->writer = writers[choice];
        return true;
    case OPT_DTYPE:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        job->to = dtype_target(choice);
        return job->to_given = true;
    case OPT_TENSOR:
        job->naming.only = arg;
        return true;
    default:
        return job_take(job, option, arg, err);
    }
}

/* The writer that the extension of a path names, or NULL. */
static const struct writer *
writer_of(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    for (size_t i = 0; dot && cli_format_words[i]; i++)
        if (strcasecmp(dot + 1, cli_format_words[i]) == 0)
            return writers[i];
    return NULL;
}

void
options_parse(struct job *job, int argc, char **argv)
{
    *job = (struct job){ .to = DTYPE_BF16 };
    cli_options(&job->cli, CLI_CONVERT, take, job, argc, argv);
    if (!job->writer)
        job->writer = writer_of(job->output.path);
    job_take_output(job);
}
