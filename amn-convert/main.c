/* amn-convert: a model in, the same tensors in another format out; what is quantized is decoded on the way. */
#include "options.h"

int
main(int argc, char **argv)
{
    struct command cmd;
    cli_start("amn-convert");
    options_parse(&cmd, argc, argv);
    return command_run(&cmd);
}
