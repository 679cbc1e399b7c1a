#include "family/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "family/pattern.h"
#include "family/rows_priv.h"

struct rows_when {
    uint64_t b;
    bool known, yes;
};

/* Sets *yes to the truth of a condition for layer b, remembered for the last b. */
static bool
rows_when(bool *yes, struct rows_work *w, uint32_t row, uint64_t b, struct err *err)
{
    struct rows_when *when = &w->when[row];
    if (!when->known || when->b != b) {
        if (!expr_true(&when->yes, w->family->rows.at[row].when, w->scope, b, err))
            return false;
        when->known = true;
        when->b = b;
    }
    *yes = when->yes;
    return true;
}

/* --- one source */

static bool
twice(const struct row_output *out, const struct row_match *match, struct err *err)
{
    char a[STR_SHOWN], b[STR_SHOWN], shown[STR_SHOWN];
    const struct family_source *x = out->match.source, *y = match->source;
    return err_set(err, ERR_MALFORMED, "tensors %s and %s: both would be %s", str_shown(a, x->name, x->name_len),
        str_shown(b, y->name, y->name_len), str_shown(shown, out->name, out->name_len));
}

static const char *
group_name(const void *of, uint32_t number, size_t *n)
{
    const struct rows_work *w = of;
    *n = w->group[number].n;
    return w->group[number].name;
}

/* Finds or adds the group of a stack, and moves it to the place of this member. */
static bool
find_group(uint32_t *number, struct rows_work *w, const struct family_row *row, const struct row_match *match, size_t place,
    struct err *err)
{
    const struct tensor *t = &match->source->t;
    const char *tail = strstr(row->hf, "{x}");
    bool again = false;
    size_t n = t->name_len - strlen(tail + 3);
    while (n != 0 && t->name[n - 1] >= '0' && t->name[n - 1] <= '9')
        n--;
    struct row_group *group = array_grow(w->group, w->ngroups, &w->group_room, sizeof *group, err);
    if (!group)
        return false;
    w->group = group;
    *number = (uint32_t)w->ngroups;
    group[w->ngroups] = (struct row_group){ t->name, n, place };
    if (!table_add(&w->groups, group_name, w, t->name, n, number, &again, err))
        return false;
    w->ngroups += !again;
    group[*number].place = place;
    return true;
}

static bool
rows_add_member(struct rows_work *w, uint32_t output, const struct row_match *match, struct err *err)
{
    struct row_member *member = array_grow(w->member, w->nmembers, &w->member_room, sizeof *member, err);
    if (!member)
        return false;
    w->member = member;
    member[w->nmembers++] = (struct row_member){ *match, output };
    return true;
}

/* Adds what a row makes of a source. */
static bool
rows_add_row(struct rows_work *w, uint32_t number, const struct row_match *match, size_t place, struct err *err)
{
    const struct family_row *row = &w->family->rows.at[number];
    struct row_output *list = array_grow(w->out, w->nout, &w->room, sizeof *list, err);
    uint32_t output = (uint32_t)w->nout;
    bool again = false;
    if (!list)
        return false;
    w->out = list;
    struct row_output *out = &list[w->nout];
    *out = (struct row_output){ .row = number, .place = place, .match = *match };
    if (!rows_output_name(&out->name, &out->name_len, w->scope, row, match->b, w->memory, err)
            || (row->stacks && !find_group(&out->group, w, row, match, place, err))
            || !rows_index(&output, &again, w, out, err))
        return false;
    if (again && (!row->stacks || list[output].row != number || list[output].group != out->group))
        return twice(&list[output], match, err);
    w->nout += !again;
    return !row->stacks || rows_add_member(w, output, match, err);
}

/* Returns true if a row makes the embedding, the last norm or the head, which a file of multi-token prediction has too. */
static bool
is_shared(const struct family_row *row)
{
    static const char *const names[] = { "token_embd.", "output_norm.", "output." };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_begins(row->gguf, names[i]))
            return true;
    return false;
}

static bool
unknown(struct rows_work *w, const struct family_source *source, bool beyond, struct err *err)
{
    char text[160], name[STR_SHOWN];
    bool media = true;
    if (beyond) {
        snprintf(text, sizeof text, "config.json declares fewer layers: %" PRIu64, w->main);
        return rows_fail(source, ERR_MALFORMED, text, err);
    }
    if (w->family->tower)
        family_sources_drops(source->name, source->name_len, &media);
    if (!media)                 /* of the text model */
        return true;
    if (w->how->skip_unknown)
        catalog_warn(w->memory, "tensor %s is left out: family %s has no row for it",
            str_shown(name, source->name, source->name_len), w->family->name);
    return rows_needs_add(&w->unknown, source, err);
}

/* Adds the outputs of a source by the rows with a tag, or without one. `shared`: only those that a file of multi-token
 * prediction needs. Sets *any if a row applies. */
static bool
apply_rows(bool *any, struct rows_work *w, size_t place, const char *tag, bool shared, struct err *err)
{
    struct row_match match = { .source = family_sources_at(w->sources, place) };
    const struct tensor *t = &match.source->t;
    struct name_walk walk;
    uint32_t row;
    bool beyond = false, applies;
    if (!name_walk_begin(&walk, w->index, t->name, t->name_len, tag, err))
        return false;
    *any = false;
    while (name_walk_next(&walk, &row, &match.b, &match.x)) {
        const struct family_row *r = &w->family->rows.at[row];
        if (r->layered && match.b >= w->main) {
            beyond = true;
            continue;
        }
        if (!rows_when(&applies, w, row, match.b, err))
            return false;
        *any = *any || applies;
        if (applies && !dtype_is_float(match.source->chosen.dtype))
            return rows_fail(match.source, ERR_UNSUPPORTED, "expected a floating-point dtype", err);
        if (applies && (!shared || is_shared(r)) && !rows_add_row(w, row, &match, place, err))
            return false;
    }
    return *any || shared || tag || unknown(w, match.source, beyond, err);
}

/* Adds the outputs of a source: from the rows for its blocks, if it is kept as blocks and there are any, else from plain rows. */
static bool
apply_all(struct rows_work *w, size_t place, bool shared, struct err *err)
{
    struct fp4_blocks b;
    bool any = false;
    if (rows_blocks(&b, w, family_sources_at(w->sources, place)) && b.dtype == DTYPE_MXFP4
            && !apply_rows(&any, w, place, "mxfp4", shared, err))
        return false;
    return any || apply_rows(&any, w, place, NULL, shared, err);
}

/* Sets *index to the first pattern of a list that matches and whose condition holds, or to n. */
static bool
find_pattern(size_t *index, struct rows_work *w, const struct family_pattern *list, size_t n, const struct tensor *t,
    struct err *err)
{
    for (*index = 0; *index < n; ++*index) {
        uint64_t b = 0;
        bool applies;
        if (!pattern_matches(list[*index].text, t->name, t->name_len, &b))
            continue;
        if (!expr_true(&applies, list[*index].when, w->scope, b, err))
            return false;
        if (applies)
            return true;
    }
    return true;
}

static void
leave_out(struct left_out *sum, const struct family_source *source)
{
    sum->n++;
    num_add(&sum->nbytes, sum->nbytes, source->t.extent.nbytes);
}

/* Fails if the tensors are of an adapter, which cannot change what is left out. */
static bool
may_leave_out(const struct rows_work *w, const struct family_source *source, struct err *err)
{
    return !w->how->adapter || rows_fail(source, ERR_UNSUPPORTED, "llama.cpp has no such tensor for this model, such as a head that is "
        "tied to the embedding, so an adapter cannot change it", err);
}

/* Sorts one source: dropped, or given to its rows. */
static bool
add_source(struct rows_work *w, size_t place, struct err *err)
{
    const struct family_source *source = family_sources_at(w->sources, place);
    const struct model_family *f = w->family;
    bool media, mtp, same;
    size_t i;
    bool drops = family_sources_drops(source->name, source->name_len, &media);
    if (drops && !(f->tower && media)) {
        if (media)
            leave_out(&w->media, source);
        return true;
    }
    if (!find_pattern(&i, w, f->mtp.at, f->mtp.n, &source->t, err))
        return false;
    mtp = i < f->mtp.n;
    if (mtp && !w->scope->mtp) {
        leave_out(&w->mtp, source);
        return true;
    }
    if (!find_pattern(&i, w, f->zero.at, f->zero.n, &source->t, err))
        return false;
    if (i < f->zero.n)
        return may_leave_out(w, source, err) && rows_check_zero(w, source, err);
    if (!rows_check_same(&same, w, source, err))
        return false;
    if (same)
        return true;
    if (!find_pattern(&i, w, f->drop.at, f->drop.n, &source->t, err))
        return false;
    if (i < f->drop.n && !may_leave_out(w, source, err))
        return false;
    if (i < f->drop.n && strstr(f->drop.at[i].text, "{b}"))
        leave_out(&w->mtp, source);
    return i < f->drop.n || apply_all(w, place, w->how->mtp_only && f->mtp.n != 0 && !mtp, err);
}

/* --- all of them */

enum { PATTERNS_MAX = 256 };

static bool
rows_begin(struct rows_work *w, const struct choice *choice, struct err *err)
{
    const struct model_family *f = w->family;
    if (f->mtp.n + f->drop.n + f->zero.n + f->same.n > PATTERNS_MAX)
        return err_set(err, ERR_LIMIT, "family %s: more than %d patterns", f->name, PATTERNS_MAX);
    if (w->how->adapter ? !family_sources_in_order(&w->sources, f, choice, w->how->model, err)
            : !family_sources_of_choice(&w->sources, f, choice, w->how->model, err))
        return false;
    w->scope->tensors = family_sources_scope(w->sources);
    w->index = name_index_new(err);
    w->when = calloc(f->rows.n + 1, sizeof *w->when);
    if (!w->index)
        return false;
    if (!w->when)
        return err_memory(err, (f->rows.n + 1) * sizeof *w->when);
    for (size_t i = 0; i < f->rows.n; i++)
        if (!name_index_add(w->index, f->rows.at[i].hf, f->rows.at[i].kept, f->rows.at[i].where, err))
            return false;
    return scope_layers(&w->main, "main", w->scope, err) && rows_check_number(&w->experts, f, w->scope, "expert_count", err);
}

static bool
set_model(struct choice *choice, const struct rows_work *w, struct err *err)
{
    const char *arch = w->family->arch;
    struct mix_model *m = &choice->model;
    *m = (struct mix_model){ .arch = arch, .n = strlen(arch), .experts = w->experts };
    return scope_layers(&m->layers, "layers", w->scope, err)
        && rows_check_number(&m->heads, w->family, w->scope, "attention.head_count", err)
        && rows_check_number(&m->kv_heads, w->family, w->scope, "attention.head_count_kv", err);
}

static void
note(const struct rows_work *w, const struct left_out *sum, const char *what, const char *more)
{
    if (sum->n != 0)
        catalog_tell(w->memory, "%" PRIu64 " tensors of %s are left out, %" PRIu64 " bytes%s", sum->n, what, sum->nbytes, more);
}

static void
note_all(const struct rows_work *w)
{
    note(w, &w->mtp, "multi-token prediction", "");
    if (!w->how->paired)
        note(w, &w->media, "vision and audio towers", "; --mmproj writes them");
    if (w->family->mtp.n == 0 && (w->how->mtp_only || !w->scope->mtp))
        catalog_tell(w->memory, "%s has no effect: family %s converts no multi-token prediction",
            w->how->mtp_only ? "--mtp" : "--no-mtp", w->family->name);
}

/* For rows_needs_check(). */
static bool
is_made(const void *of, const char *name, size_t n)
{
    return rows_find(of, name, n) != NULL;
}

/* Checks that nothing is missing, and then that nothing is unknown. */
static bool
check_all(struct rows_work *w, struct err *err)
{
    bool partial = w->how->mtp_only && w->family->mtp.n != 0;
    struct rows_needs needs = { .family = w->family, .scope = w->scope, .memory = w->memory, .unknown = &w->unknown,
        .exists = is_made, .of = w };
    char text[160];
    if (!w->how->allow_missing && !partial && !w->how->adapter && !rows_needs_check(&needs, err))
        return false;
    snprintf(text, sizeof text, "family %s has no row for it%s", w->family->name,
        w->how->adapter ? "" : "; --skip-unknown leaves it out");
    return w->unknown.n == 0 || w->how->skip_unknown || rows_fail(w->unknown.at[0], ERR_MALFORMED, text, err);
}

bool
rows_choose(struct choice *choice, const struct family_tensors *how, struct err *err)
{
    struct rows_work w = { .how = how, .family = how->family, .scope = how->scope, .memory = how->model->catalog };
    const struct scope_tensors was = how->scope->tensors;
    bool ok = rows_begin(&w, choice, err);
    if (ok)
        w.matrices = rows_list_type(&w);
    else
        w.matrices = DTYPE_UNKNOWN;
    for (size_t i = 0; ok && i < family_sources_count(w.sources); i++)
        ok = add_source(&w, i, err);
    ok = ok && check_all(&w, err) && rows_list(choice, &w, err) && set_model(choice, &w, err);
    if (ok)
        note_all(&w);
    how->scope->tensors = was;
    family_sources_free(w.sources);
    name_index_free(w.index);
    table_clear(&w.names);
    table_clear(&w.groups);
    rows_needs_clear(&w.unknown);
    free(w.when);
    free(w.out);
    free(w.member);
    free(w.group);
    return ok;
}
