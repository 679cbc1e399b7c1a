#include "family/back_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "family/product.h"

enum { NONE = UINT32_MAX, GROUP_ROWS = 64 };

/* --- rows */

/* Appends the GGUF name of a row with the numbers of its holes: {b} for one that grows with the layer. */
static bool
add_pattern(struct str *s, struct back_work *w, uint32_t number, struct err *err)
{
    const struct family_row *row = &w->family->rows.at[number];
    struct back_row *back = &w->row[number];
    size_t hole = 0;
    bool any = false;
    for (const char *p = row->gguf; *p;) {
        size_t plain = strcspn(p, "{");
        uint64_t at0, at1;
        str_add(s, p, plain);
        p += plain;
        if (!*p)
            break;
        const struct expr *e = row->shift[hole++];
        if (!expr_size(&at0, e, w->scope, 0, err) || !expr_size(&at1, e, w->scope, 1, err))
            return false;
        if (at1 != at0 && (at1 != at0 + 1 || (any && back->shift != at0)))
            return err_set(err, ERR_UNSUPPORTED, "%s: the layer cannot be found from the number in a GGUF name",
                row->where);
        if (at1 == at0) {
            str_format(s, "%" PRIu64, at0);
        } else {
            str_text(s, "{b}");
            back->shift = at0;
            any = true;
        }
        p += strcspn(p, "}") + 1;
    }
    return !s->failed || err_memory(err, s->len);
}

static const char *
group_name(const void *of, uint32_t number, size_t *n)
{
    const struct back_work *w = of;
    const struct family_row *row = &w->family->rows.at[w->group[number].first];
    *n = strlen(row->hf);
    return row->hf;
}

/* Puts a row into the group of its HF name. Rows of kept blocks have groups of their own. */
static bool
add_to_group(struct back_work *w, struct table *plain, struct table *kept, uint32_t number, struct err *err)
{
    const struct family_row *row = &w->family->rows.at[number];
    uint32_t group = (uint32_t)w->ngroups, *last;
    bool again = false;
    w->group[group] = (struct back_group){ number, 0 };
    if (!table_add(row->kept ? kept : plain, group_name, w, row->hf, strlen(row->hf), &group, &again, err))
        return false;
    w->ngroups += !again;
    w->row[number].group = group;
    w->row[number].next = NONE;
    if (again) {
        for (last = &w->group[group].first; w->row[*last].next != NONE;)
            last = &w->row[*last].next;
        w->row[*last].next = number;
    }
    return ++w->group[group].nrows <= GROUP_ROWS
        || err_set(err, ERR_LIMIT, "%s: more than %d rows of one source", row->where, GROUP_ROWS);
}

static bool
index_rows(struct back_work *w, struct err *err)
{
    struct str s = { 0 };
    struct table plain = { 0 }, kept = { 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->family->rows.n; i++) {
        s.len = 0;
        ok = add_pattern(&s, w, i, err) && name_index_add(w->index, str_or(s.p, ""), NULL, w->family->rows.at[i].where, err)
            && add_to_group(w, &plain, &kept, i, err);
    }
    str_clear(&s);
    table_clear(&plain);
    table_clear(&kept);
    return ok;
}

static bool
back_rows_begin(struct back_work *w, const struct choice *choice, struct err *err)
{
    size_t rows = w->family->rows.n;
    w->scope->keys = w->keys;
    if (!family_sources_of_gguf(&w->tensors, w->scope, choice, w->how->model, err))
        return false;
    w->scope->keys = NULL;              /* names in rows are members */
    w->scope->tensors = family_sources_scope(w->tensors);
    size_t n = family_sources_count(w->tensors);
    w->state = calloc(n + 1, sizeof *w->state);
    w->row = calloc(rows + 1, sizeof *w->row);
    w->group = calloc(rows + 1, sizeof *w->group);
    w->index = name_index_new(err);
    if (!w->state || !w->row || !w->group)
        return err_memory(err, (rows + n + 1) * sizeof *w->row);
    return w->index && scope_layers(&w->main, "main", w->scope, err) && index_rows(w, err);
}

/* --- sources */

static size_t
back_rows_number_of(const struct back_work *w, const struct family_source *tensor)
{
    return (size_t)(tensor - family_sources_at(w->tensors, 0));
}

/* Returns true if a tensor has blocks that a row with a tag takes. A stack is dequantized: no quantizer writes its experts one by one
 * under the names of gpt-oss. */
static bool
is_kept(const struct back_work *w, const struct family_source *tensor, const struct family_row *row)
{
    const struct weight *weight = tensor->chosen.decode;
    return w->how->blocks && weight && weight->part[0]->dtype == DTYPE_MXFP4 && strcmp(row->kept, "mxfp4") == 0
        && !row->stacks && !weight->part[0]->layout;
}

/* The rows of a group that apply to a layer, and their tensors. */
struct back_set {
    uint32_t row[GROUP_ROWS];
    const struct family_source *tensor[GROUP_ROWS];
    size_t n;
};

/* Finds the tensors that the rows of a group make for layer b. Sets *complete if all exist and are free. */
static bool
back_rows_collect(bool *complete, struct back_set *set, struct back_work *w, uint32_t group, uint64_t b, struct err *err)
{
    *complete = true;
    set->n = 0;
    for (uint32_t i = w->group[group].first; *complete && i != NONE; i = w->row[i].next) {
        const struct family_row *row = &w->family->rows.at[i];
        const char *name;
        uint32_t n;
        bool applies;
        if (row->layered && b >= w->main)
            continue;
        if (!expr_true(&applies, row->when, w->scope, b, err))
            return false;
        if (!applies)
            continue;
        if (!rows_output_name(&name, &n, w->scope, row, b, w->memory, err))
            return false;
        const struct family_source *tensor = family_sources_find(w->tensors, name, n);
        *complete = tensor && !w->state[back_rows_number_of(w, tensor)].taken && (!row->kept || is_kept(w, tensor, row));
        set->row[set->n] = i;
        set->tensor[set->n++] = tensor;
    }
    *complete = *complete && set->n != 0;
    return true;
}

static bool
back_rows_fail(const struct family_source *tensor, enum err_kind kind, const char *what, struct err *err)
{
    return rows_fail(tensor, kind, what, err);
}

struct chosen *
back_rows_new(struct back_work *w, struct err *err)
{
    struct chosen *out = array_grow(w->out, w->nout, &w->room, sizeof *out, err);
    if (out) {
        w->out = out;
        return &out[w->nout];
    }
    return NULL;
}

/* Adds a source: one tensor, or the codes and the scales of kept blocks. */
static bool
back_rows_add(struct back_work *w, const struct back_source *source, struct err *err)
{
    bool kept = w->family->rows.at[source->row[0]].kept != NULL;
    for (unsigned i = 0; i < (kept ? 2 : 1); i++) {
        struct chosen *out = back_rows_new(w, err);
        enum back_form form = BACK_SCALES;
        if (!kept)
            form = BACK_ELEMENTS;
        else if (i == 0)
            form = BACK_CODES;
        if (!out || !back_join(out, w, source, form, err))
            return false;
        w->nout++;
    }
    w->kept = w->kept || kept;
    return true;
}

/* Makes the source of a group, or all sources if it stacks, and takes the tensors. */
static bool
back_rows_make(struct back_work *w, const struct back_set *set, uint64_t b, struct err *err)
{
    const struct family_row *row = &w->family->rows.at[set->row[0]];
    struct back_source source = { .row = set->row, .tensor = set->tensor, .n = set->n, .b = b };
    for (size_t i = 0; i < set->n; i++) {
        const struct family_source *t = set->tensor[i];
        w->state[back_rows_number_of(w, t)].taken = true;
        if (!dtype_is_float(t->chosen.dtype))
            return back_rows_fail(t, ERR_UNSUPPORTED, "expected a floating-point dtype", err);
        if (!row->stacks)
            continue;
        uint64_t n = 0;
        if (t->t.shape.rank != 0)
            n = shape_dim(&t->t.shape, 0);
        if (row->joined && !expr_size(&n, row->joined, w->scope, b, err))
            return false;
        if (row->joined && (n == 0 || t->t.shape.rank == 0 || shape_dim(&t->t.shape, 0) % n != 0))
            return back_rows_fail(t, ERR_MALFORMED, "its first dimension does not divide into the members of its row", err);
        if (n == 0 || (i != 0 && n != source.stack))
            return back_rows_fail(t, ERR_MALFORMED, "expected as many experts as the other tensors of the layer", err);
        source.stack = n;
    }
    for (source.x = 0; source.x < (row->stacks ? source.stack : 1); source.x++)
        if (!back_rows_add(w, &source, err))
            return false;
    return true;
}

static bool
is_generated(const struct back_work *w, const struct tensor *t)
{
    for (size_t i = 0; i < w->family->makes.n; i++) {
        const char *name = w->family->makes.at[i].gguf;
        if (str_is(t->name, t->name_len, name))
            return true;
    }
    return false;
}

/* Notes a tensor that does not become a source. `row`: a row matches, but more of its tensors are missing. */
static bool
back_rows_unknown(struct back_work *w, const struct family_source *t, bool row, struct err *err)
{
    char name[STR_SHOWN];
    if (w->how->skip_unknown)
        catalog_warn(w->memory, "tensor %s is left out: family %s has no row for it", str_shown(name, t->name, t->name_len),
            w->family->name);
    return rows_needs_add(row ? &w->incomplete : &w->unknown, t, err);
}

static bool
contains(const struct back_set *set, const struct family_source *t)
{
    bool found = false;
    for (size_t i = 0; i < set->n; i++)
        found = found || set->tensor[i] == t;
    return found;
}

/* Returns true if a row is of a layer that only its condition says. */
static bool
is_of_one_layer(const struct family_row *row)
{
    return row->when && row->nshift == 0 && strstr(row->hf, "{b}");
}

/* Makes the sources of the first row whose tensors all exist. `kept`: only rows for kept blocks count, else all but these. Sets
 * *done, and *any if a row has the name. */
static bool
apply_rows(bool *done, bool *any, struct back_work *w, const struct family_source *t, bool kept, struct err *err)
{
    struct name_walk walk;
    struct back_set set;
    uint32_t row;
    uint64_t number, x;
    *done = false;
    if (!name_walk_begin(&walk, w->index, t->t.name, t->t.name_len, NULL, err))
        return false;
    while (!*done && name_walk_next(&walk, &row, &number, &x)) {
        if (number < w->row[row].shift || (w->family->rows.at[row].kept != NULL) != kept)
            continue;
        uint64_t b = number - w->row[row].shift, last = b;
        if (is_of_one_layer(&w->family->rows.at[row]) && w->main != 0)
            last = w->main - 1;
        *any = true;
        for (; !*done && b <= last; b++) {
            if (!back_rows_collect(done, &set, w, w->row[row].group, b, err))
                return false;
            *done = *done && contains(&set, t);
            if (*done && !back_rows_make(w, &set, b, err))
                return false;
        }
    }
    return true;
}

/* --- towers */

/* Prefixes of tensors that are no part of the text model, as Ollama stores them in one file with it. */
static const char *const towers[] = { "v.", "mm.", "a.", "s.", "mtp." };

static bool
is_tower(struct back_work *w, const struct family_source *t)
{
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++)
        if (str_begins(t->t.name, towers[i])) {
            w->ntowers[i]++;
            return true;
        }
    return false;
}

static bool
warn_towers(const struct back_work *w, struct err *err)
{
    struct str s = { 0 };
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof towers / sizeof *towers; n += w->ntowers[i++])
        if (w->ntowers[i] != 0)
            str_format(&s, "%s%s*", s.len != 0 ? ", " : "", towers[i]);
    if (s.failed)
        return err_memory(err, s.len);
    if (n != 0)
        catalog_warn(w->memory, "%" PRIu64 " tensors of a vision or audio tower or of token prediction (%s) are left out: the "
            "directory gets the text model", n, s.p);
    str_clear(&s);
    return true;
}

/* Makes the sources that a tensor belongs to, unless it is taken. */
static bool
back_rows_add_tensor(struct back_work *w, size_t i, struct err *err)
{
    const struct family_source *t = family_sources_at(w->tensors, i);
    bool done = w->state[i].taken || is_generated(w, &t->t), any = false;
    if (!done && !apply_rows(&done, &any, w, t, true, err))
        return false;
    if (!done && !apply_rows(&done, &any, w, t, false, err))
        return false;
    return done || is_tower(w, t) || back_rows_unknown(w, t, any, err);
}

/* --- all of them */

static int
compare_names(const void *pa, const void *pb)
{
    const struct chosen *a = pa, *b = pb;
    return str_compare(a->name, a->name_len, b->name, b->name_len);
}

/* For rows_needs_check(). */
static bool
exists(const void *of, const char *name, size_t n)
{
    const struct back_work *w = of;
    return family_sources_find(w->tensors, name, n) != NULL;
}

/* Checks that nothing is missing, and then that nothing is unknown. */
static bool
check_all(struct back_work *w, struct err *err)
{
    struct rows_needs needs = { .family = w->family, .scope = w->scope, .memory = w->memory, .unknown = &w->unknown, .back = true,
        .exists = exists, .of = w };
    const struct rows_unknown *left = w->unknown.n != 0 ? &w->unknown : &w->incomplete;
    char text[192];
    if (!w->how->allow_missing && !w->how->adapter && !rows_needs_check(&needs, err))
        return false;
    snprintf(text, sizeof text, "family %s has no row for it%s%s", w->family->name,
        left == &w->incomplete ? ", or not all tensors that the row needs" : "",
        w->how->adapter ? "" : "; --skip-unknown leaves it out");
    return left->n == 0 || w->how->skip_unknown || back_rows_fail(left->at[0], ERR_MALFORMED, text, err);
}

bool
back_rows_choose(struct choice *choice, const struct family_tensors *how, struct err *err)
{
    struct back_work w = { .how = how, .family = how->family, .scope = how->scope, .memory = how->model->catalog };
    const struct scope_tensors was = how->scope->tensors;
    w.keys = how->scope->keys;
    how->scope->keys = NULL;            /* names in rows are members */
    bool ok = back_rows_begin(&w, choice, err);
    for (size_t i = 0; ok && i < family_sources_count(w.tensors); i++)
        ok = back_rows_add_tensor(&w, i, err);
    ok = ok && check_all(&w, err) && warn_towers(&w, err) && back_values_add(&w, err) && product_add_ones(&w, err);
    if (ok) {
        if (w.nout != 0)
            qsort(w.out, w.nout, sizeof *w.out, compare_names);
        free(choice->list);
        choice->list = w.out;
        choice->n = w.nout;
        if (w.kept)
            choice->matrices = DTYPE_MXFP4;
        else
            choice->matrices = how->matrices;
        choice->decodes = choice->decodes && !w.kept;
        w.out = NULL;
    }
    how->scope->tensors = was;
    how->scope->keys = w.keys;
    family_sources_free(w.tensors);
    name_index_free(w.index);
    free(w.state);
    free(w.row);
    free(w.group);
    free(w.out);
    rows_needs_clear(&w.unknown);
    rows_needs_clear(&w.incomplete);
    return ok && choice_distinct_or(choice, ERR_MALFORMED, "the file contains it twice", err);
}
