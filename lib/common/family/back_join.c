/* Joins the parts that the tensors of a GGUF file have of one source. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/real.h"
#include "dtype/bfloat16.h"
#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "family/back_priv.h"
#include "family/compose.h"
#include "family/pattern.h"

/* A part of a source. */
struct back_part {
    struct verbs v;
    const struct family_source *tensor;
};

struct back_joint {
    struct back_work *w;
    const struct back_source *source;
    struct back_part *part;     /* n of them; owned */
    size_t n;
    uint64_t dim[LAYOUT_RANK + 1], whole;       /* whole: the size of the open dimension */
    uint32_t rank;
    uint64_t turns;             /* of parts that alternate: how often each has its turn; else 1 */
    enum back_form form;
};

/* --- types */

/* Returns true if a type holds a value; after negexp, nearly. */
static bool
holds(enum dtype dtype, double x, bool logs)
{
    float v = logs ? real_log(-(float)x) : (float)x;
    float back;
    if (dtype == DTYPE_F16)
        back = half_to_float(half_of_float(v));
    else
        back = bfloat16_to_float(bfloat16_of_float(v));
    if (isnan(v) || v == back)
        return true;
    return logs && fabsf(v - back) <= 0x1p-20f * fmaxf(fabsf(v), 1);
}

static bool
find_exact(bool *exact, struct back_work *w, const struct family_source *tensor, bool logs, struct err *err)
{
    enum { STEP = 512 };
    double x[STEP];
    uint64_t numel, some;
    *exact = true;
    if (!shape_numel(&tensor->t.shape, &numel))
        return rows_fail(tensor, ERR_LIMIT, "too many elements", err);
    for (uint64_t at = 0; at < numel && *exact; at += some) {
        some = num_min(numel - at, STEP);
        if (!family_sources_read(w->tensors, &tensor->t, at, x, (size_t)some, err))
            return false;
        for (uint64_t i = 0; i < some && *exact; i++)
            *exact = holds(w->how->matrices, x[i], logs);
    }
    return true;
}

/* Sets *dtype to the type of a source: the element type, or F32 if that would change values of the tensor. */
static bool
join_type(enum dtype *dtype, struct back_work *w, const struct family_source *tensor, const struct operation *op, size_t nops,
    struct err *err)
{
    struct back_tensor *state = &w->state[tensor - family_sources_at(w->tensors, 0)];
    bool logs = false;
    *dtype = w->how->matrices;
    if (w->how->exact || *dtype == DTYPE_F32 || !tensor->chosen.copy || tensor->chosen.copy->dtype != DTYPE_F32)
        return true;
    for (size_t i = 0; i < nops; i++) {
        if (op[i].kind != OPERATION_LOG_NEGATIVE)
            return true;
        logs = true;
    }
    if (!state->read && !find_exact(&state->exact, w, tensor, logs, err))
        return false;
    state->read = true;
    if (!state->exact)
        *dtype = DTYPE_F32;
    return true;
}

/* --- parts */

/* Sets the lengths of the parts of a row along the first dimension of its output, or along the second if they alternate; one may
 * remain. */
static bool
find_lengths(uint64_t *length, struct back_joint *j, const struct family_row *row, const struct family_source *tensor,
    uint64_t rows, struct err *err)
{
    size_t open = row->nparts;
    uint64_t sum = 0;
    for (size_t i = 0; i < row->nparts; i++) {
        const struct verbs v = { .row = row, .part = &row->part[i], .scope = j->w->scope, .b = j->source->b,
            .tensor = &tensor->t };
        if (!verbs_length(&length[i], &v, row->alternates, err))
            return false;
        if (length[i] == 0 && open != row->nparts)
            return err_set(err, ERR_UNSUPPORTED, "%s: two parts without explicit sizes", row->where);
        if (length[i] == 0)
            open = i;
        if (!num_add(&sum, sum, length[i]))
            return rows_fail(tensor, ERR_MALFORMED, "the parts are longer than the tensor", err);
    }
    if (open != row->nparts && sum < rows)
        length[open] = rows - sum;
    if (open != row->nparts)
        return sum < rows || rows_fail(tensor, ERR_MALFORMED, "the parts are longer than the tensor", err);
    return sum == rows || rows_fail(tensor, ERR_MALFORMED, "the parts of its row do not cover the first dimension", err);
}

/* Sets how often each part has its turn in the first dimension of a tensor. */
static bool
find_turns(struct back_joint *j, const struct family_row *row, const struct family_source *tensor, uint64_t rows, struct err *err)
{
    const struct verbs v = { .row = row, .part = &row->part[0], .scope = j->w->scope, .b = j->source->b, .tensor = &tensor->t };
    j->turns = 1;
    return !row->alternates || (verbs_length(&j->turns, &v, 0, err) && ((j->turns != 0 && rows % j->turns == 0)
        || rows_fail(tensor, ERR_MALFORMED, "its first dimension does not divide into the parts of its row", err)));
}

/* Starts a part: all of the output, or its rows [from, from + n). */
static bool
begin_part(struct back_joint *j, const struct family_row *row, size_t i, const struct family_source *tensor, uint64_t from,
    uint64_t n, struct err *err)
{
    struct back_part *part = &j->part[j->n++];
    struct verbs *v = &part->v;
    uint64_t dim[LAYOUT_RANK];
    uint32_t rank = tensor->t.shape.rank;
    for (uint32_t d = 0; d < rank; d++)
        dim[d] = shape_dim(&tensor->t.shape, d);
    *part = (struct back_part){ .tensor = tensor };
    v->row = row;
    v->part = &row->part[i];
    v->scope = j->w->scope;
    v->b = j->source->b;
    v->tensor = &tensor->t;
    v->side = j->w->how->side;
    v->rank = rank - (row->stacks && !row->joined);
    moves_init(&v->moves, dim, rank);
    v->moves.s.first = tensor->first;
    const uint64_t members[] = { j->source->stack, row->joined ? dim[0] / j->source->stack : 0 };
    if (row->joined && !moves_view(&v->moves, 0, members, 2))
        return rows_fail(tensor, ERR_LIMIT, "too many dimensions", err);
    if (row->stacks) {
        moves_slice(&v->moves, 0, j->source->x, 1);
        moves_shift(&v->moves);
    }
    const uint64_t size[] = { j->turns, moves_size(&v->moves, 0) / j->turns };
    if (row->alternates && !moves_view(&v->moves, 0, size, 2))
        return rows_fail(tensor, ERR_LIMIT, "too many dimensions", err);
    if (row->nparts != 1 && !moves_slice(&v->moves, row->alternates, from, n))
        return rows_fail(tensor, ERR_MALFORMED, "the parts are longer than the tensor", err);
    if (!verbs_backward(v, err))
        return false;
    if (v->skipped == 0)
        return true;
    struct back_part *before = &j->part[j->n++];
    *before = *part;
    return verbs_skipped(&before->v, err);
}

/* Adds the parts that one tensor has of the source. */
static bool
back_join_add_tensor(struct back_joint *j, const struct family_row *row, const struct family_source *tensor, struct err *err)
{
    uint32_t rank = tensor->t.shape.rank, first = row->stacks;
    uint64_t numel, from = 0, *length = NULL;
    if (rank > LAYOUT_RANK || !shape_numel(&tensor->t.shape, &numel) || numel == 0)
        return rows_fail(tensor, ERR_MALFORMED, "no elements, or too many dimensions", err);
    j->turns = 1;
    if (row->nparts == 1)
        return row_part_has(&row->part[0], VERB_BLANK) || begin_part(j, row, 0, tensor, 0, 0, err);
    length = calloc(row->nparts, sizeof *length);
    if (!length)
        return err_memory(err, row->nparts * sizeof *length);
    bool ok = rank > first || rows_fail(tensor, ERR_MALFORMED, "fewer dimensions than its row needs", err);
    ok = ok && find_turns(j, row, tensor, ok ? shape_dim(&tensor->t.shape, first) : 0, err)
        && find_lengths(length, j, row, tensor, shape_dim(&tensor->t.shape, first) / j->turns, err);
    for (size_t i = 0; ok && i < row->nparts; i++) {
        ok = row_part_has(&row->part[i], VERB_BLANK) || begin_part(j, row, i, tensor, from, length[i], err);
        from += length[i];
    }
    free(length);
    return ok;
}

/* --- the source */

static int
compare_parts(const void *pa, const void *pb)
{
    const struct back_part *a = pa, *b = pb;
    return (a->v.from > b->v.from) - (a->v.from < b->v.from);
}

static bool
uncovered(const struct back_joint *j, struct err *err)
{
    return err_set(err, ERR_MALFORMED, "%s: the parts of %s do not cover it", j->part[0].v.row->where,
        j->part[0].v.row->hf);
}

/* Checks that the parts cover the source, and sets its shape. */
static bool
cover(struct back_joint *j, struct err *err)
{
    uint64_t dim[LAYOUT_RANK];
    qsort(j->part, j->n, sizeof *j->part, compare_parts);
    for (size_t i = 0; i < j->n; i++) {
        const struct verbs *v = &j->part[i].v;
        if ((v->count == 0 && j->n != 1) || v->from != j->whole || !num_add(&j->whole, j->whole, v->count))
            return uncovered(j, err);
    }
    for (size_t i = 0; i < j->n; i++) {
        const struct verbs *v = &j->part[i].v;
        verbs_shape(i == 0 ? j->dim : dim, v, j->whole);
        if (i == 0)
            j->rank = v->moves.rank;
        if (i != 0 && (v->moves.rank != j->rank || memcmp(dim, j->dim, j->rank * sizeof *dim) != 0))
            return rows_fail(j->part[i].tensor, ERR_MALFORMED, "its shape does not match that of the other parts of the source",
                err);
    }
    return true;
}

/* Makes a part of the codes or scales of blocks. */
static bool
make_units(struct composed_part *part, struct back_joint *j, struct back_part *of, struct err *err)
{
    bool fits;
    const struct repack repack = { j->form == BACK_CODES ? REPACK_MXFP4_CODES : REPACK_MXFP4_SCALES,
        { of->tensor->chosen.decode->part[0] } };
    return compose_units(part, &fits, &of->v, &repack, j->w->memory, err) && (fits
        || err_set(err, ERR_UNSUPPORTED, "%s does not move whole blocks", of->v.row->where));
}

/* Makes the parts of the composed tensor. */
static bool
compose(struct composed *composed, struct back_joint *j, struct err *err)
{
    struct catalog *memory = j->w->memory;
    struct composed_part *list = catalog_alloc(memory, j->n * sizeof *list, err);
    uint64_t end = 0, elems = j->form == BACK_ELEMENTS ? 1 : MXFP4_ELEMS;
    bool alternates = j->n > 1 && moves_outer(&j->part[0].v.moves) != 1;
    for (size_t i = 0; list && i < j->n; i++) {
        struct verbs *v = &j->part[i].v;
        uint64_t run = 0;
        if (alternates)
            run = moves_run(&v->moves);
        if (run % elems != 0)
            return err_set(err, ERR_UNSUPPORTED, "%s does not move whole blocks", v->row->where);
        if (j->form != BACK_ELEMENTS ? !make_units(&list[i], j, &j->part[i], err)
                : !compose_elements(&list[i], v, j->part[i].tensor, memory, err))
            return false;
        if (!num_add(&end, end, alternates ? run / elems : list[i].end))
            return rows_fail(j->part[i].tensor, ERR_LIMIT, "too large", err);
        list[i].end = end;
    }
    composed->part = list;
    composed->n = j->n;
    if (alternates)
        composed->period = end;
    else
        composed->period = 0;
    return list != NULL;
}

/* Sets the name: the HF name of the row with its numbers, or the word of a named member. */
static bool
set_name(struct chosen *chosen, const struct back_joint *j, struct err *err)
{
    struct str s = { 0 };
    pattern_fill_source(&s, j->w->family, j->part[0].v.row->hf, j->source->b, j->source->x);
    if (j->form != BACK_ELEMENTS)
        str_text(&s, j->form == BACK_CODES ? "_blocks" : "_scales");
    return pattern_name(&chosen->name, &chosen->name_len, &s, j->w->memory, err);
}

static bool
back_join_finish(struct chosen *chosen, struct back_joint *j, struct err *err)
{
    struct composed parts = { 0 };
    if (!cover(j, err) || !compose(&parts, j, err))
        return false;
    if (j->form != BACK_ELEMENTS) {
        j->dim[j->rank - 1] /= MXFP4_ELEMS;
        j->dim[j->rank] = MXFP4_ELEMS / 2;
        j->rank += j->form == BACK_CODES;
    }
    if (!compose_tensor(chosen, &parts, j->dim, j->rank, j->part[0].tensor, j->w->memory, err))
        return false;
    if (j->form == BACK_ELEMENTS)
        chosen->dtype = j->w->how->matrices;
    else
        chosen->dtype = DTYPE_U8;
    for (size_t i = 0; i < j->n && j->form == BACK_ELEMENTS && chosen->dtype != DTYPE_F32; i++)
        if (!join_type(&chosen->dtype, j->w, j->part[i].tensor, j->part[i].v.op, j->part[i].v.nops, err))
            return false;
    return set_name(chosen, j, err);
}

bool
back_join(struct chosen *chosen, struct back_work *w, const struct back_source *source, enum back_form form, struct err *err)
{
    struct back_joint j = { .w = w, .source = source, .form = form };
    size_t most = 0;
    bool ok = true;
    for (size_t i = 0; i < source->n; i++)
        most += w->family->rows.at[source->row[i]].nparts;
    if (w->how->side != VERBS_WEIGHT && most != 1)
        return rows_fail(source->tensor[0], ERR_UNSUPPORTED, "several tensors or parts make up one weight of the model, which is not "
            "taken apart in an adapter", err);
    j.part = malloc((2 * most + 1) * sizeof *j.part);   /* each with what it skips */
    if (!j.part)
        return err_memory(err, (2 * most + 1) * sizeof *j.part);
    for (size_t i = 0; ok && i < source->n; i++)
        ok = back_join_add_tensor(&j, &w->family->rows.at[source->row[i]], source->tensor[i], err);
    ok = ok && back_join_finish(chosen, &j, err);
    free(j.part);
    return ok;
}
