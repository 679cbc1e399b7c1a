/* pickle: what a pickle builds, without building it. A small machine runs the listed opcodes over values of its own; no
 * name is ever looked up, nothing is called. Source: CPython, Lib/pickle.py and pickletools.py; torch,
 * _weights_only_unpickler.py.
 *
 * Containers are shared by reference, as in Python. All values of a pickle live as long as it; none is freed alone. */
#ifndef CONTAINER_TORCH_PICKLE_H
#define CONTAINER_TORCH_PICKLE_H

#include "base/limits.h"
#include "container/torch/pickle_ops.h"

enum pickle_kind {
    PICKLE_NONE, PICKLE_BOOL, PICKLE_INT, PICKLE_BIG, PICKLE_FLOAT, PICKLE_TEXT, PICKLE_BYTES, PICKLE_TUPLE, PICKLE_LIST,
    PICKLE_DICT, PICKLE_SET, PICKLE_GLOBAL, PICKLE_CALL, PICKLE_PERSISTENT
};

enum { PICKLE_MAX = 100 << 20 };        /* bytes of one */

struct pickle_value;            /* pickle_priv.h */

struct pickle;                  /* owns the values */

/* Run p[0..n), which is borrowed for good (texts lie in it), up to STOP: *used bytes of it, *root the result. `at` is its
 * file offset, for messages. ERR_UNSAFE: it wants a global beyond the allowlist, at the opcode that names it, called or
 * not. ERR_MALFORMED, ERR_LIMIT, ERR_UNSUPPORTED (an opcode that torch itself does not read under weights_only). Free it
 * also after a failure (takes NULL). */
bool pickle_run(struct pickle **pickle, const struct pickle_value **root, const uint8_t *p, size_t n, size_t *used,
    uint64_t at, struct budget *budget, struct err *err);
void pickle_free(struct pickle *pickle);

#endif
