/* bnb4: bitsandbytes 4-bit, for a scheme whose weights have its codes, blocks and table under other names. */
#ifndef SCHEME_BNB4_H
#define SCHEME_BNB4_H

#include "scheme/scheme.h"

/* Parts of such a weight. */
enum { BNB4_CODES, BNB4_ABSMAX, BNB4_QUANT_MAP };

/* Its parts are there and have the right shapes, absmax one F32 for `blocksize` elements: sets w->own. */
bool bnb4_set_nf4(struct claims *c, struct weight *w, uint32_t blocksize, struct err *err);

/* Elements that bnb4_decode() makes at a time: floats, which are its room. */
enum { BNB4_STEP = 2048 };

/* struct scheme. */
void bnb4_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
void bnb4_decode(const struct weight *w, const struct kernels *k, const struct part_bytes in[SCHEME_PARTS],
    uint64_t first, uint64_t count, enum dtype to, void *y, void *room);
void bnb4_describe(const struct weight *w, char buf[SCHEME_DETAIL]);

/* Its members. */
#define BNB4_BY_BLOCKS .need = { NEED_RUN, NEED_RUN, NEED_WHOLE }, .run = bnb4_run, \
    .room = BNB4_STEP * sizeof(float), .decode = bnb4_decode, .describe = bnb4_describe

#endif
