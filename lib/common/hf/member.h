/* member: values of the JSON files beside a model, as the texts that they have: a file is walked, never made into
 * a tree, so that what it costs are the strings that somebody asks for. */
#ifndef HF_MEMBER_H
#define HF_MEMBER_H

#include "base/err.h"
#include "base/pull.h"
#include "hf/folder.h"

/* The text of a value; p is NULL when it is not there. */
struct hf_value {
    const char *file;           /* "config.json"; static */
    const char *name;           /* of the member it is, for messages; static */
    const char *p;              /* borrowed */
    size_t n;
    uint64_t at;                /* offset in the file */
};

/* n bytes, no NUL behind them; p is NULL for none. */
struct hf_string {
    const char *p;              /* borrowed */
    size_t n;
};

/* The strings that had escapes. Zeroed: none. */
struct hf_chars {
    struct hf_chunk *newest;    /* owned */
};

void hf_chars_clear(struct hf_chars *chars);

/* Room for n bytes until hf_chars_clear(), or NULL and ERR_MEMORY. */
char *hf_chars_room(struct hf_chars *chars, size_t n, struct err *err);

/* The characters of a string that pull_next() gave. ERR_MEMORY. */
bool hf_string_of(struct hf_string *out, struct hf_chars *chars, const struct pull_text *text, struct err *err);

bool hf_string_is(const struct hf_string *s, const char *plain);
bool hf_strings_equal(const struct hf_string *a, const struct hf_string *b);

/* The whole of a file, a JSON object: what is wrong anywhere in it is ERR_MALFORMED. One that is not there is a
 * value that is not. */
bool hf_value_file(struct hf_value *out, const struct hf_text *file, struct err *err);

/* What begins there: PULL_END when it is not there, PULL_NULL, PULL_TRUE ... */
enum pull_token hf_value_kind(const struct hf_value *value);

/* Begin to read a value that is there. */
void hf_value_pull(struct pull *json, const struct hf_value *value);

/* The members with these names of an object, or of what is not there or null: then none is. Any other value, or a name
 * twice, is ERR_MALFORMED. */
bool hf_value_members(struct hf_value *out, const char *const *names, size_t n, const struct hf_value *object,
    struct err *err);

/* A string; *out is none when the value is not there or null. Anything else is ERR_MALFORMED. */
bool hf_value_string(struct hf_string *out, struct hf_chars *chars, const struct hf_value *value, struct err *err);

/* True or false; `otherwise` when the value is not there or null. Anything else is ERR_MALFORMED. */
bool hf_value_bool(bool *out, const struct hf_value *value, bool otherwise, struct err *err);

/* An integer that is not negative. Anything else, and a value that is not there, is ERR_MALFORMED. */
bool hf_value_u64(uint64_t *n, const struct hf_value *value, struct err *err);

/* Begins to read an array; anything else is ERR_MALFORMED. */
bool hf_array_begin(struct pull *json, const struct hf_value *array, struct err *err);

/* Reads its next value; sets *end after the last. */
bool hf_array_next(struct hf_value *one, bool *end, struct pull *json, const struct hf_value *array, struct err *err);

/* ERR_MALFORMED: the value is not what it should be, "a string". False. */
bool hf_value_wrong(const struct hf_value *value, const char *expected, struct err *err);

/* ERR_MALFORMED for the fault of `json`, or for a token that is not what was expected. False. */
bool hf_value_fault(const struct pull *json, const struct hf_value *value, const char *expected, struct err *err);

#endif
