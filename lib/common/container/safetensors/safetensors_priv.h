/* safetensors: one safetensors file: its JSON header, checked, into the catalog.
 * It knows no other file: an index and its shards are put together in model/.
 * Begin with safetensors.c; safetensors_header.c reads the JSON for it. */
#ifndef CONTAINER_SAFETENSORS_SAFETENSORS_PRIV_H
#define CONTAINER_SAFETENSORS_SAFETENSORS_PRIV_H

#include "base/pull.h"
#include "base/str.h"
#include "container/container.h"

enum { SAFETENSORS_PREFIX = 8 };        /* bytes of the header length */

_Static_assert(DTYPE_COUNT <= UINT8_MAX + 1, "safetensors_entry.dtype");

/* A tensor while its header is read. Small, because there may be a million; the catalog has it in full later. */
struct safetensors_entry {
    uint64_t begin, end;            /* data_offsets */
    const char *name;               /* in the header, as it is spelled there; name_len bytes */
    const char *shape;              /* in the header: after the [ of its dimensions */
    uint32_t name_len;
    uint32_t rank;
    uint8_t dtype;                  /* enum dtype */
    bool escaped;                   /* name */
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
    struct scratch text, key;       /* the last string, the last key of the metadata, that was unescaped */
};

/* Read the whole header, r->json, into r->entries, in its order, and the catalog's metadata. */
bool safetensors_read_header(struct safetensors_reader *r);

/* File offset of a tensor's name. */
uint64_t entry_at(const struct safetensors_reader *r, const struct safetensors_entry *e);
/* Its characters; in r->text, until the next call, when it has escapes. NULL on failure. */
const char *entry_decoded(struct safetensors_reader *r, const struct safetensors_entry *e, size_t *n);
/* Its form for a message. Returns buf. */
const char *entry_shown(struct safetensors_reader *r, char buf[STR_SHOWN], const struct safetensors_entry *e);

#endif
