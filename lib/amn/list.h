/* list: `amn list`, the models of the local stores. */
#ifndef AMN_LIST_H
#define AMN_LIST_H

/* The tool; argv[0] is "list". Returns the exit status. */
int list_main(int argc, char **argv);

#endif
