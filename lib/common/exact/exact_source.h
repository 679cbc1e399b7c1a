/* exact_source: what a weight offers to an exact encoding, and the options with which each encoder takes most of it. */
#ifndef EXACT_EXACT_SOURCE_H
#define EXACT_EXACT_SOURCE_H

#include "plan/choice.h"

/* Reads the scale of a whole weight. */
struct exact_reader {
    struct catalog *catalog;            /* also for memory that the description needs */
    bool (*read)(void *of, const struct tensor *t, void *buf, struct err *err);
    void *of;
};

/* Describes the source of a chosen weight. */
bool exact_source_find(struct exact_source *s, const struct chosen *c, const struct exact_reader *reader, struct err *err);

/* Replaces a weight whose blocks are not along its rows by its view for which they are. */
bool exact_source_upright(struct chosen *c, struct catalog *memory, struct err *err);

/* Sets the options for an encoder: group size, type of the scales and names follow the source unless the user gave them.
 * cols: length of the rows of the weight. `variant` counts from 0: with scales of other types, where the source has none, and with
 * zero points; returns false after the last. */
bool exact_source_options(struct encode_options *how, const struct encode_options *given, const struct encoder *encoder,
    const struct exact_source *s, uint64_t cols, unsigned variant);

/* Returns the element type assumed for the weight. Scales that the source lacks get this type. */
enum dtype exact_source_type(const struct chosen *c);

#endif
