#include "plan/differences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "plan/composed.h"

static const char *const words[DIFFERENCE_STATUSES] = { "equal", "equal-values", "different", "only-a", "only-b", "shape",
    "dtype" };

const char *
difference_word(enum difference_status status)
{
    return words[status];
}

void
differences_clear(struct differences *d)
{
    choice_clear(&d->a);
    choice_clear(&d->b);
    losses_free(d->losses);
    free(d->list);
    *d = (struct differences){ 0 };
}

struct tensor
difference_tensor(const struct difference *d)
{
    return chosen_tensor(d->a ? d->a : d->b);
}

bool
difference_is_pair(const struct difference *d)
{
    return d->status <= DIFFERENCE_SOME;
}

/* --- pairs */

/* Chooses all tensors of a model, under their new names if it is A, and keeps those that the patterns select. */
static bool
differences_choose(struct choice *choice, const struct difference_side *side, const struct naming *naming, bool renames,
    struct err *err)
{
    bool ok = choice_make(choice, side->catalog, side->roles, KEEPS_NONE, DTYPE_F32, false, err)
        && (!side->translate || side->translate(side->of, choice, err));
    for (size_t i = 0; ok && renames && i < choice->n; i++)
        ok = naming_name(naming, choice, &choice->list[i], err);
    return ok && (!renames || naming_check_steps(naming, choice, err)) && choice_distinct(choice, err);
}

static void
keep_selected(struct choice *choice, const struct naming *naming)
{
    size_t n = 0;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        if (naming_keeps(naming, &t))
            choice->list[n++] = choice->list[i];
    }
    choice->n = n;
}

/* Checks that each pattern matches a tensor of A or of B. */
static bool
check_patterns(const struct differences *d, const struct naming *naming, struct err *err)
{
    struct err ignored;
    err_init(&ignored);
    return naming_check(naming, &d->b, &ignored) || naming_check(naming, &d->a, err);
}

static const char *
name_of_b(const void *of, uint32_t number, size_t *n)
{
    const struct choice *b = of;
    const struct tensor t = chosen_tensor(&b->list[number]);
    *n = t.name_len;
    return t.name;
}

static bool
is_integer(enum dtype dtype)
{
    return dtype_facts(dtype)->kind == DTYPE_IS_INT || dtype_facts(dtype)->kind == DTYPE_IS_BOOL;
}

void
difference_stored(const struct chosen *chosen, const struct tensor **copy, const struct weight **decode)
{
    *copy = chosen->copy;
    *decode = chosen->decode;
    if (chosen->composed && chosen->composed->n != 0) {
        *copy = chosen->composed->part[0].copy;
        *decode = chosen->composed->part[0].decode;
    }
}

/* Notes that one side is quantized and the other has a type of 16 bits, to which a dequantized copy is rounded. */
static void
set_rounded(struct difference *d, const struct chosen *a, const struct chosen *b)
{
    const struct tensor *copy_a, *copy_b;
    const struct weight *decode_a, *decode_b;
    difference_stored(a, &copy_a, &decode_a);
    difference_stored(b, &copy_b, &decode_b);
    const struct tensor *dense = copy_a;
    if (decode_a && !decode_b)
        dense = copy_b;
    d->rounded = DTYPE_UNKNOWN;
    if (!decode_a != !decode_b && dense && (dense->dtype == DTYPE_BF16 || dense->dtype == DTYPE_F16))
        d->rounded = dense->dtype;
    d->rounds_a = decode_a != NULL;
}

/* Returns true if both are stored in the same way: their values then have the same bits exactly if they are equal. */
static bool
same_type(const struct chosen *a, const struct chosen *b)
{
    char detail_a[SCHEME_DETAIL] = "", detail_b[SCHEME_DETAIL] = "";
    if (a->composed || b->composed)
        return false;
    if (!a->decode || !b->decode)
        return !a->decode && !b->decode && a->copy->dtype == b->copy->dtype;
    if (a->decode->scheme != b->decode->scheme || a->decode->part[0]->dtype != b->decode->part[0]->dtype)
        return false;
    a->decode->scheme->describe(a->decode, detail_a);
    b->decode->scheme->describe(b->decode, detail_b);
    return strcmp(detail_a, detail_b) == 0;
}

/* Decides how a pair is compared, and the types that its elements are read as. */
static void
match(struct difference *d, struct chosen *a, struct chosen *b)
{
    const struct tensor ta = chosen_tensor(a), tb = chosen_tensor(b);
    bool floats = dtype_is_float(ta.dtype) && dtype_is_float(tb.dtype), sized;
    uint64_t nbytes;
    d->first = DIFFERENCE_NOWHERE;
    if (ta.shape.rank != tb.shape.rank || !shape_same(&ta.shape, &tb.shape, ta.shape.rank)) {
        d->status = DIFFERENCE_SHAPE;
        return;
    }
    shape_numel(&ta.shape, &d->n);
    d->bits = !same_type(a, b);
    set_rounded(d, a, b);
    if (floats)
        d->kind = ta.dtype == DTYPE_F64 || tb.dtype == DTYPE_F64 ? DIFFERENCE_DOUBLES : DIFFERENCE_FLOATS;
    else if (is_integer(ta.dtype) && is_integer(tb.dtype))
        d->kind = DIFFERENCE_INTS;
    else if (ta.dtype == tb.dtype && dtype_facts(ta.dtype)->elems == 1 && shape_nbytes(&ta.shape, ta.dtype, &nbytes, &sized))
        d->kind = DIFFERENCE_BYTES;
    else
        d->status = DIFFERENCE_DTYPE;
    if (!floats || ta.dtype == tb.dtype)
        return;
    if (ta.dtype == DTYPE_F64)
        a->dtype = DTYPE_F64;
    else
        a->dtype = DTYPE_F32;
    if (tb.dtype == DTYPE_F64)
        b->dtype = DTYPE_F64;
    else
        b->dtype = DTYPE_F32;
}

/* Pairs each tensor of A with its namesake in B. The table has the tensors of B; `paired` has one flag for each of them. */
static void
pair(struct differences *d, const struct table *table, bool *paired)
{
    for (size_t i = 0; i < d->a.n; i++) {
        struct difference *one = &d->list[d->n++];
        const struct tensor t = chosen_tensor(&d->a.list[i]);
        uint32_t number;
        *one = (struct difference){ .status = DIFFERENCE_ONLY_A, .a = &d->a.list[i], .first = DIFFERENCE_NOWHERE };
        if (!table_find(table, name_of_b, &d->b, t.name, t.name_len, &number))
            continue;
        paired[number] = true;
        one->status = DIFFERENCE_EQUAL;
        one->b = &d->b.list[number];
        d->common++;
        match(one, &d->a.list[i], &d->b.list[number]);
    }
    for (size_t i = 0; i < d->b.n; i++)
        if (!paired[i])
            d->list[d->n++] = (struct difference){ .status = DIFFERENCE_ONLY_B, .b = &d->b.list[i],
                .first = DIFFERENCE_NOWHERE };
}

bool
differences_pair(struct differences *d, const struct difference_side *a, const struct difference_side *b,
    const struct naming *naming, struct err *err)
{
    struct table table = { 0 };
    *d = (struct differences){ 0 };
    if (!differences_choose(&d->a, a, naming, true, err) || !differences_choose(&d->b, b, naming, false, err)
        || !check_patterns(d, naming, err))
        return false;
    keep_selected(&d->a, naming);
    keep_selected(&d->b, naming);
    bool *paired = calloc(d->b.n + 1, sizeof *paired), again;
    d->list = calloc(d->a.n + d->b.n + 1, sizeof *d->list);
    d->losses = losses_new(d->a.n + d->b.n, err);
    bool ok = (paired && d->list) || err_memory(err, (d->a.n + d->b.n) * sizeof *d->list);
    ok = ok && d->losses && table_reserve(&table, d->b.n, err);
    for (size_t i = 0; ok && i < d->b.n; i++) {
        const struct tensor t = chosen_tensor(&d->b.list[i]);
        uint32_t number = (uint32_t)i;
        ok = table_add(&table, name_of_b, &d->b, t.name, t.name_len, &number, &again, err);
    }
    if (ok)
        pair(d, &table, paired);
    table_clear(&table);
    free(paired);
    return ok;
}

/* --- results */

static enum difference_status
status_of(const struct difference *one)
{
    if (one->count != 0)
        return one->rounded == DTYPE_UNKNOWN || one->unexplained ? DIFFERENCE_SOME : DIFFERENCE_VALUES;
    return one->bits ? DIFFERENCE_VALUES : DIFFERENCE_EQUAL;
}

void
differences_count(struct differences *d)
{
    memset(d->count, 0, sizeof d->count);
    for (size_t i = 0; i < d->n; i++) {
        struct difference *one = &d->list[i];
        if (difference_is_pair(one))
            one->status = status_of(one);
        d->count[one->status]++;
    }
}

struct loss
difference_loss(const struct differences *d, size_t i)
{
    const struct difference *one = &d->list[i];
    struct loss loss = losses_of(d->losses, i);
    loss.n = one->n - one->nonfinite;
    if (loss.n != 0)
        loss.distance = loss.distance * ((double)one->n / (double)loss.n);
    else
        loss.distance = 0;
    loss.most = one->most;
    if (one->count == 0) {                                  /* also without elements; a quotient would be rounded */
        loss.cosine = 1;
        loss.sqnr = INFINITY;
    }
    return loss;
}
