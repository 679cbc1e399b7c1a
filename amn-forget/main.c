/* amn-forget: a model in, the same with less precision out. */
#include "options.h"

int
main(int argc, char **argv)
{
    struct job job;
    cli_start("amn-forget");
    options_parse(&job, argc, argv);
    return job_run(&job);
}
