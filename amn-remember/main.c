/* amn-remember: a quantized model in, the same model in BF16, F16 or F32 safetensors out. */
#include "options.h"

int
main(int argc, char **argv)
{
    struct job job;
    cli_start("amn-remember");
    options_parse(&job, argc, argv);
    return job_run(&job);
}
