#include "writer/meta_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A short decimal form that reads back as f. */
static void
add_float(struct str *s, double f, bool single)
{
    char text[40];
    if (isnan(f) || isinf(f)) {
        str_text(s, isnan(f) ? "NaN" : f < 0 ? "-Infinity" : "Infinity");
        return;
    }
    /* Token scores are mostly whole numbers: those need no search. */
    if (fabs(f) < 1e6 && f == (double)(int)f && !(f == 0 && signbit(f))) {
        str_format(s, "%d", (int)f);
        return;
    }
    for (int digits = single ? 6 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, f);
        if (single ? strtof(text, NULL) == (float)f : strtod(text, NULL) == f)
            break;
    }
    str_text(s, text);
}

/* `inside`: within an array, where strings need quotes. */
static void
add_value(struct str *s, const struct meta_value *v, bool inside)
{
    switch (v->type) {
    case META_U8: case META_U16: case META_U32: case META_U64:
        str_format(s, "%" PRIu64, v->as.u);
        break;
    case META_I8: case META_I16: case META_I32: case META_I64:
        str_format(s, "%" PRId64, v->as.i);
        break;
    case META_F32: case META_F64:
        add_float(s, v->as.f, v->type == META_F32);
        break;
    case META_BOOL:
        str_text(s, v->as.u ? "true" : "false");
        break;
    case META_STRING:
        if (inside) {
            str_text(s, "\"");
            str_add_json(s, v->as.s.p, v->as.s.n, false);
            str_text(s, "\"");
        } else {
            str_add(s, v->as.s.p, v->as.s.n);
        }
        break;
    default: {
        struct meta_iter it = meta_first(&v->as.a);
        struct meta_value item;
        str_text(s, "[");
        for (uint64_t i = 0; !s->failed && meta_next(&it, &item); i++) {
            if (i != 0)
                str_text(s, ",");
            add_value(s, &item, true);
        }
        str_text(s, "]");
    }
    }
}

void
meta_text(struct str *s, const struct meta_value *value)
{
    add_value(s, value, false);
}
