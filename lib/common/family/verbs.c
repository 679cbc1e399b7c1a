#include "family/verbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* Fails, naming the tensor, its shape, the line and the sizes that do not fit. */
static bool
misfit(const struct verbs *v, const struct verb *verb, const char *what, struct err *err)
{
    char name[STR_SHOWN], shape[SHAPE_TEXT];
    return err_set(err, ERR_MALFORMED, "tensor %s: shape %s: %s: %s: %s", str_shown(name, v->tensor->name,
        v->tensor->name_len), shape_text(shape, &v->tensor->shape), v->row->where, verb->word, what);
}

/* Fails because elements would have to move in a way that sizes and strides do not describe. */
static bool
knotted(const struct verbs *v, const struct verb *verb, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "%s: %s: a dimension that was reordered cannot be divided into these "
        "sizes", v->row->where, verb->word);
}

/* Fails like misfit(), with the sizes of the verb. */
static bool
bad_sizes(const struct verbs *v, const struct verb *verb, uint64_t all, const uint64_t *size, uint32_t n, struct err *err)
{
    char text[256];
    int used = snprintf(text, sizeof text, "a dimension of %" PRIu64 " does not consist of", all);
    for (uint32_t i = 0; i < n && used > 0 && (size_t)used < sizeof text; i++) {
        char number[24] = "*";
        if (size[i] != 0)
            snprintf(number, sizeof number, "%" PRIu64, size[i]);
        used += snprintf(text + used, sizeof text - (size_t)used, "%s %s", i == 0 ? "" : " x", number);
    }
    return misfit(v, verb, text, err);
}

static bool
size_of(uint64_t *n, const struct verbs *v, const struct expr *e, struct err *err)
{
    return expr_size(n, e, v->scope, v->b, err);
}

/* Evaluates argument i as a dimension below `rank`. */
static bool
dimension(uint32_t *d, const struct verbs *v, const struct verb *verb, uint32_t i, uint32_t rank, struct err *err)
{
    uint64_t n;
    if (!verb->arg[i])
        return misfit(v, verb, "'*' is not a dimension", err);
    if (!size_of(&n, v, verb->arg[i], err))
        return false;
    *d = (uint32_t)num_min(n, UINT32_MAX);
    return n < rank || misfit(v, verb, "the tensor has fewer dimensions", err);
}

/* Evaluates n arguments from `at` on as sizes; 0: '*'. */
static bool
sizes(uint64_t *size, const struct verbs *v, const struct verb *verb, uint32_t at, uint32_t n, struct err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        size[i] = 0;
        if (verb->arg[at + i] && !size_of(&size[i], v, verb->arg[at + i], err))
            return false;
        if (verb->arg[at + i] && size[i] == 0)
            return misfit(v, verb, "a size is 0", err);
    }
    return true;
}

/* Replaces the one '*' by the size that remains of `all`. */
static bool
verbs_resolve(uint64_t *size, uint32_t n, uint64_t all)
{
    uint64_t known = 1, *star = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (size[i] == 0 && star)
            return false;
        if (size[i] == 0)
            star = &size[i];
        else if (!num_mul(&known, known, size[i]))
            return false;
    }
    if (star && all % known == 0)
        *star = all / known;
    if (star)
        return all % known == 0 && *star != 0;
    return known == all;
}

/* Turns dimension d into dimensions with these sizes. An open dimension only gets dimensions of 1 beside it. */
static bool
view(struct verbs *v, const struct verb *verb, uint32_t d, uint64_t *size, uint32_t n, struct err *err)
{
    uint64_t all = moves_size(&v->moves, d);
    uint32_t main = n, i = 0;
    if (!moves_is_open(&v->moves, d)) {
        if (!verbs_resolve(size, n, all))
            return bad_sizes(v, verb, all, size, n, err);
        return moves_view(&v->moves, d, size, n) || knotted(v, verb, err);
    }
    for (; i < n; i++)
        if (size[i] != 1 && main != n)
            break;
        else if (size[i] != 1)
            main = i;
    if (i != n)
        return err_set(err, ERR_UNSUPPORTED, "%s: parts of a dimension that is divided before cannot be joined",
            v->row->where);
    main = main == n ? 0 : main;
    bool ok = true;
    for (i = 0; ok && i < main; i++)
        ok = moves_insert(&v->moves, d);
    for (i = main + 1; ok && i < n; i++)
        ok = moves_insert(&v->moves, d + i);
    return ok || misfit(v, verb, "too many dimensions", err);
}

/* Merges dimensions from d on, whose sizes must be these. The size of an open dimension is not known yet. */
static bool
merge(struct verbs *v, const struct verb *verb, uint32_t d, const uint64_t *size, uint32_t n, struct err *err)
{
    if (d + n > v->moves.rank)
        return misfit(v, verb, "the tensor has fewer dimensions", err);
    for (uint32_t i = 0; i < n; i++)
        if (size[i] != 0 && size[i] != moves_size(&v->moves, d + i) && !moves_is_open(&v->moves, d + i))
            return bad_sizes(v, verb, moves_size(&v->moves, d + i), &size[i], 1, err);
    moves_merge(&v->moves, d, n);
    return true;
}

/* VIEW, or the inverse of MERGE; MERGE, or the inverse of VIEW. */
static bool
regroup(struct verbs *v, const struct verb *verb, bool splits, struct err *err)
{
    uint64_t size[FAMILY_VERB_ARGS];
    uint32_t d, n = verb->nargs - 1;
    if (!dimension(&d, v, verb, 0, v->moves.rank, err) || !sizes(size, v, verb, 1, n, err))
        return false;
    if (splits)
        return view(v, verb, d, size, n, err);
    return merge(v, verb, d, size, n, err);
}

/* ORDER and PAIRS, and their inverses. */
static bool
reorder(struct verbs *v, const struct verb *verb, bool back, struct err *err)
{
    static const uint32_t pairs[] = { 0, 2, 1 };
    bool halves = verb->kind == VERB_PAIRS;
    uint64_t size[FAMILY_VERB_ARGS] = { 0, 2, 0 }, moved[FAMILY_VERB_ARGS];
    uint32_t d = 0, n = halves ? 3 : verb->nargs - 1, from[FAMILY_VERB_ARGS];
    const uint32_t *perm = pairs;
    if (!halves)
        perm = verb->perm;
    if (halves ? !sizes(size, v, verb, 0, 1, err)
            : !dimension(&d, v, verb, 0, v->moves.rank, err) || !sizes(size, v, verb, 1, n, err))
        return false;
    if (v->moves.rank == 0)
        return misfit(v, verb, "the tensor has fewer dimensions", err);
    uint64_t all = moves_size(&v->moves, d);
    if (moves_is_open(&v->moves, d))
        return err_set(err, ERR_UNSUPPORTED, "%s: parts of a dimension in another order cannot be joined",
            v->row->where);
    if (!verbs_resolve(size, n, all))
        return bad_sizes(v, verb, all, size, n, err);
    for (uint32_t i = 0; i < n; i++) {
        moved[i] = size[perm[i]];
        from[perm[i]] = i;
    }
    if (!moves_view(&v->moves, d, back ? moved : size, n))
        return knotted(v, verb, err);
    moves_permute(&v->moves, d, back ? from : perm, n);
    moves_merge(&v->moves, d, n);
    return true;
}

static bool
swap(struct verbs *v, const struct verb *verb, struct err *err)
{
    uint32_t d, e;
    if (!dimension(&d, v, verb, 0, v->moves.rank, err) || !dimension(&e, v, verb, 1, v->moves.rank, err))
        return false;
    moves_swap(&v->moves, d, e);
    return true;
}

/* PART and CUT. */
static bool
slice(struct verbs *v, const struct verb *verb, bool cuts, struct err *err)
{
    uint64_t from = 0, n = 0;
    uint32_t d;
    char text[96];
    if (!dimension(&d, v, verb, 0, v->moves.rank, err) || (!cuts && !size_of(&from, v, verb->arg[1], err)))
        return false;
    uint64_t all = moves_size(&v->moves, d);
    const struct expr *count = verb->arg[cuts ? 1 : 2];
    if (!count)
        n = all - num_min(from, all);
    else if (!size_of(&n, v, count, err))
        return false;
    if (cuts && (n == 0 || n >= all))           /* 0: the number is not known */
        return true;
    snprintf(text, sizeof text, "%" PRIu64 " from %" PRIu64 " on are not part of a dimension of %" PRIu64, n, from, all);
    if (n == 0 || from > all || n > all - from)
        return misfit(v, verb, text, err);
    return moves_slice(&v->moves, d, from, n) || knotted(v, verb, err);
}

/* The inverse of PART: opens the dimension. */
static bool
open(struct verbs *v, const struct verb *verb, struct err *err)
{
    uint32_t d;
    uint64_t n = 0;
    if (v->count != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: a part of a part cannot be put back", v->row->where);
    if (!dimension(&d, v, verb, 0, v->moves.rank, err) || !size_of(&v->from, v, verb->arg[1], err)
            || (verb->arg[2] && !size_of(&n, v, verb->arg[2], err)))
        return false;
    v->count = moves_size(&v->moves, d);
    if (verb->arg[2] && n != v->count)
        return bad_sizes(v, verb, v->count, &n, 1, err);
    moves_set_open(&v->moves, d);
    return true;
}

/* SKIP and its inverse. */
static bool
skip(struct verbs *v, const struct verb *verb, bool back, struct err *err)
{
    uint32_t d = 0;
    uint64_t n = 0;
    char text[96];
    if (!dimension(&d, v, verb, 0, v->moves.rank, err) || !size_of(&n, v, verb->arg[1], err))
        return false;
    uint64_t all = moves_size(&v->moves, d);
    if (n == 0)
        return true;
    if (back && v->count != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: a part of a part cannot be put back", v->row->where);
    if (back) {
        v->skipped = v->from = n;
        v->count = all;
        moves_set_open(&v->moves, d);
        return true;
    }
    snprintf(text, sizeof text, "a dimension of %" PRIu64 " has nothing after the first %" PRIu64, all, n);
    if (n >= all)
        return misfit(v, verb, text, err);
    return moves_slice(&v->moves, d, n, all - n) || knotted(v, verb, err);
}

/* BLANK: 0 for every number; no -0. */
static bool
blank(struct verbs *v, const struct verb *verb, struct err *err)
{
    if (v->nops + 2 > VERBS_OPERATIONS)
        return misfit(v, verb, "too many operations", err);
    v->op[v->nops++] = (struct operation){ OPERATION_MULTIPLY, 0 };
    v->op[v->nops++] = (struct operation){ OPERATION_ADD, 0 };
    return true;
}

bool
verbs_skipped(struct verbs *v, struct err *err)
{
    const struct verb *last = &v->part->verb[v->part->n - 1];
    char text[96];
    uint32_t d = 0;
    while (!moves_is_open(&v->moves, d))
        d++;
    snprintf(text, sizeof text, "a dimension of %" PRIu64 " has no place for the %" PRIu64 " before it", v->count, v->skipped);
    if (v->skipped > v->count || !moves_slice(&v->moves, d, 0, v->skipped))
        return misfit(v, last, text, err);
    v->from = 0;
    v->count = v->skipped;
    return blank(v, last, err);
}

static bool
operate(struct verbs *v, const struct verb *verb, bool back, struct err *err)
{
    double x = 0;
    if (v->nops == VERBS_OPERATIONS)
        return misfit(v, verb, "too many operations", err);
    if (verb->kind != VERB_NEGEXP && !expr_number(&x, verb->arg[0], v->scope, v->b, err))
        return false;
    const struct operation op = { verb->kind == VERB_ADD ? OPERATION_ADD : verb->kind == VERB_MUL ? OPERATION_MULTIPLY
        : OPERATION_NEGATIVE_EXP, (float)x };
    if (back)
        v->op[v->nops++] = operation_inverse(op);
    else
        v->op[v->nops++] = op;
    return true;
}

static bool
verbs_apply(struct verbs *v, const struct verb *verb, bool back, struct err *err)
{
    switch (verb->kind) {
    case VERB_VIEW: case VERB_MERGE:
        return regroup(v, verb, (verb->kind == VERB_VIEW) != back, err);
    case VERB_ORDER: case VERB_PAIRS:
        return reorder(v, verb, back, err);
    case VERB_SWAP:
        return swap(v, verb, err);
    case VERB_PART:
        if (back)
            return open(v, verb, err);
        return slice(v, verb, false, err);
    case VERB_SKIP:
        return skip(v, verb, back, err);
    case VERB_CUT:
        return back || slice(v, verb, true, err);
    case VERB_ADD: case VERB_MUL: case VERB_NEGEXP:
        return operate(v, verb, back, err);
    case VERB_BLANK:
        return blank(v, verb, err);
    case VERB_JOIN: case VERB_BY:       /* of the whole row */
        break;
    case VERB_F32: case VERB_F16: case VERB_HALF:
        v->type = verb;
        break;
    }
    return true;
}

/* Fails for a verb that mixes rows and columns, or adds to the values. */
static bool
verbs_no_factor(const struct verbs *v, const struct verb *verb, struct err *err)
{
    char name[STR_SHOWN];
    return err_set(err, ERR_UNSUPPORTED, "tensor %s: %s: %s cannot be applied to the factors of an adapter", str_shown(name,
        v->tensor->name, v->tensor->name_len), v->row->where, verb->word);
}

/* Applies a verb that moves elements along a dimension of the weight to the factor that has this dimension. */
static bool
move_factor(struct verbs *v, const struct verb *verb, bool back, struct err *err)
{
    uint32_t d = 0, more = verb->kind == VERB_VIEW || verb->kind == VERB_MERGE ? verb->nargs - 2 : 0;
    bool splits = more != 0 && (verb->kind == VERB_VIEW) != back, merges = more != 0 && !splits;
    if (verb->kind != VERB_PAIRS && !dimension(&d, v, verb, 0, v->rank, err))
        return false;
    bool last = d + (merges ? more : 0) + 1 >= v->rank;
    if (verb->kind == VERB_SWAP || (last && (more != 0 || v->rank != v->moves.rank)))
        return verbs_no_factor(v, verb, err);
    if (splits)
        v->rank += more;
    else if (merges)
        v->rank -= more;
    v->columns = v->columns || last;
    return last != (v->side == VERBS_COLUMNS) || verbs_apply(v, verb, back, err);
}

/* Applies a verb to a weight, or to a factor of its change. */
static bool
verbs_apply_to(struct verbs *v, const struct verb *verb, bool back, struct err *err)
{
    if (v->side == VERBS_WEIGHT)
        return verbs_apply(v, verb, back, err);
    switch (verb->kind) {
    case VERB_ADD: case VERB_NEGEXP: case VERB_BLANK: case VERB_BY:
        return verbs_no_factor(v, verb, err);
    case VERB_MUL:
        return v->side == VERBS_COLUMNS || verbs_apply(v, verb, back, err);
    case VERB_F32: case VERB_F16: case VERB_HALF:
        return true;
    default:
        return move_factor(v, verb, back, err);
    }
}

bool
verbs_forward(struct verbs *v, struct err *err)
{
    for (size_t i = 0; i < v->part->n; i++)
        if (!verbs_apply_to(v, &v->part->verb[i], false, err))
            return false;
    return true;
}

bool
verbs_backward(struct verbs *v, struct err *err)
{
    for (size_t i = v->part->n; i-- > 0;)
        if (!verbs_apply_to(v, &v->part->verb[i], true, err))
            return false;
    return true;
}

/* Follows the first dimension through one verb; 0: unknown. */
static bool
follow(uint64_t *n, const struct verbs *v, const struct verb *verb, struct err *err)
{
    uint64_t size[FAMILY_VERB_ARGS], d = 0;
    uint32_t count = verb->nargs - 1;
    bool moves = verb->kind <= VERB_CUT && verb->kind != VERB_ORDER;
    if (!moves || !verb->arg[0])
        return true;
    if (!size_of(&d, v, verb->arg[0], err))
        return false;
    if (verb->kind == VERB_SWAP) {
        uint64_t e;
        if (!size_of(&e, v, verb->arg[1], err))
            return false;
        *n = d != 0 && e != 0 ? *n : 0;
        return true;
    }
    if (d != 0 || verb->kind == VERB_CUT)
        return true;
    if (verb->kind == VERB_SKIP) {
        *n = 0;
        return true;
    }
    if (verb->kind == VERB_PART) {
        *n = 0;
        return !verb->arg[2] || size_of(n, v, verb->arg[2], err);
    }
    if (!sizes(size, v, verb, 1, count, err))
        return false;
    if (verb->kind == VERB_VIEW) {
        if (*n != 0)
            verbs_resolve(size, count, *n);
        *n = size[0];
        return true;
    }
    uint64_t all = size[0] != 0 ? size[0] : *n;
    for (uint32_t i = 1; i < count; i++)
        if (!num_mul(&all, all, size[i]))
            return misfit(v, verb, "the sizes overflow", err);
    *n = all;
    return true;
}

/* Sets *n to the length of the last `part` along dimension 1, or to 0. */
static bool
second_length(uint64_t *n, const struct verbs *v, struct err *err)
{
    *n = 0;
    for (size_t i = 0; i < v->part->n; i++) {
        const struct verb *verb = &v->part->verb[i];
        uint64_t d = 0;
        if (verb->kind != VERB_PART)
            continue;
        if (!size_of(&d, v, verb->arg[0], err) || (d == 1 && verb->arg[2] && !size_of(n, v, verb->arg[2], err)))
            return false;
    }
    return true;
}

bool
verbs_length(uint64_t *n, const struct verbs *v, uint32_t d, struct err *err)
{
    if (d == 1)
        return second_length(n, v, err);
    *n = 0;
    for (size_t i = 0; i < v->part->n; i++)
        if (!follow(n, v, &v->part->verb[i], err))
            return false;
    return true;
}

void
verbs_shape(uint64_t dim[LAYOUT_RANK], const struct verbs *v, uint64_t whole)
{
    for (uint32_t d = 0; d < v->moves.rank; d++) {
        dim[d] = moves_size(&v->moves, d);
        if (moves_is_open(&v->moves, d))
            dim[d] = dim[d] / v->count * whole;
    }
}
