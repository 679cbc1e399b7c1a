/* keys: the metadata of an output: the input's keys that are still true, and the keys of the command line. Made once for all
 * files of the output; a writer lays them out. */
#ifndef WRITER_KEYS_H
#define WRITER_KEYS_H

#include "base/names.h"
#include "base/table.h"
#include "plan/choice.h"

enum { KEYS_QUANTIZATION_VERSION = 2 };     /* GGML_QNT_VERSION of ggml.h */

/* The kind of metadata that a format can store: none, strings, or typed values. */
enum keys_kind { KEYS_NONE, KEYS_TEXT, KEYS_TYPED };

/* Metadata options of the command line. Zeroed: none. */
struct keys_given {
    bool none;                  /* drop the input's metadata */
    struct names text, typed;   /* checked KEY=VALUE: for KEYS_TEXT, for KEYS_TYPED; owned */
    struct names unset;         /* keys that a KEYS_TYPED output does not get; owned */
    const struct keys *own;     /* replaces the metadata of the model's files; may be NULL; borrowed */
    const struct keys *job;     /* of this job, before those of the command line; may be NULL; borrowed */
    const struct str *quantization;     /* description of the quantization for the output files, or NULL; borrowed */
    const char *path;           /* file with a JSON object, for KEYS_TYPED, or NULL; borrowed */
    const char *json;           /* its text, njson bytes; borrowed while keys_make() runs */
    size_t njson;
};

/* Zeroed: none. Clear with keys_clear(), even after a failure. */
struct keys {
    struct meta *list;          /* n of them, keys are unique; owned. Strings are borrowed from their sources */
    size_t n, room;
    struct table names;
    struct names owned;         /* strings made here */
    size_t max;                 /* largest allocation for a value */
};

/* Adds a KEY=VALUE argument. Fails with ERR_USAGE, naming `option`, if it has another form or the key may not be set. */
bool keys_give(struct keys_given *given, enum keys_kind kind, const char *option, const char *arg, struct err *err);

/* Adds a key to leave out. Fails with ERR_USAGE, naming `option`, if no file may have it. */
bool keys_unset(struct keys_given *given, const char *option, const char *key, struct err *err);
void keys_given_clear(struct keys_given *given);

/* Makes the metadata of an output for a writer of this kind. Strings of the input get back the types that META_TEXT_TYPES
 * declares. Fails with ERR_MALFORMED, naming the key, if they do not fit, or if the given JSON is wrong; and
 * with ERR_USAGE if the text of a KEY=VALUE does not have the type of the key, or if a key to leave out does not exist. */
bool keys_make(struct keys *keys, enum keys_kind kind, const struct keys_given *given, const struct choice *choice,
    struct err *err);
void keys_clear(struct keys *keys);

/* Sets a key, replacing any earlier value. Key and value are borrowed. */
bool keys_set(struct keys *keys, const char *key, size_t n, const struct meta_value *value, struct err *err);

/* Takes ownership of the text of *s, which is empty afterwards. */
bool keys_own(struct keys *keys, struct str *s, struct err *err);

/* Set the key "prefix.key", or "key" if prefix is NULL; key and text are copied. keys_put_array() takes ownership of
 * `bytes`, the `count` elements as stored in a GGUF file; *bytes is empty afterwards, even after a failure. */
bool keys_put(struct keys *keys, const char *prefix, const char *key, const struct meta_value *value, struct err *err);
bool keys_put_u32(struct keys *keys, const char *prefix, const char *key, uint32_t n, struct err *err);
bool keys_put_i32(struct keys *keys, const char *prefix, const char *key, int32_t n, struct err *err);
bool keys_put_f32(struct keys *keys, const char *prefix, const char *key, float x, struct err *err);
bool keys_put_bool(struct keys *keys, const char *prefix, const char *key, bool yes, struct err *err);
bool keys_put_text(struct keys *keys, const char *prefix, const char *key, const char *p, size_t n, struct err *err);
bool keys_put_array(struct keys *keys, const char *prefix, const char *key, enum meta_type type, uint64_t count,
    struct str *bytes, struct err *err);

/* Returns the value of a key, or NULL. */
const struct meta_value *keys_find(const struct keys *keys, const char *key);

#endif
