#include "scheme/scheme.h"

#include <stdio.h>

#include "base/str.h"

const char *
role_name(enum role role)
{
    static const char *const names[] = {
        [ROLE_PLAIN] = "plain", [ROLE_WEIGHT] = "weight", [ROLE_SCALE] = "scale", [ROLE_ZERO_POINT] = "zero_point",
        [ROLE_G_IDX] = "g_idx", [ROLE_CODEBOOK] = "codebook", [ROLE_STATE] = "state", [ROLE_SHAPE] = "shape",
        [ROLE_ACTIVATION] = "activation",
    };
    return names[role];
}

enum need
weight_need(const struct weight *w, unsigned p)
{
    enum need need = NEED_NONE;
    if (w->part[p])
        need = w->scheme->need[p];
    if (p == 0 && w->again && need == NEED_RUN)
        return NEED_AGAIN;
    return need;
}

bool
weight_has_run(const struct weight *w, unsigned p)
{
    return weight_need(w, p) == NEED_RUN || weight_need(w, p) == NEED_AGAIN;
}

const char *
scheme_word(const struct weight *w, char buf[SCHEME_WORD])
{
    *buf = '\0';
    if (w->scheme->variant)
        w->scheme->variant(w, buf);
    if (!*buf)
        snprintf(buf, SCHEME_WORD, "%s", w->scheme->code);
    return buf;
}

void
scheme_grid(const struct weight *w, struct weight_grid *g)
{
    size_t n = 0;
    if (w->part[1])
        n = w->part[1]->name_len;
    *g = (struct weight_grid){ 0 };
    if (!w->scheme->grid || w->vague)
        return;
    w->scheme->grid(w, g);
    g->short_name = n != 0 && str_strip(w->part[1]->name, &n, ".scale");
}

void
scheme_decode(const struct decoding *d, void *y)
{
    uint64_t end = d->first + d->count, size = dtype_facts(d->to)->bytes;
    uint8_t *out = y;
    for (uint64_t at = d->first, n; at < end; at += n, out += n * size)
        n = d->w->scheme->decode(d, at, end - at, out);
}
