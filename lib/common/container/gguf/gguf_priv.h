/* gguf: reads the keys and tensor infos of one GGUF file, of either byte order, checks them, and adds them to the catalog.
 * It knows no other file: model/ combines the parts of a split model. Begin with gguf.c, the sequence of steps; gguf_kv.c
 * reads keys and gguf_tensors.c tensor infos. */
#ifndef CONTAINER_GGUF_GGUF_PRIV_H
#define CONTAINER_GGUF_GGUF_PRIV_H

#include "base/cursor.h"
#include "container/container.h"

enum { GGUF_STRING_MAX = 16 << 20 };    /* bytes of a string value */

/* Oddities that are not errors: counted, and reported once per kind. */
enum gguf_odd {
    GGUF_ODD_KEY, GGUF_ODD_TEXT, GGUF_ODD_BOOL, GGUF_ODD_NESTED, GGUF_ODD_LONG_NAME, GGUF_ODD_EMPTY_NAME,
    GGUF_ODD_TYPE, GGUF_ODDITIES
};

struct gguf {
    struct catalog *catalog;
    struct source *src;
    const struct limits *limits;
    uint32_t file;
    struct cursor c;            /* over the head of src, which may move: see gguf_need and gguf_at */
    uint64_t charged;           /* bytes of the head already charged to the budget */
    uint64_t size;              /* of the input; SOURCE_SIZE_UNKNOWN until a pipe ends */
    uint64_t file_size;         /* like size, but stays unknown for a pipe: data may follow what was read */

    const char *item;           /* "key" or "tensor", the kind being read; NULL in the header */
    uint64_t name_at, name_len; /* file offset and bytes of its name; 0: not known yet */
    uint64_t index;

    /* Taken from the keys. */
    uint64_t alignment;
    bool split_no_given, split_count_given;
    uint64_t split_no, split_count;

    struct {
        uint64_t count;
        uint64_t name_at, name_len;     /* of the first item that has it */
    } odd[GGUF_ODDITIES];
};

/* Makes the next n bytes visible to g->c. May read on, which may move the head. Fails with ERR_MALFORMED if the file has
 * fewer. */
bool gguf_need(struct gguf *g, uint64_t n, struct err *err);

/* Returns the bytes at a file offset that g->c has passed. Borrowed until the next gguf_need. */
const char *gguf_at(const struct gguf *g, uint64_t at);

/* Reads a string of at most `max` bytes; `what` names it in error messages. Borrowed until the next gguf_need. */
bool gguf_string(struct gguf *g, const char *what, uint64_t max, const char **p, uint64_t *n, struct err *err);

/* Like err_set, with the item being read as a prefix. */
bool gguf_fail(const struct gguf *g, struct err *err, enum err_kind kind, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Counts an oddity of the current item. */
void gguf_odd(struct gguf *g, enum gguf_odd which);

/* Reads the keys: validates them, notes those the reader itself needs, and adds them to the catalog. */
bool gguf_read_keys(struct gguf *g, uint64_t count, struct err *err);
/* Reads the tensor infos: validates each, then the layout of the data, and adds them to the catalog. */
bool gguf_read_tensors(struct gguf *g, uint64_t count, struct err *err);

#endif
