/* bnb4: bitsandbytes 4-bit, for a scheme whose weights have its codes, blocks and table under other names. */
#ifndef SCHEME_BNB4_H
#define SCHEME_BNB4_H

#include "scheme/scheme.h"

/* Parts of such a weight. */
enum { BNB4_CODES, BNB4_ABSMAX, BNB4_QUANT_MAP };

/* Its parts are there and have the right shapes, absmax one F32 for `blocksize` elements: sets w->own. */
bool bnb4_set_nf4(struct claims *c, struct weight *w, uint32_t blocksize, struct err *err);

/* The room of bnb4_decode(): for elements at a time, of blocks of 32 or more. */
enum { BNB4_STEP = 2048 };
struct bnb4_room {
    float v[BNB4_STEP], absmax[BNB4_STEP / 32], map[16];
};

/* struct scheme. */
void bnb4_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
uint64_t bnb4_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);
void bnb4_describe(const struct weight *w, char buf[SCHEME_DETAIL]);

/* Its members. */
#define BNB4_BY_BLOCKS .need = { NEED_RUN, NEED_RUN, NEED_WHOLE }, .run = bnb4_run, \
    .room = sizeof(struct bnb4_room), .decode = bnb4_decode, .describe = bnb4_describe

#endif
