/* amn-remember: a quantized model in, the same model in BF16, F16 or F32 safetensors out. */
#include "options.h"

int
main(int argc, char **argv)
{
    struct command cmd;
    cli_start("amn-remember");
    options_parse(&cmd, argc, argv);
    return command_run(&cmd);
}
