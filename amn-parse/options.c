#include "options.h"

#include "cli/options.h"

void
options_parse(struct options *opt, int argc, char **argv)
{
    static const struct cli_spec spec = {
        .tool = "amn-parse",
        .operands = "[FILE]",
        .summary = "List every tensor of a model file, one JSON object a line.",
        .max_operands = 1,
        .forms = true,
    };
    cli_options(&opt->cli, &spec, NULL, argc, argv);
}
