/* amn-forget: a model in, the same with less precision out. */
#include "options.h"

int
main(int argc, char **argv)
{
    struct command cmd;
    cli_start("amn-forget");
    options_parse(&cmd, argc, argv);
    return command_run(&cmd);
}
