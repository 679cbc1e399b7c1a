/* meta_text: typed metadata as text, for a container that has strings only, and back.
 *
 * A string is itself; a number is a decimal form that reads back as the same value, NaN, Infinity or -Infinity; a NaN of
 * other bits than numpy's is "NaN(ffc00000)", quotes included; a bool is true or false; an array is JSON with such words.
 * What a string of JSON cannot hold is written \xHH, byte by byte, and a backslash beside it \\; its type is then "strx".
 *
 * Types are words: u8 .. f64, bool, str, strx; of an array that of its elements, "[u32]", "[[i32]]", or of arrays that
 * differ a list, "[[i32],[str]]"; "[]" is an array of no arrays.
 */
#ifndef WRITER_META_TEXT_H
#define WRITER_META_TEXT_H

#include "base/pull.h"
#include "base/str.h"
#include "catalog/metadata.h"

/* The key that tells which keys of a file of strings stand for other types: a JSON object of key and type. */
#define META_TEXT_TYPES "gguf.types"

/* A few bytes of a file can be a long text (an array of zeros): it ends at s->max. */
void meta_text(struct str *s, const struct meta_value *value);
void meta_text_type(struct str *s, const struct meta_value *value);

/* The next value of `json` (with `words`), or all of text[0..n), as `type`, a C string. Strings and arrays lie in `bytes`,
 * which comes empty, and which the value borrows. Else false, and *why says what is wrong; NULL: no
 * memory, or more than bytes->max. */
bool meta_read_json(struct meta_value *value, struct str *bytes, const char *type, struct pull *json, const char **why);
bool meta_read_text(struct meta_value *value, struct str *bytes, const char *type, const char *text, size_t n,
    const char **why);

#endif
