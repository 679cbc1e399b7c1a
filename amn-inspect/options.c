#include "options.h"

#include "cli/options.h"

enum { OPT_ARRAYS = CLI_LONG, OPT_TO };

static const struct cli_option table[] = {
    { OPT_ARRAYS, "arrays", NULL, "long arrays of the metadata in full" },
    { OPT_TO, "to", "DTYPE", "size of the model in bf16 (default), f16 or f32" },
    { 0, NULL, NULL, NULL }
};

static bool
take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct options *opt = own;
    unsigned choice;
    if (option->key == OPT_ARRAYS)
        return opt->arrays = true;
    if (!cli_choice(&choice, option, arg, dtype_targets, err))
        return false;
    opt->to = dtype_target(choice);
    return opt->size = true;
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
    *opt = (struct options){ .to = DTYPE_BF16 };
    cli_options(&opt->cli, &spec, opt, argc, argv);
}
