/* keys: the metadata of an output: those of the input that are still true, and what the command line says. Made once, for
 * all files of the output; a writer lays them out.
 */
#ifndef WRITER_KEYS_H
#define WRITER_KEYS_H

#include "base/names.h"
#include "base/table.h"
#include "plan/choice.h"

/* What a format has for metadata: nothing; strings; values with types. */
enum keys_kind { KEYS_NONE, KEYS_TEXT, KEYS_TYPED };

/* What the command line says. Zeroed: nothing. */
struct keys_given {
    bool none;                  /* nothing of the input's */
    struct names text, typed;   /* KEY=VALUE, good: for KEYS_TEXT, and for KEYS_TYPED; owned */
    const char *path;           /* of a JSON object, for KEYS_TYPED, or NULL; borrowed */
    const char *json;           /* its text, njson bytes; borrowed while keys_make() runs */
    size_t njson;
};

/* Zeroed: none. Clear with keys_clear, after a failure too. */
struct keys {
    struct meta *list;          /* n of them, each key once; owned. Strings are borrowed from all that they were made of */
    size_t n, room;
    struct table names;
    struct names owned;         /* what was made */
    size_t max;                 /* largest allocation for a value */
};

/* One more KEY=VALUE: ERR_USAGE, naming `option`, when it is none or no key that may be given. */
bool keys_give(struct keys_given *given, enum keys_kind kind, const char *option, const char *arg, struct err *err);
void keys_given_clear(struct keys_given *given);

/* Make the metadata of an output, for the writer with these. Types that META_TEXT_TYPES has of the input are given back to
 * its strings: ERR_MALFORMED, naming the key, when they do not fit. So is what is wrong with the file that was given. */
bool keys_make(struct keys *keys, enum keys_kind kind, const struct keys_given *given, const struct choice *choice,
    struct err *err);
void keys_clear(struct keys *keys);

/* The value of a key, or NULL. */
const struct meta_value *keys_find(const struct keys *keys, const char *key);

#endif
