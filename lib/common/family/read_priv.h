/* read_priv: the reader of family files: one line as words (read.c), statements (statement.c), tensor rows (row.c), and the
 * checks of a whole family (check.c). */
#ifndef FAMILY_READ_PRIV_H
#define FAMILY_READ_PRIV_H

#include "base/array.h"
#include "base/table.h"
#include "family/expr_priv.h"

enum {
    FAMILY_LINE = 4096,         /* bytes of a line */
    FAMILY_TEXT = 1 << 20,      /* bytes of a file */
    FAMILY_INCLUDES = 4,        /* includes inside each other */
    FAMILY_STATEMENTS = 8192,   /* of a family with its fragments */
    FAMILY_NAME = 64            /* bytes of the name of a let, with its NUL */
};

/* Memory that is freed all at once. */
struct family_chunk;

struct family_owner {
    struct model_family family; /* first, so that family_free() finds the owner */
    struct family_chunk *newest;
    struct expr **exprs;        /* nexprs of them; owned, with the array */
    size_t nexprs, room;
};

struct family_word {
    const char *p;              /* n bytes of the line */
    size_t n;
};

struct family_reader {
    struct family_owner *owner;
    struct model_family *family;
    family_include *include;
    void *include_of;
    struct err *err;

    struct family_word word[FAMILY_LINE / 2];   /* nwords words of the statement without `when` */
    size_t nwords;
    struct family_word rest;    /* the expression after `when`; p NULL: none */
    const char *where;          /* "FILE:LINE" of the statement */
    const char *file[FAMILY_INCLUDES + 1];      /* files being read, nfiles of them; names of fragments after the first */
    size_t nfiles;
    size_t statements;
    bool fragment;              /* the file being read is a fragment */
    struct table lets;
    void *grown;                /* of FAMILY_ADD */
};

/* Returns n bytes, aligned for any type and zeroed, that live as long as the family. NULL with ERR_MEMORY. */
void *family_alloc(struct family_owner *owner, size_t n, struct err *err);

/* Returns a copy of text, NUL-terminated. */
const char *family_copy(struct family_reader *r, const char *p, size_t n);

/* The places of a list of n elements, as array_grow() has made them. */
size_t family_room(size_t n);

/* Appends an element to a FAMILY_LIST. False with ERR_MEMORY. */
#define FAMILY_ADD(r, list, ...) \
    (((r)->grown = array_grow((list).at, (list).n, &(size_t){ family_room((list).n) }, sizeof *(list).at, (r)->err)) != NULL \
        && ((list).at = (r)->grown, (list).at[(list).n++] = (__VA_ARGS__), true))

/* Fails with ERR_MALFORMED: "FILE:LINE: found FOUND, expected EXPECTED". found[0..n) is quoted and escaped. */
bool family_expected(struct family_reader *r, const char *found, size_t n, const char *expected);

/* Fails with ERR_MALFORMED: the word of a statement or a verb has n arguments, not `fewest` to `most`. */
bool family_miscounted(struct family_reader *r, const char *word, size_t n, size_t fewest, size_t most);

/* Reads an expression that the family owns. */
bool family_expr(struct family_reader *r, struct expr **e, const char *p, size_t n);

/* Reads the words from `first` on as one expression. */
bool family_words_expr(struct family_reader *r, struct expr **e, size_t first);

bool family_word_is(const struct family_reader *r, size_t i, const char *text);

/* Reads a string in double quotes. */
bool family_string(struct family_reader *r, const char **out, size_t word);

/* Executes the statement of the words. */
bool family_statement(struct family_reader *r);

/* Reads "tensor HF GGUF [parts]". */
bool family_tensor(struct family_reader *r, struct expr *when);

/* Frees the lists of an image family; accepts NULL. */
void family_free_image(struct family_image *image);

/* Statements of `kind image`, with `kind` itself. */
bool family_run_kind(struct family_reader *r, struct expr *when);
bool family_run_detect(struct family_reader *r, struct expr *when);
bool family_run_prefix(struct family_reader *r, struct expr *when);
bool family_run_texts(struct family_reader *r, struct expr *when);
bool family_run_blocks(struct family_reader *r, struct expr *when);
bool family_run_number(struct family_reader *r, struct expr *when);

/* Reads a fragment. */
bool family_read_include(struct family_reader *r, const char *name);

/* Checks a family that was read to its end. */
bool family_check(struct family_reader *r);

#endif
