/* verbs: the commands of `amn` and where their programs are: the tools of the suite, and any other amn-VERB in PATH. The
 * program in this folder knows how the tools are called, not what they do; only `amn list` opens models. Read main.c first,
 * then this header, manual.h (`amn help`) and list.h. */
#ifndef AMN_VERBS_H
#define AMN_VERBS_H

#include "base/names.h"
#include "base/str.h"
#include "cli/tools.h"

/* Finds the folder of this program after resolving symbolic links. The caller frees it; NULL if it is unknown, which is not
 * a failure. Fails with ERR_MEMORY. */
bool verbs_folder(char **folder, const char *argv0, struct err *err);

/* Finds a program in `folder`, unless that is NULL, then in PATH, and sets *file to its path. Returns false if there is
 * none, with ERR_OPEN if a folder cannot be accessed and ERR_MEMORY if memory is exhausted. */
bool verbs_program(struct str *file, const char *folder, const char *name, struct err *err);

/* Finds the program amn-VERB in the same way. A verb consists of a-z, 0-9 and -. */
bool verbs_find(struct str *file, const char *folder, const char *verb, struct err *err);

/* Returns the verb of a tool: "inspect" for "amn-inspect", "list" for "amn list". */
const char *verbs_word(const char *tool);

/* Returns the tool for a verb, which may be its second name; or NULL. */
const struct cli_tool *verbs_tool(const char *verb);

/* Returns the short form with this verb, or NULL. */
const struct cli_verb *verbs_form(const char *verb);

/* Adds the verbs of programs that are not part of the suite. */
bool verbs_others(struct names *others, const char *folder, struct err *err);

/* Adds all verbs: the tools of the suite, help, and the others. */
bool verbs_all(struct names *words, const char *folder, struct err *err);

#endif
