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
    case OPT_SCAN:
        return opt->scan = true;
    case OPT_ARRAYS:
        return opt->arrays = true;
    default:
        if (!cli_choice(&choice, option, arg, err))
            return false;
        opt->to = dtype_target(choice);
        return opt->size = true;
    }
}

bool
options_check(const struct options *opt, struct err *err)
{
    return !opt->scan || !(opt->metadata || opt->arrays || opt->size || opt->cli.scheme || opt->cli.config || opt->cli.root)
        || err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--scan looks at pickles, not at the model: --metadata, --arrays, --to, "
            "--scheme, --config and --root do not go with it");
}

void
options_parse(struct options *opt, int argc, char **argv)
{
    *opt = (struct options){ .to = DTYPE_BF16 };
    cli_options(&opt->cli, CLI_INSPECT, take, opt, argc, argv);
}
