/* ggml: the files of whisper.cpp, as its header and the code that reads records share them. Begin with ggml.c. */
#ifndef CONTAINER_GGML_GGML_H
#define CONTAINER_GGML_GGML_H

#include "container/container.h"

enum {
    GGML_WORDS = 15,            /* most integers of a header */
    GGML_HEAD = 4 * (GGML_WORDS + 3),   /* bytes that show which model it is */
    GGML_WINDOW = 4096,         /* bytes that are read ahead in a header */
    GGML_RECORD = 512           /* likewise of a record, whose data is not read */
};

struct ggml {
    struct catalog *catalog;
    struct source *src;         /* seekable */
    uint32_t file;
    uint64_t at, size;          /* position, and size of the input */
    uint64_t from;              /* offset of the window */
    size_t have, ahead;         /* bytes in the window, and bytes to read into it */
    uint8_t window[GGML_WINDOW];
};

/* Returns the next n bytes, at most GGML_WINDOW, and moves past them; NULL on failure. `what` names them in messages. Borrowed until
 * the next call. */
const uint8_t *ggml_take(struct ggml *g, size_t n, const char *what, struct err *err);

/* Reads the next integer, which must not be negative. */
bool ggml_count(struct ggml *g, uint32_t *n, const char *what, struct err *err);

/* Reads the header: integers, mel filters and vocabulary become keys of the catalog. */
bool ggml_read_header(struct ggml *g, const uint8_t *head, size_t n, struct err *err);

/* Returns true if the first n bytes are those of a model of whisper.cpp. */
bool ggml_probe(const uint8_t *head, size_t n, uint64_t size);

#endif
