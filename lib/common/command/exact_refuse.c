/* The refusal of a weight: the line for a person, and the witness for programs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "command/exact_priv.h"
#include "encode/plain.h"

bool
exact_try_level(bool *holds, const struct exact_attempt *a, const struct encoder *e, enum exact_level level, struct err *err)
{
    struct exact_attempt other = *a;
    struct exact_terms terms = *a->terms;
    terms.level = level;
    other.terms = &terms;
    bool ok = exact_try_name(&other, e, err);
    *holds = ok && other.out.fail.cause == EXACT_HOLDS;
    return ok;
}

/* Finds the smallest other name that holds the weight, or NULL. */
static const char *
find_holder(struct exact_attempt *a, struct err *err)
{
    const struct encode_options given = a->cmd->reduction.how;
    const char *found = NULL;
    const struct encoder *e = NULL;
    bool holds = false;
    a->cmd->reduction.how = (struct encode_options){ 0 };       /* other schemes may not have these options */
    while (!found && (e = encode_offered(command_held(a->cmd), e ? e->grid.offer : 0)) != NULL) {
        if (e != a->last && !exact_try_level(&holds, a, e, a->terms->level, err))
            break;
        if (holds)
            found = e->name;
    }
    a->cmd->reduction.how = given;
    return found;
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

bool
exact_refuse(struct command *cmd, struct exact_attempt *a, struct err *err)
{
    struct exact_outcome out = a->out;
    const struct tensor t = chosen_source(&a->trial);
    const char *why = a->why, *level = NULL, *holder = NULL, *scheme = a->last->name;
    bool levels[EXACT_LEVELS] = { false }, broken = out.fail.cause == EXACT_NONFINITE;
    uint64_t cols = t.shape.rank != 0 ? num_max(1, shape_dim(&t.shape, t.shape.rank - 1)) : 1;
    char name[STR_SHOWN];
    struct str s = { 0 };
    for (int i = 0; !broken && !a->shares && i < EXACT_LEVELS; i++) {
        if (i != (int)a->terms->level && !exact_try_level(&levels[i], a, a->last, (enum exact_level)i, err))
            return false;
        level = levels[i] && (!level || i == EXACT_BF16) ? exact_level_word((enum exact_level)i) : level;
    }
    holder = broken ? NULL : find_holder(a, err);
    if (err->kind != ERR_NONE)
        return false;
    exact_row_of(cmd, a->place)->refused = true;
    make_witness(&cmd->exact.witness, a, &t, cols, levels, holder);
    cmd->cli.members = cmd->exact.witness.failed ? NULL : cmd->exact.witness.p;
    str_shown(name, t.name, t.name_len);
    if (broken)
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, ERR_TENSOR "element [%" PRIu64 ",%" PRIu64 "] is NaN or infinite, or has such "
            "a scale: nonfinite", name, out.fail.index / cols, out.fail.index % cols);
    if (out.fail.cause == EXACT_LAYOUT)
        str_format(&s, "not held by %s: layout: %s", scheme, why ? why : "its shape does not fit");
    else if (a->shares)
        str_format(&s, "not held by %s: scale: loaders give it one scale with %s, and none holds both (--no-fuse: one for each)", scheme,
            a->shares);
    else {
        str_format(&s, "element [%" PRIu64 ",%" PRIu64 "] = %a (%.6g) is not held by %s: %s: ", out.fail.index / cols, out.fail.index % cols,
            out.fail.value, out.fail.value, scheme, exact_cause_word(out.fail.cause));
        add_reason(&s, a, cols);
    }
    if (level)
        str_format(&s, "; --exact=%s accepts it", level);
    if (holder)
        str_format(&s, "; %s holds it", holder);
    err_set(err, ERR_INEXACT, ERR_NO_OFFSET, ERR_TENSOR "%s", name, s.failed ? "not held" : s.p);
    str_clear(&s);
    return false;
}
