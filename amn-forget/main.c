/* amn-forget: quantizes a model. */
#include "command/command.h"

static bool
forget_take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct command *cmd = own;
    return option->key == CLI_OPT_TO ? command_take_format(cmd, option, arg, err) : command_take(cmd, option, arg, err);
}

int
main(int argc, char **argv)
{
    struct command cmd = { .to = DTYPE_BF16, .needs_scheme = true };
    cli_options(&cmd.cli, CLI_FORGET, forget_take, &cmd, argc, argv);
    return command_run(&cmd);
}
