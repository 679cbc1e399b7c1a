/* bnb4: bitsandbytes 4-bit decoding, for schemes that store the same codes, blocks and table under other names. */
#ifndef SCHEME_BNB4_H
#define SCHEME_BNB4_H

#include "scheme/scheme.h"

/* Parts of such a weight. */
enum { BNB4_CODES, BNB4_ABSMAX, BNB4_QUANT_MAP };

/* Sets w->own if the parts are present and have the right shapes; absmax is one F32 for each `blocksize` elements. */
bool bnb4_set_nf4(struct claims *c, struct weight *w, uint32_t blocksize, struct err *err);

/* The scratch memory (`room`) of bnb4_decode(): BNB4_STEP elements at a time, in blocks of 32 or more. */
enum { BNB4_STEP = 2048 };
struct bnb4_room {
    float v[BNB4_STEP], absmax[BNB4_STEP / 32], map[16];
};

/* Members of struct scheme. */
void bnb4_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count);
uint64_t bnb4_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);
void bnb4_describe(const struct weight *w, char buf[SCHEME_DETAIL]);

/* Initializers of a scheme. */
#define BNB4_BY_BLOCKS .need = { NEED_RUN, NEED_RUN, NEED_WHOLE }, .run = bnb4_run, \
    .room = sizeof(struct bnb4_room), .decode = bnb4_decode, .describe = bnb4_describe

#endif
