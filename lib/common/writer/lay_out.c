#include "writer/lay_out.h"

struct pieces *
lay_out_file(const struct writer *writer, const struct choice *choice, const struct shards *shards, size_t i,
    const struct writer_options *options, struct err *err)
{
    const struct writer_split split = { (uint16_t)i, (uint16_t)shards->n, choice->n };
    struct writer_options how = *options;
    struct choice some = *choice;
    struct pieces *pieces = pieces_new(err);
    some.list += shards->list[i].first;
    some.n = shards->list[i].n;
    how.split = &split;
    if (pieces && writer->lay_out(pieces, &some, &how, err))
        return pieces;
    pieces_free(pieces);
    return NULL;
}
