/* template: prints a draft of a family file. */
#ifndef AMN_CONVERT_TEMPLATE_H
#define AMN_CONVERT_TEMPLATE_H

#include "command/command.h"

/* Prints the draft for a model directory, and errors as the tool does. Returns the exit status. */
enum cli_status template_run(struct command *cmd, const char *directory);

#endif
