/* inputs: the regular files that a job has opened, so that its output overwrites none of them under any name. */
#ifndef SOURCE_INPUTS_H
#define SOURCE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "source/bundle.h"

struct input {
    uint64_t dev, ino;
    char *name;                 /* for messages: escaped; owned */
};

struct fetch;

/* Empty when zero-initialized. */
struct inputs {
    struct input *item;         /* owned */
    size_t n, room;
    struct fetch *fetch;        /* reads the files of the model (fetch.h), or NULL: they are opened; borrowed */
    struct bundle bundle;       /* files that are looked up before any other; owned */
    const char *local;          /* a directory whose files are opened in any case, or NULL; borrowed */
};

/* Returns what reads the file `path`; NULL if it is opened. */
struct fetch *inputs_fetch(const struct inputs *list, const char *path);

/* Appends a file. Copies `shown`. */
bool inputs_add(struct inputs *list, uint64_t dev, uint64_t ino, const char *shown, struct err *err);

/* Returns the name of the input with this device and inode, or NULL. Borrowed until inputs_clear(). */
const char *inputs_find(const struct inputs *list, uint64_t dev, uint64_t ino);

/* Fails with ERR_CREATE, which names the input, if the file to be written is one of the inputs. */
bool inputs_check(const struct inputs *list, uint64_t dev, uint64_t ino, struct err *err);

/* Lets a model have n files open at once, which may be more than a process may open by default. Fails with ERR_LIMIT. */
bool inputs_allow(size_t n, struct err *err);

void inputs_clear(struct inputs *list);

#endif
