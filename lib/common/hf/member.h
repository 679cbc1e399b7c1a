/* member: values of the JSON files of a model, as slices of their text. Files are walked instead of parsed into a tree, so
 * only strings that a caller asks for use memory. */
#ifndef HF_MEMBER_H
#define HF_MEMBER_H

#include "base/err.h"
#include "base/pull.h"
#include "hf/folder.h"

/* The text of a value; p is NULL if it is missing. */
struct hf_value {
    const char *file;           /* "config.json"; static */
    const char *name;           /* name of the member, for messages; static */
    const char *p;              /* borrowed */
    size_t n;
    uint64_t at;                /* offset in the file */
};

/* n bytes without a trailing NUL; p is NULL for no string. */
struct hf_string {
    const char *p;              /* borrowed */
    size_t n;
};

/* Holds unescaped strings. A zeroed struct is empty. */
struct hf_chars {
    struct hf_chunk *newest;    /* owned */
};

void hf_chars_clear(struct hf_chars *chars);

/* Returns n bytes that are valid until hf_chars_clear(), or NULL with ERR_MEMORY. */
char *hf_chars_room(struct hf_chars *chars, size_t n, struct err *err);

/* Unescapes a string token of pull_next(). Fails only with ERR_MEMORY. */
bool hf_string_of(struct hf_string *out, struct hf_chars *chars, const struct pull_text *text, struct err *err);

bool hf_string_is(const struct hf_string *s, const char *plain);
bool hf_strings_equal(const struct hf_string *a, const struct hf_string *b);

/* Sets *out to the whole file. Fails with ERR_MALFORMED unless the file is one valid JSON object. A missing file is a
 * missing value. */
bool hf_value_file(struct hf_value *out, const struct hf_text *file, struct err *err);

/* Returns the type of a value as its first token: PULL_NULL, PULL_TRUE ..., PULL_END if it is missing. */
enum pull_token hf_value_kind(const struct hf_value *value);

/* Starts reading a value that is not missing. */
void hf_value_pull(struct pull *json, const struct hf_value *value);

/* Finds the members of an object by name. All are missing if the object is missing or null. Fails with ERR_MALFORMED for
 * another type or a duplicate member. */
bool hf_value_members(struct hf_value *out, const char *const *names, size_t n, const struct hf_value *object,
    struct err *err);

/* Reads a string. *out is empty if the value is missing or null; ERR_MALFORMED for other types. */
bool hf_value_string(struct hf_string *out, struct hf_chars *chars, const struct hf_value *value, struct err *err);

/* Reads true or false. Returns `otherwise` in *out if the value is missing or null; ERR_MALFORMED for other types. */
bool hf_value_bool(bool *out, const struct hf_value *value, bool otherwise, struct err *err);

/* Reads an integer that is not negative. Fails with ERR_MALFORMED for anything else, and for a missing value. */
bool hf_value_u64(uint64_t *n, const struct hf_value *value, struct err *err);

/* Starts reading an array. Fails with ERR_MALFORMED for anything else. */
bool hf_array_begin(struct pull *json, const struct hf_value *array, struct err *err);

/* Reads the next value of the array; sets *end after the last. */
bool hf_array_next(struct hf_value *one, bool *end, struct pull *json, const struct hf_value *array, struct err *err);

/* Sets ERR_MALFORMED, "FILE: NAME is not EXPECTED", and returns false. `expected` is like "a string". */
bool hf_value_wrong(const struct hf_value *value, const char *expected, struct err *err);

/* Sets ERR_MALFORMED for the syntax error of `json`, or, if there is none, for an unexpected token. Returns false. */
bool hf_value_fault(const struct pull *json, const struct hf_value *value, const char *expected, struct err *err);

#endif
