/* keys: the metadata of an output: those of the input that are still true, and what the command line says. Made once, for
 * all files of the output; a writer lays them out.
 */
#ifndef WRITER_KEYS_H
#define WRITER_KEYS_H

#include "base/names.h"
#include "base/table.h"
#include "plan/choice.h"

enum { KEYS_QUANTIZATION_VERSION = 2 };     /* GGML_QNT_VERSION of ggml.h */

/* What a format has for metadata: nothing; strings; values with types. */
enum keys_kind { KEYS_NONE, KEYS_TEXT, KEYS_TYPED };

/* What the command line says. Zeroed: nothing. */
struct keys_given {
    bool none;                  /* nothing of the input's */
    struct names text, typed;   /* KEY=VALUE, good: for KEYS_TEXT, and for KEYS_TYPED; owned */
    const struct keys *own;     /* what is known of the model instead of the metadata of its files, or NULL; borrowed */
    const struct str *quantization;     /* what the files of the output say of their weights, or NULL; borrowed */
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

/* Put a value under a key, in the place of one that is there. Both are borrowed. */
bool keys_set(struct keys *keys, const char *key, size_t n, const struct meta_value *value, struct err *err);

/* Keep what was made for a value: *s is empty afterwards. */
bool keys_own(struct keys *keys, struct str *s, struct err *err);

/* Put a value under a key "prefix.key", or "key" when prefix is NULL, which is copied. Text is copied too. `bytes` of an
 * array of `count` elements, as they lie in a GGUF file, are taken over: *bytes is empty afterwards, also after a
 * failure. */
bool keys_put(struct keys *keys, const char *prefix, const char *key, const struct meta_value *value, struct err *err);
bool keys_put_u32(struct keys *keys, const char *prefix, const char *key, uint32_t n, struct err *err);
bool keys_put_i32(struct keys *keys, const char *prefix, const char *key, int32_t n, struct err *err);
bool keys_put_f32(struct keys *keys, const char *prefix, const char *key, float x, struct err *err);
bool keys_put_bool(struct keys *keys, const char *prefix, const char *key, bool yes, struct err *err);
bool keys_put_text(struct keys *keys, const char *prefix, const char *key, const char *p, size_t n, struct err *err);
bool keys_put_array(struct keys *keys, const char *prefix, const char *key, enum meta_type type, uint64_t count,
    struct str *bytes, struct err *err);

/* The value of a key, or NULL. */
const struct meta_value *keys_find(const struct keys *keys, const char *key);

#endif
