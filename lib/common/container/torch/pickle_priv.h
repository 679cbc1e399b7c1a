/* The values of a pickle, for the code that reads them: checkpoint.c and the file forms. */
#ifndef CONTAINER_TORCH_PICKLE_PRIV_H
#define CONTAINER_TORCH_PICKLE_PRIV_H

#include <string.h>

#include "base/table.h"
#include "container/torch/pickle.h"
#include "container/torch/pickle_globals.h"

struct pickle_name {            /* an allowed name */
    struct pickle_global facts;
    char text[PICKLE_GLOBAL_NAME];      /* "torch.FloatStorage" */
};

/* 24 bytes, because there may be ten million. Containers are shared, and lists and dictionaries can grow after they were
 * stored somewhere, so cycles are possible. */
struct pickle_value {
    uint8_t kind;               /* enum pickle_kind */
    bool odd;                   /* TEXT: has lone surrogates. DICT: an OrderedDict or Counter. INT: was an object that a taker took */
    uint16_t depth;             /* levels of values below it, as known so far */
    uint32_t n;                 /* bytes of a text; items of a tuple, list, set or dictionary; 2 or 3 for a call; a taken object: 1
                                 * if nothing but the stack refers to it */
    union {
        int64_t integer;        /* BOOL, INT */
        double real;
        const uint8_t *text;    /* TEXT (UTF-8), BYTES, BIG (little-endian) */
        struct pickle_value **item; /* TUPLE; PERSISTENT: its id; CALL: global, arguments, state */
        const struct pickle_name *name;     /* GLOBAL */
        struct { uint32_t first, last; } cells;     /* LIST, SET, DICT */
    } of;
    uint32_t number;            /* list, set, dictionary: its number; a value used as a key: 1 + the index of its equals in
                                 * `like` */
};

/* An item of a list or set, or a pair of a dictionary. */
struct pickle_cell {
    uint32_t container, like;   /* numbers; together they identify a pair */
    struct pickle_value *key;   /* NULL except in a pair */
    struct pickle_value *value;
    uint32_t next;              /* next cell; 0: last */
};

/* Takes over objects of a long pickle as they are built, for a reader that needs a few numbers of each. Their values are freed, and so
 * are items and pairs that consist of them. */
struct pickle_taker {
    /* Called when BUILD has given an object its state. If it takes the object, sets *taken: the object then is *number. */
    bool (*object)(void *of, const struct pickle *k, const struct pickle_value *object, int64_t *number, bool *taken, struct err *err);
    /* Called for a pair whose key was taken, instead of adding it to its dictionary. */
    bool (*pair)(void *of, const struct pickle_value *key, const struct pickle_value *value, struct err *err);
    /* Called for an item that was taken, instead of appending it to its list. */
    bool (*item)(void *of, const struct pickle_value *item, struct err *err);
    void *of;
};

/* Limits on what one pickle builds and does. Tests lower them. */
struct pickle_limits {
    uint64_t heap, ops;         /* bytes of all values; opcodes */
    bool shards;                /* a pickle of a checkpoint of several files: of the names that are not in the table, only those in
                                 * `allowed` are accepted, and getattr for the one class that ShardedTensor needs */
    const struct pickle_taker *taker;   /* or NULL */
    const char *const *allowed; /* nallowed, as "module.name"; borrowed */
    size_t nallowed;
};

struct heap_chunk;
struct source;

struct pickle {
    struct budget *budget;
    const struct pickle_limits *limits; /* valid while it runs, like err */
    struct err *err;
    const struct pickle_value *root;
    uint64_t used;              /* bytes allocated */
    uint64_t at;                /* file offset of the current opcode; after the run, of the pickle */
    uint64_t size;              /* bytes of the pickle */
    struct heap_chunk *chunks, *loose_chunks;
    struct pickle_value *empty; /* the empty tuple, or NULL */
    struct pickle_value *loose; /* values for taken objects that are free, linked by `of.item` */
    struct pickle_cell *cell;   /* cell 0 is unused */
    size_t ncells, room_cells;
    uint32_t ncontainers;
    const struct pickle_name *opaque;   /* the first global whose objects are opaque, or NULL */
    uint64_t opaque_at;         /* file offset of its opcode */
    struct pickle_value **persistent;   /* in pickle order */
    size_t npersistent, room_persistent;
    uint32_t recent;            /* containers with a lower number are older than the values that heap_back() may free */
    uint64_t pins;              /* times that something older began to refer to new values */
    struct table pairs;         /* cells of dictionaries with more than FEW pairs */
    struct like { const uint8_t *p; size_t n; } *like;      /* one for all equal keys: their text or canonical form */
    size_t nlikes, room_likes;
    struct table likes[3];      /* texts, bytes, others */
};

enum { PICKLE_STRING_MAX = 64 << 20, PICKLE_DEPTH_MAX = 256, PICKLE_MARKS_MAX = 256 };

/* Like pickle_run(), with the given limits instead of the built-in ones. */
bool pickle_run_within(struct pickle **pickle, const struct pickle_value **root, const uint8_t *p, size_t n, size_t *used,
    uint64_t at, struct budget *budget, const struct pickle_limits *limits, struct err *err);

/* Runs the pickle that a seekable source consists of, reading it in pieces. Its texts are copied. */
bool pickle_run_source(struct pickle **pickle, const struct pickle_value **root, struct source *src, struct budget *budget,
    const struct pickle_limits *limits, struct err *err);

/* The heap before an object was made. */
struct heap_mark {
    const struct pickle_value *value;   /* the object */
    struct heap_chunk *chunk;
    size_t used, ncells;
    uint32_t recent;
    uint64_t pins;
};

/* --- building (pickle_heap.c); NULL or false on failure, with k->err set */

void *heap_take(struct pickle *k, size_t n);
/* Like array_grow(), within the limits of the heap. */
void *heap_grow(struct pickle *k, void *array, size_t n, size_t *room, size_t size);
struct pickle_value *heap_value(struct pickle *k, enum pickle_kind kind);
/* Makes a value that holds n others. */
struct pickle_value *heap_tuple(struct pickle *k, enum pickle_kind kind, struct pickle_value *const *item, size_t n);
/* Returns the empty tuple. */
struct pickle_value *heap_empty(struct pickle *k);
struct pickle_value *heap_container(struct pickle *k, enum pickle_kind kind);
bool heap_append(struct pickle *k, struct pickle_value *list, struct pickle_value *item);
/* Sets a key as Python does: an equal key keeps its place and gets the new value. Fails with ERR_MALFORMED if it cannot be a
 * key. */
bool heap_set(struct pickle *k, struct pickle_value *dict, struct pickle_value *key, struct pickle_value *value);
/* Remembers the heap as it is. */
struct heap_mark heap_here(const struct pickle *k);
/* Frees all values made since, unless older ones may refer to them. Returns true if it did. */
bool heap_back(struct pickle *k, const struct heap_mark *mark);
/* Makes a value that heap_back() does not free, for a taken object, and frees it if nothing refers to it. */
struct pickle_value *heap_loose(struct pickle *k, int64_t number);
void heap_loose_back(struct pickle *k, struct pickle_value *v);
/* Fails with ERR_MALFORMED if a value cannot be a key or an item of a set. */
bool heap_hashable(struct pickle *k, struct pickle_value *key);

/* --- reading */

/* Describes a value for messages: "a tuple of 3", "the text 'abc'". Returns buf. */
enum { PICKLE_SHOWN = STR_SHOWN + 40 };
const char *pickle_shown(char buf[PICKLE_SHOWN], const struct pickle_value *v);
/* Formats at most 48 characters of a text, escaped. Returns buf. */
const char *pickle_quoted(char buf[PICKLE_SHOWN], const uint8_t *p, size_t n);

/* Iterates over the items of a tuple, list or set, or the pairs of a dictionary. Zeroed: before the first. */
struct pickle_walk {
    uint32_t i, cell;
};
bool pickle_next(const struct pickle *k, const struct pickle_value *v, struct pickle_walk *walk,
    struct pickle_value **key, struct pickle_value **value);

static inline bool
pickle_is_text(const struct pickle_value *v, const char *text)
{
    return v->kind == PICKLE_TEXT && str_is(v->of.text, v->n, text);
}

/* Returns true for the integer that an object of a taker became. */
static inline bool
pickle_is_taken(const struct pickle_value *v)
{
    return v->kind == PICKLE_INT && v->odd;
}

/* Finds what a name makes. Fails with ERR_UNSAFE if it is dangerous. */
bool pickle_name_find(struct pickle_global *facts, const struct pickle *k, const uint8_t *module, size_t module_len,
    const uint8_t *name, size_t name_len, struct err *err);

/* Fails with ERR_UNSAFE because the pickle references a name. */
bool pickle_refuse(struct err *err, uint64_t at, const uint8_t *module, size_t module_len, const uint8_t *name, size_t name_len);

/* Fails with ERR_UNSAFE if the pickle names a global whose objects are opaque. For pickles that have no other contents, or
 * ought to have plain values only. */
bool pickle_is_plain(const struct pickle *k, struct err *err);

/* Returns true for an object whose contents torch alone knows: item[2], if it has any, is a list of all that was stored in
 * it. */
static inline bool
pickle_is_opaque(const struct pickle_value *v)
{
    return v->kind == PICKLE_CALL && pickle_role_is_opaque(v->of.item[0]->of.name->facts.role);
}

/* Returns the role of the global that `call` calls. The value must be a call. */
static inline enum pickle_role
pickle_role(const struct pickle_value *call)
{
    return call->of.item[0]->of.name->facts.role;
}

#endif
