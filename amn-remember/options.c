#include "options.h"

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct command *cmd = own;
    unsigned choice;
    switch (option->key) {
    case OPT_TO:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        cmd->to = dtype_target(choice);
        return true;
    default:
        return command_take(cmd, option, arg, err);
    }
}

void
options_parse(struct command *cmd, int argc, char **argv)
{
    *cmd = (struct command){ .writer = &writer_safetensors, .to = DTYPE_BF16 };
    cli_options(&cmd->cli, CLI_REMEMBER, take, cmd, argc, argv);
    command_take_output(cmd);
}
