/* The command line of amn-forget. */
#ifndef AMN_CONVERT_OPTIONS_H
#define AMN_CONVERT_OPTIONS_H

#include "job/job.h"

/* Parse the command line; ends the process for --help, --version and usage errors. */
void options_parse(struct job *job, int argc, char **argv);

#endif
