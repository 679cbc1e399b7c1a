/* pickle: describes what a pickle builds, without building it. A small machine runs the supported opcodes over values of its
 * own type; names are not looked up and nothing is called. Source: CPython, Lib/pickle.py and pickletools.py; torch,
 * _weights_only_unpickler.py.
 *
 * Containers are shared by reference, as in Python. Values live as long as their pickle; none is freed alone.
 */
#ifndef CONTAINER_TORCH_PICKLE_H
#define CONTAINER_TORCH_PICKLE_H

#include "base/limits.h"
#include "container/torch/pickle_ops.h"

enum pickle_kind {
    PICKLE_NONE, PICKLE_BOOL, PICKLE_INT, PICKLE_BIG, PICKLE_FLOAT, PICKLE_TEXT, PICKLE_BYTES, PICKLE_TUPLE, PICKLE_LIST,
    PICKLE_DICT, PICKLE_SET, PICKLE_GLOBAL, PICKLE_CALL, PICKLE_PERSISTENT
};

enum { PICKLE_MAX = 100 << 20 };        /* bytes of a pickle */

struct pickle_value;            /* pickle_priv.h */

struct pickle;                  /* owns the values */

/* Runs p[0..n) up to STOP. Sets *used to the bytes consumed and *root to the result. p must outlive the pickle, whose texts
 * point into it; `at` is its file offset, for messages. Fails with ERR_UNSAFE at the opcode that names a global not on the
 * allowlist, called or not; with ERR_MALFORMED, ERR_LIMIT, or ERR_UNSUPPORTED (an opcode that torch does not read with
 * weights_only). Free the pickle even after a failure (NULL is allowed). */
bool pickle_run(struct pickle **pickle, const struct pickle_value **root, const uint8_t *p, size_t n, size_t *used,
    uint64_t at, struct budget *budget, struct err *err);
void pickle_free(struct pickle *pickle);

#endif
