/* vocabulary: the names that options take, one line each: for `amn list` and --scheme help. */
#ifndef COMMAND_VOCABULARY_H
#define COMMAND_VOCABULARY_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* Returns true if `word` is schemes, dtypes, formats, families or classes. */
bool vocabulary_has(const char *word);

/* Prints the line of one model class, as `classes` has it. Fails with ERR_UNSUPPORTED, and the nearest classes, for an unknown one. */
bool vocabulary_print_class(FILE *out, const char *class, bool json, struct err *err);

/* Prints the names as a table, or as JSON, one object per line (amn-json(5)). Fails with ERR_MEMORY. */
bool vocabulary_print(FILE *out, const char *word, bool json, struct err *err);

#endif
