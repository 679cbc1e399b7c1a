/* list: `amn list`, which lists the models in local stores. */
#ifndef AMN_LIST_H
#define AMN_LIST_H

#include "cli/cli.h"

/* Runs the command; argv[0] is "list". Returns the exit status. */
enum cli_status list_main(int argc, char **argv);

#endif
