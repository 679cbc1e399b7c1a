/* safetensors: reads the JSON header of one safetensors file, checks it, and adds the tensors to the catalog. It knows no
 * other file: model/ combines an index and its shards. Begin with safetensors.c, which uses safetensors_header.c to read the
 * JSON. */
#ifndef CONTAINER_SAFETENSORS_SAFETENSORS_PRIV_H
#define CONTAINER_SAFETENSORS_SAFETENSORS_PRIV_H

#include "base/pull.h"
#include "base/str.h"
#include "container/container.h"

enum { SAFETENSORS_PREFIX = 8 };        /* bytes of the header length */

_Static_assert(DTYPE_COUNT <= UINT8_MAX + 1, "safetensors_entry.dtype");

/* A tensor while its header is read. Kept small because there may be a million; the catalog later holds all of it. */
struct safetensors_entry {
    uint64_t begin, end;            /* data_offsets */
    const char *name;               /* in the header, not unescaped; name_len bytes */
    const char *shape;              /* in the header: after the [ of its dimensions */
    uint32_t name_len;
    uint32_t rank;
    uint8_t dtype;                  /* enum dtype */
    bool escaped;                   /* the name contains escapes */
};

struct scratch {
    char *p;                        /* owned */
    size_t room;
};

struct safetensors_reader {
    struct pull json;
    struct catalog *catalog;
    const struct limits *limits;
    struct err *err;
    uint32_t file;
    uint64_t data_at;               /* file offset of the data, 8 + N */
    struct safetensors_entry *entries;          /* owned */
    size_t count, room;
    uint32_t rank_max;
    bool has_metadata;
    bool slices;                    /* tensors may be parts of larger ones */
    struct scratch text, key;       /* the last unescaped string; the last unescaped metadata key */
};

/* Reads the whole header, r->json: tensors into r->entries, in file order, and metadata into the catalog. */
bool safetensors_read_header(struct safetensors_reader *r);

/* Returns the file offset of a tensor's name. */
uint64_t entry_at(const struct safetensors_reader *r, const struct safetensors_entry *e);
/* Returns the unescaped name: in r->text, until the next call, if it has escapes. NULL on failure. */
const char *entry_decoded(struct safetensors_reader *r, const struct safetensors_entry *e, size_t *n);
/* Formats the name for a message. Returns buf. */
const char *entry_shown(struct safetensors_reader *r, char buf[STR_SHOWN], const struct safetensors_entry *e);

#endif
