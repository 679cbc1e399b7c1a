/* inputs: the regular files that a job has opened, so that its output is none of them, whatever they are called. */
#ifndef SOURCE_INPUTS_H
#define SOURCE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct input {
    uint64_t dev, ino;
    char *name;                 /* for messages: escaped; owned */
};

/* Zeroed: an empty list. */
struct inputs {
    struct input *item;         /* owned */
    size_t n, room;
};

/* One more file; `shown` is copied. */
bool inputs_add(struct inputs *list, uint64_t dev, uint64_t ino, const char *shown, struct err *err);

/* The name of the input that is this file, NULL when none is. Borrowed until inputs_clear(). */
const char *inputs_find(const struct inputs *list, uint64_t dev, uint64_t ino);

/* Checks that a file which is about to be written is not among them; else ERR_CREATE, which names the input. */
bool inputs_check(const struct inputs *list, uint64_t dev, uint64_t ino, struct err *err);

void inputs_clear(struct inputs *list);

#endif
