#include "command/exact.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/nearest.h"
#include "base/num.h"
#include "command/command_priv.h"
#include "command/exact_priv.h"
#include "encode/plain.h"
#include "exact/exact_source.h"
#include "exact/exact_try.h"
#include "kernel/hints.h"
#include "report/ndjson.h"

/* --- options */

/* Adds the schemes that are tried if the user names none: amn-convert leaves out the unquantized types. */
static void
add_offered(struct command *cmd)
{
    struct command_exact *x = &cmd->exact;
    const struct encoder *e = NULL;
    while ((e = encode_offered(KEEPS_BLOCKS, e ? e->grid.offer : 0)) != NULL)
        if (cmd->needs_scheme || e->held != KEEPS_NONE)
            x->name[x->n++] = e;
    if (cmd->needs_scheme)
        cmd->reduction.encoder = x->name[0];
}

static bool
add_name(struct command *cmd, const char *name, struct err *err)
{
    struct command_exact *x = &cmd->exact;
    char shown[STR_SHOWN];
    const struct encoder *e = encode_exact_find(name, command_held(cmd)), *block = encode_find(name, command_held(cmd));
    if (!e && block && block->held == KEEPS_BLOCKS)        /* a target of weights that have it already */
        e = block;
    if (!e && block)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--exact: '%s' is not a target of exact transcoding; amn-forget(1) lists them",
            str_shown(shown, name, strlen(name)));
    if (!e)
        return *name ? command_unknown_scheme("scheme", name, false, err)
            : err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--scheme: empty name in a list: expected NAME,NAME");
    if (x->n == EXACT_NAMES)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--scheme: at most %d names", EXACT_NAMES);
    if (e->held == KEEPS_NONE) {
        x->name[x->n++] = e;
        return true;
    }
    const struct writer *needs = command_format_of(e);
    if (cmd->writer && cmd->writer != needs)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "scheme %s produces %s, but the output is %s; choose names of one "
            "format", e->name, needs->name,
            cmd->writer->name);
    cmd->writer = needs;
    if (cmd->needs_scheme && !cmd->reduction.encoder)       /* amn-convert keeps what the output format holds */
        cmd->reduction.encoder = e;
    x->name[x->n++] = e;
    return true;
}

bool
exact_settle(struct command *cmd, struct err *err)
{
    const char *p = cmd->scheme;
    if (!p && (!cmd->writer || cmd->writer->keeps != KEEPS_BLOCKS))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--exact requires --scheme NAME[,NAME...] or --to gguf");
    if (!p)
        add_offered(cmd);
    for (size_t n; p && *p; p += n + (p[n] == ',')) {
        char name[64];
        n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), p);
        if (!add_name(cmd, name, err))
            return false;
    }
    if (cmd->exact.n == 0)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--scheme: empty list");
    bool fuses = false, groups = cmd->reduction.how.group_size == 0;
    for (size_t i = 0; i < cmd->exact.n; i++) {
        fuses = fuses || cmd->exact.name[i]->fuses;
        groups = groups || cmd->exact.name[i]->grid.groups != GROUPS_OWN;
    }
    if (!groups)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--group-size is not supported by %s", cmd->exact.name[0]->label);
    if (cmd->reduction.apart && !fuses)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--no-fuse has no effect: loaders fuse no scales of these schemes");
    cmd->writer = cmd->writer ? cmd->writer : &writer_safetensors;
    return true;
}

void
exact_clear(struct command *cmd)
{
    struct command_exact *x = &cmd->exact;
    for (size_t i = 0; i < x->nrows; i++) {
        free(x->rows[i].name);
        free(x->rows[i].tried);
    }
    free(x->rows);
    free(x->hints);
    str_clear(&x->witness);
    naming_clear(&x->inexact);
    *x = (struct command_exact){ 0 };
    cmd->cli.members = NULL;
}

/* --- one weight */

static bool
read_second(void *of, const struct tensor *t, void *buf, struct err *err)
{
    return model_read(of, t, buf, err);
}

/* Returns true if the weight is stored as the encoding of the trial would be. Loaders have to read the weights of some schemes alike, so
 * that these are encoded together. */
static bool
is_stored(const struct exact_attempt *a)
{
    const struct encoding *e = a->trial.encoding;
    const struct weight *w = a->choice->list[a->place].decode;
    return a->owned && e && w && e->encoder->held == KEEPS_CODES && !e->encoder->joint && !e->encoder->fuses && !a->cmd->reduction.uniform
        && roles_is_kept(w, a->cmd->writer->keeps) && reduction_is_stored(e, w, a->choice, a->owned);
}

bool
exact_try_name(struct exact_attempt *a, const struct encoder *e, struct err *err)
{
    struct encode_options how;
    struct catalog *memory = a->p->model->catalog;
    enum dtype type = exact_source_type(&a->trial);
    struct exact_terms *terms = a->terms;
    const struct tensor t = chosen_source(&a->trial);
    uint64_t cols = shape_dim(&t.shape, t.shape.rank - 1);
    a->last = e;
    a->shares = NULL;
    if (!e->solve) {
        a->why = "only a weight that has this type already can have it";
        a->out = (struct exact_outcome){ .fail = { .cause = EXACT_LAYOUT } };
        return true;
    }
    if (terms->source.seconds && !e->seconds) {             /* values alone */
        if ((terms = catalog_alloc(memory, sizeof *terms, err)) == NULL)
            return false;
        *terms = *a->terms;
        terms->source = (struct exact_source){ .codes = EXACT_OTHER, .has_input = a->terms->source.has_input,
            .input_why = "matrices that are stacked have scales of activations of their own" };
    }
    for (unsigned variant = 0; exact_source_options(&how, &a->cmd->reduction.how, e, &terms->source, cols, variant); variant++) {
        how.exact = 1 + (uint64_t)terms->level;
        a->how = how;
        if (!reduction_try(&a->cmd->reduction, &a->trial, a->place, &how, e, terms, type, memory, err))
            return false;
        a->last = e;
        a->why = a->trial.why;
        a->stored = false;
        if (is_stored(a) && !exact_try_finite(&a->stored, a->p, &a->trial, err))
            return false;
        if (a->stored) {
            a->out = (struct exact_outcome){ .way = EXACT_MOVED };
            return true;
        }
        a->out = (struct exact_outcome){ .fail = { .cause = EXACT_LAYOUT } };
        if (a->trial.encoding && !exact_try(&a->out, a->p, &a->trial, err))
            return false;
        if (a->out.fail.cause == EXACT_HOLDS || !a->trial.encoding)
            return true;
    }
    return true;
}

/* Adds a row of the report. */
static bool
add_row(struct exact_attempt *a, struct exact_row **row, struct err *err)
{
    struct command_exact *x = &a->cmd->exact;
    const struct tensor t = chosen_source(&a->choice->list[a->place]);
    struct exact_row *rows = array_grow(x->rows, x->nrows, &x->rows_room, sizeof *rows, err);
    if (!rows)
        return false;
    x->rows = rows;
    *row = &rows[x->nrows];
    **row = (struct exact_row){ .name = malloc(t.name_len + 1u), .name_len = t.name_len, .level = a->terms->level, .place = a->place };
    if (!(*row)->name)
        return err_memory(err, t.name_len + 1u);
    memcpy((*row)->name, t.name, t.name_len);
    (*row)->name[t.name_len] = '\0';
    x->nrows++;
    if (a->trial.decode)
        scheme_word(a->trial.decode, (*row)->from);
    else
        snprintf((*row)->from, sizeof (*row)->from, "%s", a->quantized ? "composed" : dtype_name(t.dtype));
    return true;
}

struct exact_row *
exact_row_of(struct command *cmd, size_t place)
{
    struct exact_row *row = cmd->exact.rows;
    for (size_t n = cmd->exact.nrows; n > 1;) {         /* rows are in the order of their places */
        size_t half = n / 2;
        row += row[half].place <= place ? half : 0;
        n -= half;
    }
    return row;
}

/* Adds a name that does not hold the weight. */
static bool
add_tried(struct exact_row *row, const struct exact_attempt *a, struct err *err)
{
    struct exact_tried *tried = realloc(row->tried, (row->ntried + 1) * sizeof *tried);
    if (!tried)
        return err_memory(err, (row->ntried + 1) * sizeof *tried);
    row->tried = tried;
    tried[row->ntried++] = (struct exact_tried){ a->last->name, a->out.fail.cause, a->out.fail.block };
    return true;
}

/* Keeps a weight that has the scheme already. */
static void
keep(struct exact_attempt *a, struct exact_row *row, const struct encoder *e)
{
    struct chosen *c = &a->choice->list[a->place];
    c->kept = c->decode;
    c->same = true;
    c->why = "has this type already";
    a->choice->same++;
    row->to = e->name;
    row->kept = true;
}

/* Sets the view of a weight that becomes a scheme, or an unquantized type. That has the orientation of amn-remember in safetensors,
 * where loaders know it by the name of the tensor. */
static void
set_view(const struct exact_attempt *a, struct exact_row *row, struct chosen *c, const struct encoder *e)
{
    bool files = command_held(a->cmd) == KEEPS_CODES;
    if (files && e->held == KEEPS_NONE)
        return;
    row->turned = files && c->decode != a->trial.decode && !e->grid.as_stored;
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
take(struct exact_attempt *a, struct exact_row *row)
{
    struct chosen *c = &a->choice->list[a->place];
    enum dtype plain = encode_plain_type(a->last);
    if (a->stored) {
        c->stored = a->trial.encoding;
        row->cols = a->trial.encoding->cols;
        keep(a, row, a->last);
        return;
    }
    set_view(a, row, c, a->last);
    row->to = a->last->name;
    row->way = a->out.way;
    row->cols = a->trial.encoding->cols;
    row->no_input = a->terms->source.has_input && a->last->grid.no_input;
    row->plain = plain != DTYPE_UNKNOWN;
    row->way = row->plain ? EXACT_SEARCH : row->way;
    if (row->plain && !(is_rounded_twice(a->terms->level, plain) && c->decode == a->trial.decode)) {
        c->dtype = plain;
        return;
    }
    c->dtype = a->trial.dtype;
    c->encoding = a->trial.encoding;
    c->why = NULL;
}

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

/* Adds to a row what only reports need. */
static bool
describe(struct exact_attempt *a, struct exact_row *row, struct err *err)
{
    enum exact_level level = a->terms->level;
    row->blocks = row->plain ? 0 : count_blocks(a->trial.encoding);
    row->e2m1 = a->terms->source.codes == EXACT_E2M1;
    if (row->e2m1 && !exact_try_count_code(&row->code_8, a->p, &a->trial, 8, err))
        return false;
    for (int i = 0; i < EXACT_LEVELS; i++) {
        row->levels[i] = i == (int)level || (level == EXACT_F32 && i != EXACT_REAL);        /* equal F32 values round alike */
        if (!row->levels[i] && !exact_try_level(&row->levels[i], a, a->last, (enum exact_level)i, err))
            return false;
    }
    return true;
}

/* Keeps a quantized weight that has one of the block types already. */
static bool
keep_same(struct exact_attempt *a, struct exact_row *row)
{
    const struct weight *w = a->choice->list[a->place].decode;
    for (size_t k = 0; w && k < a->cmd->exact.n && roles_is_kept(w, a->cmd->writer->keeps); k++) {
        const struct encoder *e = a->cmd->exact.name[k];
        if (e->held != KEEPS_BLOCKS || e->type != w->part[0]->dtype)
            continue;
        keep(a, row, e);
        return true;
    }
    return false;
}

/* Encodes a weight that --inexact names by the first name of the list. */
static bool
take_inexact(struct exact_attempt *a, struct exact_row *row, struct err *err)
{
    const struct encoder *e = a->cmd->exact.name[0];
    struct encode_options how = a->cmd->reduction.how;
    struct chosen *c = &a->choice->list[a->place];
    char name[STR_SHOWN];
    enum dtype plain = encode_plain_type(e);
    row->to = e->name;
    row->inexact = true;
    a->cmd->exact.ninexact++;
    set_view(a, row, c, e);
    if (plain != DTYPE_UNKNOWN) {
        c->dtype = plain;
        return true;
    }
    if (!e->encode)
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "--inexact: %s has no encoder that rounds", e->name);
    c->dtype = e->held == KEEPS_BLOCKS ? DTYPE_F32 : c->decode ? DTYPE_BF16 : c->dtype;
    if (!reduction_try(&a->cmd->reduction, c, a->place, &how, e, NULL, c->dtype, a->p->model->catalog, err))
        return false;
    const struct tensor t = chosen_source(c);
    return c->encoding || err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, ERR_TENSOR "%s does not hold it: %s",
        str_shown(name, t.name, t.name_len), e->name, c->why ? c->why : "its shape does not fit");
}

static bool
is_inexact(const struct exact_attempt *a)
{
    const struct tensor t = chosen_source(&a->choice->list[a->place]);
    return a->cmd->exact.inexact.nglobs != 0 && naming_keeps(&a->cmd->exact.inexact, &t);
}

bool
exact_terms_find(struct exact_attempt *a, struct err *err)
{
    const struct exact_reader reader = { a->p->model->catalog, read_second, a->p->model };
    a->terms = catalog_alloc(a->p->model->catalog, sizeof *a->terms, err);
    if (!a->terms)
        return false;
    a->terms->level = a->cmd->exact.level;
    a->terms->hints = a->cmd->exact.hints;
    return exact_source_find(&a->terms->source, &a->trial, &reader, err);
}

bool
exact_begin(struct exact_attempt *a, struct err *err)
{
    a->trial = a->choice->list[a->place];
    a->trial.encoding = NULL;
    a->quantized = a->trial.decode || (a->trial.composed && a->trial.composed->n != 0 && a->trial.composed->part[0].decode);
    if (a->quantized)
        a->trial.dtype = DTYPE_F32;
    return exact_source_upright(&a->trial, a->p->model->catalog, err) && exact_terms_find(a, err);
}

/* Returns true if a weight that no name holds is refused here: amn-convert dequantizes it instead, or with --keep-quantized
 * refuses those whose kind of codes GGUF does not have in its own words. */
static bool
must_hold(const struct exact_attempt *a)
{
    enum exact_codes codes = a->terms->source.codes;
    bool known = codes == EXACT_INT || codes == EXACT_AFFINE || codes == EXACT_E2M1;
    return a->quantized && !a->cmd->exact.optional && (a->cmd->needs_scheme || known);
}

/* Finds the encoder of a rule for a weight. */
static bool
find_ruled(const struct exact_attempt *a, const struct encoder **ruled, struct err *err)
{
    enum keeps held = command_held(a->cmd);
    if (!reduction_ruled(&a->cmd->reduction, &a->trial, held, ruled, err))
        return false;
    return !*ruled || (*ruled)->held == KEEPS_NONE || (*ruled)->held == held || err_set(err, ERR_USAGE,
        ERR_NO_OFFSET, "--tensor-type: '%s' is not a scheme that can share a file with %s", (*ruled)->name, a->cmd->exact.name[0]->label);
}

/* Tries names `from` and later for a weight. */
static bool
choose(struct exact_attempt *a, struct exact_row *row, const struct encoder *ruled, size_t from, struct err *err)
{
    struct command_exact *x = &a->cmd->exact;
    for (size_t k = from; k < (ruled ? 1 : x->n); k++) {
        if (!exact_try_name(a, ruled ? ruled : x->name[k], err))
            return false;
        if (a->out.fail.cause == EXACT_HOLDS) {
            take(a, row);
            return !a->cmd->report || describe(a, row, err);
        }
        if (!add_tried(row, a, err))
            return false;
        row->cols = a->trial.encoding ? a->trial.encoding->cols : 1;
        if (a->out.fail.cause == EXACT_NONFINITE && (must_hold(a) || is_inexact(a)))
            return exact_refuse(a->cmd, a, err);
    }
    if (is_inexact(a))
        return take_inexact(a, row, err);
    row->kept = true;
    return !must_hold(a) || exact_refuse(a->cmd, a, err);
}

/* Tries all names for a weight. */
static bool
decide(struct exact_attempt *a, struct err *err)
{
    struct exact_row *row;
    const struct encoder *ruled = NULL;
    return exact_begin(a, err) && add_row(a, &row, err) && find_ruled(a, &ruled, err)
        && (keep_same(a, row) || choose(a, row, ruled, 0, err));
}

/* Decides for a quantized weight that is not selected, or not a matrix: it stays as it is stored if the output can hold that, and else
 * becomes the first of bf16, f16 and f32 that holds it. */
static bool
leave(struct exact_attempt *a, struct err *err)
{
    static const char *const names[] = { "bf16", "f16", "f32" };
    struct exact_row *row;
    if (!exact_begin(a, err) || !add_row(a, &row, err))
        return false;
    row->kept = true;
    if (a->trial.decode && roles_is_kept(a->choice->list[a->place].decode, a->cmd->writer->keeps)) {
        a->choice->list[a->place].kept = a->choice->list[a->place].decode;
        return true;
    }
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (!exact_try_name(a, encode_exact_find(names[k], KEEPS_CODES), err))
            return false;
        if (a->out.fail.cause == EXACT_HOLDS) {
            row->kept = false;
            take(a, row);
            return true;
        }
    }
    return exact_refuse(a->cmd, a, err);
}

bool
exact_choose_after(struct exact_attempt *a, struct exact_row *row, const struct encoder *e, struct err *err)
{
    const struct encoder *ruled = NULL;
    size_t k = 0;
    if (!find_ruled(a, &ruled, err) || !add_tried(row, a, err))
        return false;
    while (!ruled && a->cmd->exact.name[k] != e)
        k++;
    row->to = NULL;
    row->way = EXACT_MOVED;
    return choose(a, row, ruled, k + 1, err);
}

/* --- all weights */

static bool
make_hints(struct command_exact *x, const struct kernels *base, struct err *err)
{
    struct kernels *sets = malloc(HINTS * sizeof *sets);
    if (!sets)
        return err_memory(err, HINTS * sizeof *sets);
    for (unsigned i = 0; i < HINTS; i++)
        kernels_hint(&sets[i], base, (enum hint)i);
    x->hints = sets;
    return true;
}

bool
exact_reduce(struct command *cmd, struct pipeline *p, struct choice *choice, struct err *err)
{
    struct reduction *r = &cmd->reduction;
    struct reduction offers = *r;
    bool ok = make_hints(&cmd->exact, p->kernels, err) && naming_check(&r->which, choice, err)
        && naming_check(&cmd->exact.inexact, choice, err);
    unsigned *owned = ok ? reduction_count_owned(choice) : NULL;
    ok = ok && (owned || err_memory(err, catalog_count(choice->input) * sizeof *owned));
    offers.encoder = r->encoder ? r->encoder : cmd->exact.name[0];
    r->keeps = cmd->writer->keeps;
    r->names = &cmd->naming;
    for (size_t i = 0; ok && i < choice->n; i++) {
        struct exact_attempt a = { .cmd = cmd, .p = p, .choice = choice, .place = i, .owned = owned };
        const struct chosen *c = &choice->list[i];
        bool quantized = c->decode || (c->composed && c->composed->n != 0 && c->composed->part[0].decode), tries = false;
        if (c->kept || (!quantized && !cmd->scheme && !cmd->needs_scheme))
            continue;
        ok = reduction_offers(&offers, choice, i, &tries, err);
        if (ok && (tries || (quantized && cmd->needs_scheme)))
            ok = model_spool(p->model, err) && (tries ? decide(&a, err) : leave(&a, err));
    }
    free(owned);
    ok = ok && (r->apart || exact_share(cmd, p, choice, err)) && reduction_finish(r, choice, err);
    r->names = NULL;
    return ok;
}
