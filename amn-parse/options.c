#include "options.h"

#include "cli/options.h"

void
options_parse(struct options *opt, int argc, char **argv)
{
    cli_options(&opt->cli, CLI_PARSE, NULL, NULL, argc, argv);
}
