/* lay_out: the pieces of one file of a sharded output. */
#ifndef WRITER_LAY_OUT_H
#define WRITER_LAY_OUT_H

#include "plan/shards.h"
#include "writer/writer.h"

/* Lays out file i of the shards. Returns NULL on failure; otherwise free it with pieces_free(). */
struct pieces *lay_out_file(const struct writer *writer, const struct choice *choice, const struct shards *shards,
    size_t i, const struct writer_options *options, struct err *err);

#endif
