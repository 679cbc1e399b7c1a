#include "options.h"

#include "cli/options.h"

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct options *opt = own;
    unsigned choice;
    switch (option->key) {
    case OPT_METADATA:
        return opt->metadata = true;
    case OPT_ARRAYS:
        return opt->arrays = true;
    default:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        opt->to = dtype_target(choice);
        return opt->size = true;
    }
}

void
options_parse(struct options *opt, int argc, char **argv)
{
    *opt = (struct options){ .to = DTYPE_BF16 };
    cli_options(&opt->cli, CLI_INSPECT, take, opt, argc, argv);
}
