/* amn-remember: dequantizes a model to BF16, F16 or F32 safetensors. */
#include <strings.h>

#include "command/command.h"

static bool
remember_take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct command *cmd = own;
    unsigned choice;
    if (option->key != CLI_OPT_TO)
        return command_take(cmd, option, arg, err);
    if (command_is_format(arg))
        return strcasecmp(arg, "safetensors") == 0 || err_set(err, ERR_USAGE, "--to %s: amn-remember writes "
            "safetensors; use amn-convert --to %s", arg, arg);
    if (!cli_choice(&choice, option, arg, err))
        return false;
    cmd->to = dtype_target(choice);
    return true;
}

int
main(int argc, char **argv)
{
    struct command cmd = { .format = &writer_safetensors, .to = DTYPE_BF16, .dequantizes = true };
    cli_options(&cmd.cli, CLI_REMEMBER, remember_take, &cmd, argc, argv);
    return command_run(&cmd);
}
