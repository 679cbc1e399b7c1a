/* The refusal of a weight: the line for a person, and the witness for programs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "exact/exact_priv.h"

/* Finds the smallest other scheme that holds the weight: its name, or NULL. */
static bool
find_holder(const char **name, const struct exact_attempt *a, struct err *err)
{
    static const struct encode_options none = { 0 };
    struct exact_attempt other = *a;
    const struct encoder *e = NULL;
    bool holds = false;
    other.given = &none;                /* other schemes may not have the user's options */
    while (!holds && (e = encode_offered(a->job->held, e ? e->exact.offer : 0)) != NULL)
        if (e != a->last && !exact_attempt_level(&holds, &other, e, a->terms->level, err))
            return false;
    *name = holds ? e->name : NULL;
    return true;
}

static void
add_place(struct str *s, const char *key, uint64_t at, uint64_t cols)
{
    str_format(s, ",\"%s\":[%" PRIu64 ",%" PRIu64 "]", key, at / cols, at % cols);
}

/* Makes the members of the witness. */
static void
make_witness(struct str *s, const struct exact_attempt *a, const struct tensor *t, uint64_t cols, const bool levels[EXACT_LEVELS],
    const char *holder)
{
    const struct exact_fail *f = &a->out.fail;
    bool first = true;
    str_text(s, "\"witness\":{\"tensor\":\"");
    str_add_json(s, t->name, t->name_len, true);
    str_text(s, "\"");
    add_place(s, "block", f->block, cols);
    add_place(s, "index", f->index, cols);
    str_format(s, ",\"cause\":\"%s\",\"value\":\"%a\",\"nearest\":", exact_cause_word(f->cause), f->value);
    if (isnan(f->nearest))
        str_text(s, "null");
    else
        str_format(s, "\"%a\"", f->nearest);
    str_format(s, ",\"scheme\":\"%s\",\"levels\":[", a->last->name);
    for (int i = 0; i < EXACT_LEVELS; i++)
        if (levels[i]) {
            str_format(s, "%s\"%s\"", first ? "" : ",", exact_level_word((enum exact_level)i));
            first = false;
        }
    if (holder)
        str_format(s, "],\"holds\":\"%s\"}", holder);
    else
        str_text(s, "],\"holds\":null}");
}

/* Adds why the block is not held, in words. */
static void
add_reason(struct str *s, const struct exact_attempt *a, uint64_t cols)
{
    const struct exact_fail *f = &a->out.fail;
    const struct encoder *e = a->last;
    const char *scheme = e->name;
    char block[64];
    if (e->held == KEEPS_NONE) {
        str_format(s, f->cause == EXACT_SPAN ? "it is too large for %s" : a->terms->level == EXACT_REAL
            ? "before any rounding it is not a number of %s" : "it is not a number of %s", scheme);
        if (!isnan(f->nearest))
            str_format(s, " (nearest %a)", f->nearest);
        return;
    }
    snprintf(block, sizeof block, "block [%" PRIu64 ",%" PRIu64 "]", f->block / cols, f->block % cols);
    switch (f->cause) {
    case EXACT_PRECISION:
        str_format(s, "it has more significant bits than a code; %s", block);
        break;
    case EXACT_SPAN:
        str_format(s, "no scale of %s fits all values of %s", scheme, block);
        break;
    default:
        if (e->grid.no_zero && isnan(f->nearest))
            str_format(s, "%s needs the zero point 0, which files of %s cannot hold", block, e->label);
        else if (e->grid.two)
            str_format(s, e->held == KEEPS_BLOCKS && isnan(f->nearest) ? "%s cannot hold the scale of the tensor, or the sign of that of %s"
                : "%s cannot hold the scale of the tensor", scheme, block);
        else
            str_format(s, "%s needs a scale or a minimum that its type cannot hold", block);
    }
    if (!isnan(f->nearest))
        str_format(s, " (nearest %a)", f->nearest);
}

/* Tries the last name at the other levels. Sets *level to one that holds the weight, preferably BF16. */
static bool
find_levels(bool levels[EXACT_LEVELS], const char **level, const struct exact_attempt *a, struct err *err)
{
    for (int i = 0; i < EXACT_LEVELS; i++) {
        if (i != (int)a->terms->level && !exact_attempt_level(&levels[i], a, a->last, (enum exact_level)i, err))
            return false;
        if (levels[i] && (!*level || i == EXACT_BF16))
            *level = exact_level_word((enum exact_level)i);
    }
    return true;
}

/* Adds what does not fit, in words. */
static void
add_fault(struct str *s, const struct exact_attempt *a, uint64_t cols)
{
    const struct exact_fail *f = &a->out.fail;
    const char *scheme = a->last->name;
    if (f->cause == EXACT_LAYOUT)
        str_format(s, "not held by %s: layout: %s", scheme, str_or(a->why, "its shape does not fit"));
    else if (a->shares)
        str_format(s, "not held by %s: scale: loaders give it one scale with %s, and none holds both (--no-fuse: one for each)", scheme,
            a->shares);
    else {
        str_format(s, "element [%" PRIu64 ",%" PRIu64 "] = %a (%.6g) is not held by %s: %s: ", f->index / cols, f->index % cols, f->value,
            f->value, scheme, exact_cause_word(f->cause));
        add_reason(s, a, cols);
    }
}

bool
exact_refuse(struct exact_attempt *a, struct err *err)
{
    const struct exact_fail *f = &a->out.fail;
    const struct tensor t = chosen_source(&a->trial);
    const bool broken = f->cause == EXACT_NONFINITE;
    uint64_t cols = 1;
    if (t.shape.rank != 0)
        cols = num_max(1, shape_dim(&t.shape, t.shape.rank - 1));
    const char *level = NULL;
    bool levels[EXACT_LEVELS] = { false };
    char name[STR_SHOWN];
    struct str s = { 0 };
    if (!broken && !a->shares && !find_levels(levels, &level, a, err))
        return false;
    const char *holder = NULL;
    if (!broken && !find_holder(&holder, a, err))
        return false;
    a->row->refused = true;
    make_witness(&a->job->witness, a, &t, cols, levels, holder);
    str_shown(name, t.name, t.name_len);
    if (broken)
        return err_set(err, ERR_MALFORMED, ERR_TENSOR "element [%" PRIu64 ",%" PRIu64 "] is NaN or infinite, or has such "
            "a scale: nonfinite", name, f->index / cols, f->index % cols);
    add_fault(&s, a, cols);
    if (level)
        str_format(&s, "; --exact=%s accepts it", level);
    if (holder)
        str_format(&s, "; %s holds it", holder);
    err_set(err, ERR_INEXACT, ERR_TENSOR "%s", name, s.failed ? "not held" : s.p);
    str_clear(&s);
    return false;
}
