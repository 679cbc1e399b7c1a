/* amn-convert: converts a model to another format, dequantizing it on the way. */
#include "command/command.h"

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct command *cmd = own;
    switch (option->key) {
    case CLI_OPT_TO:
        return command_take_format(cmd, option, arg, err);
    case CLI_OPT_TENSOR:
        cmd->naming.only = arg;
        return true;
    default:
        return command_take(cmd, option, arg, err);
    }
}

int
main(int argc, char **argv)
{
    struct command cmd = { .to = DTYPE_BF16 };
    cli_options(&cmd.cli, CLI_CONVERT, take, &cmd, argc, argv);
    return command_run(&cmd);
}
