/* list: `amn list`, the models of the local stores. */
#ifndef AMN_LIST_H
#define AMN_LIST_H

#include "cli/cli.h"

/* The tool; argv[0] is "list". Returns the exit status. */
enum cli_status list_main(int argc, char **argv);

#endif
