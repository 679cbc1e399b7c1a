/* builtin: the compiled texts of families/. */
#ifndef FAMILY_BUILTIN_H
#define FAMILY_BUILTIN_H

#include "family/family.h"

struct family_text_file {
    const char *name;           /* without ".family" */
    const char *text;           /* n bytes and a NUL */
    size_t n;
};

/* family_text_files_n texts, sorted by name; fragments, whose names begin with '_', among them. The texts are one gzip stream, each
 * with its NUL, that is unpacked into family_texts before the first is returned: until then `text` is NULL. Generated. */
extern struct family_text_file family_text_files[];
extern const size_t family_text_files_n;
extern const unsigned char family_texts_gzip[];
extern const size_t family_texts_gzip_n;
extern char family_texts[];
extern const size_t family_texts_n;

/* Returns text i, or NULL after the last. */
const struct family_text_file *family_builtin_at(size_t i);

/* Returns a text, or NULL. */
const struct family_text_file *family_builtin_text(const char *name);

/* Returns true if a line of a text has the statement, and word[0..n) among its arguments. Fragments are not read, so it is for
 * `class` and `arch`. */
bool family_declares(const char *text, const char *statement, const char *word, size_t n);

#endif
