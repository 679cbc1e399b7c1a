/* amn-convert: converts a model to another format, dequantizing it on the way. */
#include "template.h"

/* The command line. */
struct converting {
    struct command cmd;
    const char *family_template;        /* the directory of --family-template, or NULL */
};

static bool
convert_take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct converting *c = own;
    switch (option->key) {
    case CLI_OPT_TO:
        return command_take_format(&c->cmd, option, arg, err);
    case CLI_OPT_TENSOR:
        c->cmd.naming.only = arg;
        return true;
    case CLI_OPT_FAMILY_TEMPLATE:
        c->family_template = arg;
        return true;
    default:
        return command_take(&c->cmd, option, arg, err);
    }
}

int
main(int argc, char **argv)
{
    struct converting c = { .cmd = { .to = DTYPE_BF16 } };
    cli_options(&c.cmd.cli, CLI_CONVERT, convert_take, &c, argc, argv);
    if (c.family_template)
        return template_run(&c.cmd, c.family_template);
    return command_run(&c.cmd);
}
