/* vocabulary: the names that options take, one line each: for `amn list` and --scheme help. */
#ifndef COMMAND_VOCABULARY_H
#define COMMAND_VOCABULARY_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* Returns true if `word` is schemes, dtypes, formats or families. */
bool vocabulary_has(const char *word);

/* Prints the names as a table, or as JSON, one object per line (amn-json(5)). Fails with ERR_MEMORY. */
bool vocabulary_print(FILE *out, const char *word, bool json, struct err *err);

#endif
