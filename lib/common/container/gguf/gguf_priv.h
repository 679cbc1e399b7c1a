/* gguf: one GGUF file, of either byte order: its keys and tensors, checked, into the catalog.
 * It knows no other file: the parts of a split model are put together in model/.
 * Begin with gguf.c, the order of things; gguf_kv.c reads keys and gguf_tensors.c tensors. */
#ifndef CONTAINER_GGUF_GGUF_PRIV_H
#define CONTAINER_GGUF_GGUF_PRIV_H

#include "base/cursor.h"
#include "container/container.h"

enum { GGUF_STRING_MAX = 16 << 20 };    /* bytes of a string value */

/* What is odd about a file and no failure: counted, and told once for each kind. */
enum gguf_odd {
    GGUF_ODD_KEY, GGUF_ODD_TEXT, GGUF_ODD_BOOL, GGUF_ODD_NESTED, GGUF_ODD_LONG_NAME, GGUF_ODD_EMPTY_NAME,
    GGUF_ODD_TYPE, GGUF_ODDITIES
};

struct gguf {
    struct catalog *catalog;
    struct source *src;
    const struct limits *limits;
    uint32_t file;
    struct cursor c;            /* on the head of src, which may move: see gguf_need and gguf_at */
    uint64_t charged;           /* bytes of the head that the budget knows of */
    uint64_t size;              /* of the input, SOURCE_SIZE_UNKNOWN until a pipe has ended */
    uint64_t file_size;         /* the same, but a pipe's stays unknown: data may follow what it has shown */

    const char *item;           /* "key" or "tensor", what is being read; NULL in the header */
    uint64_t name_at, name_len; /* where its name lies in the file; 0: not known */
    uint64_t index;

    /* What the keys said. */
    uint64_t alignment;
    bool split_no_given, split_count_given;
    uint64_t split_no, split_count;

    struct {
        uint64_t count;
        uint64_t name_at, name_len;     /* of the first item that had it */
    } odd[GGUF_ODDITIES];
};

/* Make n more bytes visible to g->c, reading on when needed, which may move the head. Fewer in the file:
 * ERR_MALFORMED. */
bool gguf_need(struct gguf *g, uint64_t n, struct err *err);

/* The bytes at an offset in the file that g->c has passed. Borrowed until the next gguf_need. */
const char *gguf_at(const struct gguf *g, uint64_t at);

/* A string of at most `max` bytes; `what` names it in a failure. Borrowed until the next gguf_need. */
bool gguf_string(struct gguf *g, const char *what, uint64_t max, const char **p, uint64_t *n, struct err *err);

/* err_set, with the item that is being read in front. */
bool gguf_fail(const struct gguf *g, struct err *err, enum err_kind kind, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Count one oddity of the current item. */
void gguf_odd(struct gguf *g, enum gguf_odd which);

/* The steps of reading. Keys: validate, note what the container needs, add to the catalog. */
bool gguf_read_keys(struct gguf *g, uint64_t count, struct err *err);
/* Tensors: validate each, then how they lie in the data, add to the catalog. */
bool gguf_read_tensors(struct gguf *g, uint64_t count, struct err *err);

#endif
