#include "options.h"

#include "cli/options.h"

enum { OPT_ARRAYS = CLI_LONG };

static const struct cli_option table[] = {
    { OPT_ARRAYS, "arrays", NULL, "long arrays of the metadata in full" },
    { 0, NULL, NULL, NULL }
};

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct options *opt = own;
    (void)option, (void)arg, (void)err;
    opt->arrays = true;
    return true;
}

void
options_parse(struct options *opt, int argc, char **argv)
{
    static const struct cli_spec spec = {
        .tool = "amn-inspect",
        .operands = "[FILE]",
        .summary = "Say what a model file is, how it is quantized, and what that took from it.",
        .options = table,
        .take = take,
        .max_operands = 1,
        .forms = true,
    };
    *opt = (struct options){ 0 };
    cli_options(&opt->cli, &spec, opt, argc, argv);
}
