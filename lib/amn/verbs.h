/* verbs: what can follow `amn`, and where the programs for it lie: a tool of the suite, or any other amn-VERB. This folder is
 * the front, one program that knows how the tools are called and nothing of what they do: only `amn list` opens models.
 * Begin with main.c; then here, manual.h (`amn help`), list.h. */
#ifndef AMN_VERBS_H
#define AMN_VERBS_H

#include "base/names.h"
#include "base/str.h"
#include "cli/tools.h"

/* The folder that this program really lies in, behind every symbolic link of its own name. The caller frees it; NULL when it
 * cannot be told, which is no failure. ERR_MEMORY. */
bool verbs_folder(char **folder, const char *argv0, struct err *err);

/* The path of a program: in `folder`, unless that is NULL, else in PATH. False when there is none, and without memory, with
 * ERR_MEMORY. */
bool verbs_program(struct str *file, const char *folder, const char *name, struct err *err);

/* The same of amn-VERB. A verb is of a-z, 0-9 and -; nothing else has a program. */
bool verbs_find(struct str *file, const char *folder, const char *verb, struct err *err);

/* What a tool is called as a verb: "inspect" of "amn-inspect", "list" of "amn list". */
const char *verbs_word(const char *tool);

/* The tool of a verb, by either of its names, or NULL. */
const struct cli_tool *verbs_tool(const char *verb);

/* Add the verbs that are not ours and that there is a program for. */
bool verbs_others(struct names *others, const char *folder, struct err *err);

/* Add all words that may be a verb: those of the tools, help, and the others. */
bool verbs_all(struct names *words, const char *folder, struct err *err);

#endif
