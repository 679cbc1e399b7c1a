/* The command line of amn-convert. */
#ifndef AMN_CONVERT_OPTIONS_H
#define AMN_CONVERT_OPTIONS_H

#include "command/command.h"

/* Parse the command line; ends the process for --help, --version and usage errors. */
void options_parse(struct command *cmd, int argc, char **argv);

#endif
