/* meta_text: typed metadata as text, for formats that store strings only, and back.
 *
 * A string stays as it is; a number is a decimal that reads back as the same value, or NaN, Infinity or -Infinity; a NaN
 * with other bits than NumPy's is "NaN(ffc00000)", quotes included; a bool is true or false; an array is JSON of such
 * values. Bytes that a JSON string cannot contain are written \xHH, and backslashes then as \\; the type is then "strx".
 *
 * Types are words: u8 .. f64, bool, str, strx; for an array, its element type in brackets, "[u32]", "[[i32]]", or a list if
 * its arrays differ, "[[i32],[str]]"; "[]" is an empty array of arrays.
 */
#ifndef WRITER_META_TEXT_H
#define WRITER_META_TEXT_H

#include "base/pull.h"
#include "base/str.h"
#include "catalog/metadata.h"

/* The key that gives the original types of a file's strings: a JSON object of keys and types. */
#define META_TEXT_TYPES "gguf.types"

/* Append a value, and its type. A few bytes of a file can become a long text (an array of zeros): it is cut at s->max. */
void meta_text(struct str *s, const struct meta_value *value);
void meta_text_type(struct str *s, const struct meta_value *value);

/* Read the next value of `json` (with `words`), or all of text[0..n), as `type`, a C string. Strings and arrays are stored
 * in `bytes`, which must be empty and which the value borrows. On failure, *why is the reason, or NULL for no memory, or
 * more than bytes->max. */
bool meta_read_json(struct meta_value *value, struct str *bytes, const char *type, struct pull *json, const char **why);
bool meta_read_text(struct meta_value *value, struct str *bytes, const char *type, const char *text, size_t n,
    const char **why);

#endif
