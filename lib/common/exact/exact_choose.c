#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "encode/plain.h"
#include "exact/exact_priv.h"
#include "scheme/roles.h"

/* --- the outcome for a weight */

static struct chosen *
chosen_of(const struct exact_attempt *a)
{
    return &a->job->choice->list[a->place];
}

/* Adds the row of the weight. */
static bool
exact_choose_add_row(struct exact_attempt *a, struct err *err)
{
    struct exact_job *job = a->job;
    const struct tensor t = chosen_source(chosen_of(a));
    struct exact_row *rows = array_grow(job->rows, job->nrows, &job->rows_room, sizeof *rows, err), *row;
    if (!rows)
        return false;
    job->rows = rows;
    a->row = row = &rows[job->nrows];
    *row = (struct exact_row){ .name = malloc(t.name_len + 1u), .name_len = t.name_len, .level = job->level, .place = a->place,
        .cols = 1 };
    if (!row->name)
        return err_memory(err, t.name_len + 1u);
    memcpy(row->name, t.name, t.name_len);
    row->name[t.name_len] = '\0';
    job->nrows++;
    if (a->trial.decode)
        scheme_word(a->trial.decode, row->from);
    else
        snprintf(row->from, sizeof row->from, "%s", a->quantized ? "composed" : dtype_name(t.dtype));
    return true;
}

/* Adds the last name, which does not hold the weight. */
static bool
add_tried(struct exact_attempt *a, struct err *err)
{
    const struct exact_tried tried = { a->last->name, a->out.fail.cause, a->out.fail.block };
    return exact_row_add(a->row, &tried, err);
}

/* Keeps a weight that has the scheme already. */
static void
exact_choose_keep(struct exact_attempt *a, const struct encoder *e)
{
    struct chosen *c = chosen_of(a);
    c->kept = c->decode;
    c->same = true;
    c->why = "has this type already";
    a->job->choice->same++;
    a->row->to = e->name;
    a->row->kept = true;
}

/* Sets the view of a weight that becomes a scheme, or an unquantized type. Unquantized weights have the orientation of amn-remember
 * beside codes, where loaders know it by the name of the tensor. */
static void
set_view(const struct exact_attempt *a, struct chosen *c, const struct encoder *e)
{
    const bool files = a->job->held == KEEPS_CODES;
    if (files && e->held == KEEPS_NONE)
        return;
    a->row->turned = files && c->decode != a->trial.decode && !e->loaders.as_stored;
    c->decode = a->trial.decode;
}

/* Returns true if a number may have to be rounded to the level before it is rounded to this type, which only the solver does. */
static bool
is_rounded_twice(enum exact_level level, enum dtype type)
{
    return (level == EXACT_BF16 && type == DTYPE_F16) || (level == EXACT_F16 && type == DTYPE_BF16);
}

/* Takes the encoding that holds the weight. */
static void
exact_choose_take(struct exact_attempt *a)
{
    struct chosen *c = chosen_of(a);
    struct exact_row *row = a->row;
    const enum dtype plain = encode_plain_type(a->last);
    row->cols = a->trial.encoding->cols;
    if (a->stored) {
        c->stored = a->trial.encoding;
        exact_choose_keep(a, a->last);
        return;
    }
    set_view(a, c, a->last);
    row->to = a->last->name;
    row->way = a->out.way;
    row->no_input = a->terms->source.has_input && a->last->loaders.no_input;
    row->plain = plain != DTYPE_UNKNOWN;
    if (row->plain && !(is_rounded_twice(a->terms->level, plain) && c->decode == a->trial.decode)) {
        c->dtype = plain;
        return;
    }
    c->dtype = a->trial.dtype;
    c->encoding = a->trial.encoding;
    c->why = NULL;
}

/* Encodes a weight that may be rounded by the first name of the list. */
static bool
take_inexact(struct exact_attempt *a, struct err *err)
{
    struct exact_job *job = a->job;
    const struct encoder *e = job->name[0];
    const enum dtype plain = encode_plain_type(e);
    struct chosen *c = chosen_of(a);
    char name[STR_SHOWN];
    a->row->to = e->name;
    a->row->inexact = true;
    job->ninexact++;
    set_view(a, c, e);
    if (plain != DTYPE_UNKNOWN) {
        c->dtype = plain;
        return true;
    }
    if (!e->encode)
        return err_set(err, ERR_USAGE, "--inexact: %s has no encoder that rounds", e->name);
    if (e->held == KEEPS_BLOCKS)
        c->dtype = DTYPE_F32;
    else if (c->decode)
        c->dtype = DTYPE_BF16;
    if (!reduction_try(job->reduction, c, a->place, &job->reduction->how, e, NULL, c->dtype, job->p->model->catalog, err))
        return false;
    const struct tensor t = chosen_source(c);
    return c->encoding || err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "%s does not hold it: %s",
        str_shown(name, t.name, t.name_len), e->name, str_or(c->why, "its shape does not fit"));
}

/* --- what only reports need */

/* Returns the number of blocks of an encoding, which has as many scales; 0: it has no blocks. */
static uint64_t
count_blocks(const struct encoding *e)
{
    uint64_t blocks = 0, n, elems = e->encoder->type == DTYPE_NVFP4 ? 16 : dtype_facts(e->encoder->type)->elems;
    if (e->encoder->held == KEEPS_BLOCKS)
        return e->rows * e->cols / elems;
    for (unsigned p = 0, codes = exact_try_codes(e); p < e->nparts; p++) {
        enum dtype type = e->part[p].dtype;
        bool scales = p != codes && !e->part[p].bytes && type != DTYPE_I8 && type != DTYPE_I32 && type != DTYPE_I64;
        if (scales && shape_numel(&e->part[p].shape, &n))
            blocks = num_max(blocks, n);
    }
    return blocks;
}

static bool
exact_choose_describe(struct exact_attempt *a, struct err *err)
{
    struct exact_row *row = a->row;
    const enum exact_level level = a->terms->level;
    if (row->plain)
        row->blocks = 0;
    else
        row->blocks = count_blocks(a->trial.encoding);
    row->e2m1 = a->terms->source.codes == EXACT_E2M1;
    if (row->e2m1 && !exact_try_count_code(&row->code_8, a->job->p, &a->trial, 8, err))
        return false;
    for (int i = 0; i < EXACT_LEVELS; i++) {
        row->levels[i] = i == (int)level || (level == EXACT_F32 && i != EXACT_REAL);        /* equal F32 values round alike */
        if (!row->levels[i] && !exact_attempt_level(&row->levels[i], a, a->last, (enum exact_level)i, err))
            return false;
    }
    return true;
}

/* --- the choice */

/* Keeps a quantized weight that has one of the block types already. */
static bool
keep_same(struct exact_attempt *a)
{
    const struct exact_job *job = a->job;
    const struct weight *w = chosen_of(a)->decode;
    for (size_t k = 0; w && k < job->n && roles_is_kept(w, job->reduction->keeps); k++) {
        const struct encoder *e = job->name[k];
        if (e->held != KEEPS_BLOCKS || e->type != w->part[0]->dtype)
            continue;
        exact_choose_keep(a, e);
        return true;
    }
    return false;
}

/* Returns true if the weight may be rounded. */
static bool
is_inexact(const struct exact_attempt *a)
{
    const struct tensor t = chosen_source(chosen_of(a));
    return a->job->inexact.nglobs != 0 && naming_keeps(&a->job->inexact, &t);
}

/* Returns true if a weight that no name holds is refused here. Otherwise the caller dequantizes it, or refuses codes that the output
 * lacks with a message of its own. */
static bool
must_hold(const struct exact_attempt *a)
{
    enum exact_codes codes = a->terms->source.codes;
    bool known = codes == EXACT_INT || codes == EXACT_AFFINE || codes == EXACT_E2M1;
    return a->quantized && !a->job->optional && (a->job->whole || known);
}

/* Finds the encoder of a rule for a weight. */
static bool
find_ruled(const struct exact_attempt *a, const struct encoder **ruled, struct err *err)
{
    const struct exact_job *job = a->job;
    if (!reduction_ruled(job->reduction, &a->trial, job->held, ruled, err))
        return false;
    return !*ruled || (*ruled)->held == KEEPS_NONE || (*ruled)->held == job->held || err_set(err, ERR_USAGE,
        "--tensor-type: '%s' is not a scheme that can share a file with %s", (*ruled)->name, job->name[0]->label);
}

/* Tries names `from` and later for a weight, or `ruled` alone. */
static bool
exact_choose_choose(struct exact_attempt *a, const struct encoder *ruled, size_t from, struct err *err)
{
    const struct exact_job *job = a->job;
    for (size_t k = from; k < (ruled ? 1 : job->n); k++) {
        if (!exact_attempt_name(a, ruled ? ruled : job->name[k], err))
            return false;
        if (a->out.fail.cause == EXACT_HOLDS) {
            exact_choose_take(a);
            return !job->describes || exact_choose_describe(a, err);
        }
        if (!add_tried(a, err))
            return false;
        if (a->trial.encoding)
            a->row->cols = a->trial.encoding->cols;
        else
            a->row->cols = 1;
        if (a->out.fail.cause == EXACT_NONFINITE && (must_hold(a) || is_inexact(a)))
            return exact_refuse(a, err);
    }
    if (is_inexact(a))
        return take_inexact(a, err);
    a->row->kept = true;
    return !must_hold(a) || exact_refuse(a, err);
}

bool
exact_choose(struct exact_job *job, size_t place, struct err *err)
{
    struct exact_attempt a = { .job = job, .place = place };
    const struct encoder *ruled = NULL;
    return exact_attempt_begin(&a, err) && exact_choose_add_row(&a, err) && find_ruled(&a, &ruled, err)
        && (keep_same(&a) || exact_choose_choose(&a, ruled, 0, err));
}

bool
exact_choose_type(struct exact_job *job, size_t place, struct err *err)
{
    static const char *const names[] = { "bf16", "f16", "f32" };
    struct exact_attempt a = { .job = job, .place = place };
    struct chosen *c = chosen_of(&a);
    if (!exact_attempt_begin(&a, err) || !exact_choose_add_row(&a, err))
        return false;
    a.row->kept = true;
    if (a.trial.decode && roles_is_kept(c->decode, job->reduction->keeps)) {
        c->kept = c->decode;
        return true;
    }
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (!exact_attempt_name(&a, encode_exact_find(names[k], KEEPS_CODES), err))
            return false;
        if (a.out.fail.cause == EXACT_HOLDS) {
            a.row->kept = false;
            exact_choose_take(&a);
            return true;
        }
    }
    return exact_refuse(&a, err);
}

bool
exact_choose_after(struct exact_attempt *a, struct err *err)
{
    const struct encoder *ruled = NULL;
    size_t k = 0;
    if (!find_ruled(a, &ruled, err) || !add_tried(a, err))
        return false;
    while (!ruled && a->job->name[k] != a->last)
        k++;
    a->row->to = NULL;
    a->row->way = EXACT_MOVED;
    return exact_choose_choose(a, ruled, k + 1, err);
}
