/* meta_text: typed metadata as text, for a container that has strings only.
 *
 * A string is itself; a number is a decimal form that reads back as the same value; a bool is
 * true or false; an array is JSON. The types of all keys, in order, are the value of one more key,
 * META_TEXT_TYPES, so that the way back loses nothing: "str u32 [str] [[i32]] ...".
 */
#ifndef WRITER_META_TEXT_H
#define WRITER_META_TEXT_H

#include "base/str.h"
#include "catalog/metadata.h"

#define META_TEXT_TYPES "gguf.types"

/* A few bytes of a file can be a long text (an array of zeros): it ends at s->max. */
void meta_text(struct str *s, const struct meta_value *value);

#endif
