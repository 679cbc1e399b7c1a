/* limits: built-in ceilings on untrusted input. The command line can only tighten them. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include "base/err.h"

struct limits {
    uint64_t alloc;             /* largest single allocation that a header can ask for, bytes */
    uint64_t total;             /* sum of such allocations over the files of a model, bytes */
    uint64_t items;             /* tensors, keys and members of a model */
    uint64_t ratio;             /* expansion of a compressed input */
    uint64_t ratio_head;        /* the same while its header is read */
    uint64_t window;            /* what a decompressor looks back at, bytes */
    uint64_t rank;              /* dimensions of a tensor */
    uint64_t json_header;       /* safetensors header, bytes */
    uint64_t json_depth;
    uint64_t index_file;        /* *.index.json, bytes */
    uint64_t side_file;         /* config.json and the like, bytes */
    uint64_t tokenizer;         /* tokenizer.json and the like, bytes */
    uint64_t shards;            /* files of one model */
    uint64_t gguf_key;          /* bytes of a key or a tensor name */
    uint64_t gguf_string;       /* bytes of a string value */
    uint64_t gguf_array;        /* elements of an array */
    uint64_t gguf_depth;        /* nesting of arrays */
    uint64_t gguf_alignment;
    uint64_t zip_directory;     /* of a ZIP archive, bytes */
    uint64_t zip_members;
    uint64_t zip_name;          /* bytes */
    uint64_t zip_ratio;         /* expansion of a deflated member */
    uint64_t zip_output;        /* bytes of all deflated members for one of the archive, beyond 1 GiB */
    uint64_t pickle;            /* one pickle, bytes */
    uint64_t pickle_string;     /* bytes */
    uint64_t pickle_heap;       /* all values of one pickle, bytes */
    uint64_t pickle_depth;      /* of values in values */
    uint64_t pickle_marks;      /* open at one time */
    uint64_t pickle_ops;
    uint64_t walk_nodes;        /* values that are visited for tensors, as often as they are reached */
    uint64_t walk_depth;
    uint64_t expand;            /* bytes of a tensor for one of its storage, beyond 1 MiB */
    uint64_t shared;            /* bytes of all tensors for one of their storages, beyond 64 MiB */
    uint64_t npy_header;        /* bytes */
};

/* The ceilings; `limits` of every tool starts as this. */
extern const struct limits limits_default;

/* What the headers of one model have asked for, over all its files. Copy limits into a new one; the rest is 0. */
struct budget {
    struct limits limits;
    uint64_t bytes;             /* of all allocations so far, freed or not */
    uint64_t items;             /* tensors and keys so far */
};

/* Ask for one allocation of n bytes, before it is made: within limits.alloc, and with all before it within
 * limits.total; else ERR_LIMIT that names `what`. */
bool budget_bytes(struct budget *b, uint64_t n, const char *what, struct err *err);

/* The first half of that alone: whether one allocation of n bytes may be made. */
bool budget_allows(const struct budget *b, uint64_t n, const char *what, struct err *err);

/* Ask for n more items. */
bool budget_items(struct budget *b, uint64_t n, const char *what, struct err *err);

/* Where a limit comes from, for a message: the option, when it has lowered the ceiling to max, else "built in". */
const char *limits_origin(uint64_t max, uint64_t ceiling, const char *option);

/* True when n is within max; otherwise an ERR_LIMIT that names `what` and both numbers. */
bool limits_check(uint64_t n, uint64_t max, const char *what, struct err *err);

#endif
