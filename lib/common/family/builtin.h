/* builtin: the compiled texts of families/. */
#ifndef FAMILY_BUILTIN_H
#define FAMILY_BUILTIN_H

#include "family/family.h"

struct family_text_file {
    const char *name;           /* without ".family" */
    const char *text;           /* n bytes and a NUL; NULL before it is unpacked */
    size_t n;
    enum family_kind kind;      /* of a fragment: of the families that include it */
};

/* Texts one after the other as a gzip stream, and the place where they are unpacked, all together. */
struct family_text_stream {
    const unsigned char *gzip;
    size_t gzip_n;
    char *texts;
    size_t n;
};

/* family_text_files_n texts, sorted by name; fragments, whose names begin with '_', among them. family_text_streams[kind] has them in
 * this order: a search among image models unpacks 6 of 300 KB. Generated. */
extern struct family_text_file family_text_files[];
extern const size_t family_text_files_n;
extern const struct family_text_stream family_text_streams[FAMILY_KINDS];

/* Returns text i, or NULL after the last. */
const struct family_text_file *family_builtin_at(size_t i);

/* Returns a text, or NULL. */
const struct family_text_file *family_builtin_text(const char *name);

/* Returns true if a family has a class, in `class` or in `outer`. */
bool family_has_class(const char *text, const char *class, size_t n);

/* Returns true if a class decides even if text_config names another one: the argument of an `outer`. */
bool family_is_outer(const char *class, size_t n);

/* Returns true if a family has the towers of a class. */
bool family_has_tower(const char *class, size_t n);

/* Returns the kind of a built-in family; FAMILY_LANGUAGE if there is none of this name. */
enum family_kind family_builtin_kind(const char *name);

/* Returns true if a line of a text has the statement, and word[0..n) among its arguments. Fragments are not read, so it is for
 * `class` and `arch`. */
bool family_declares(const char *text, const char *statement, const char *word, size_t n);

#endif
