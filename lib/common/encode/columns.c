/* GPTQ, AWQ and Quark's INT4 with round-to-nearest. Matrices are stored by columns, [in, out], so neighbours in the output are far apart
 * in the weight [out, in]. A word holds f codes of b bits; G = in / group:
 *
 *                    GPTQ                                            AWQ (GEMM)
 *     P.qweight  I32 [in/f, out], the codes of f columns         I32 [in, out/8], of 8 rows in the order of AWQ
 *     P.qzeros   I32 [G, out/f], of f rows, minus one            I32 [G, out/8], the same order
 *     P.scales   F16 [G, out]                                    F16 [G, out]
 *     P.g_idx    I32 [in]: i / group, or the group that column i has in the source
 *
 * quark-int4 is P.weight I32 [in, out/8] of 8 rows in the order of AWQ, in two's complement, P.weight_scale [G, out] in the type of
 * the weight, and P.weight_zero_point I32 [G, out/8], zeros: without them its loader takes whatever is in the memory.
 *
 * A line is one row of the output; a place in it is computed from one row or f rows of the weight. For each of these rows,
 * the columns needed by the requested lines are read at once, in whole groups. A request for less than a group of lines
 * still reads the whole group; GROUPS_MOST bounds that cost. If the groups are ordered (ordered.h), whole rows are read, unless
 * all groups keep the scales and zero points of the source.
 *
 * Sources: AutoGPTQ nn_modules/qlinear, pack; AutoAWQ modules/linear/gemm.py, from_linear; quark torch/utils/pack.py and
 * torch/quantization/observer/observer.py.
 */
#include "encode/table.h"

#include <math.h>

#include "base/bytes.h"
#include "base/num.h"
#include "encode/groups.h"
#include "encode/ordered.h"
#include "encode/solve.h"
#include "kernel/encode_int.h"

enum columns_kind { INDEX, SCALES, ZEROS, CODES };

struct columns_numbers {
    unsigned bits;
    bool awq;                   /* AWQ's layout */
    bool quark;                 /* with signed codes and no zero points */
};

struct columns_own {
    struct int_rule rule;
    uint32_t group;
    uint8_t kind[ENCODE_PARTS];
};

/* Layout of a part. */
struct columns_form {
    uint64_t width;             /* places in a line */
    uint32_t rows;              /* rows of the weight in a place */
    uint32_t lines;             /* lines in a group */
    uint32_t bytes;             /* bytes in a place */
};

static const struct columns_numbers *
numbers_of(const struct encoding *e)
{
    return e->encoder->numbers;
}

/* Returns the type of the scales. */
static enum dtype
scales_type(const struct encoding *e)
{
    return numbers_of(e)->quark ? groups_dtype(e) : DTYPE_F16;
}

static struct columns_form
form_of(const struct encoding *e, enum columns_kind kind)
{
    const struct columns_numbers *n = numbers_of(e);
    const struct columns_own *own = e->own;
    uint32_t f = 32 / n->bits;
    if (kind == SCALES)
        return (struct columns_form){ e->rows, 1, 1, dtype_facts(scales_type(e))->bytes };
    if (kind == ZEROS)
        return (struct columns_form){ e->rows / f, f, 1, 4 };
    return n->awq ? (struct columns_form){ e->rows / f, f, own->group, 4 } : (struct columns_form){ e->rows, 1, own->group / f, 4 };
}

static bool
columns_add(struct encoding *e, enum columns_kind kind, const char *suffix, enum dtype dtype, uint32_t rank, struct err *err)
{
    struct columns_own *own = e->own;
    struct columns_form form = form_of(e, kind);
    uint64_t dim[2] = { e->cols / own->group * form.lines, form.width };
    if (kind == INDEX)
        dim[0] = e->cols;
    own->kind[e->nparts] = (uint8_t)kind;
    if (!(kind == CODES ? groups_codes : groups_part)(e, suffix, dtype, dim, rank, 0, form.bytes, err))
        return false;
    if (kind != INDEX && (kind != ZEROS || own->rule.asymmetric)) {
        e->part[e->nparts - 1].down = form.rows;
        e->part[e->nparts - 1].across = own->group / form.lines;
    }
    return true;
}

/* Returns the number of rows that are surveyed together. */
static uint64_t
region_rows(const struct encoding *e)
{
    return num_max(1, 8 * ENCODE_FLOATS / e->cols);
}

static enum encode_fit
columns_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    const struct columns_numbers *n = numbers_of(e);
    const struct groups_choice choice = { 128, 32, GROUPS_MOST, .symmetric = !n->awq || n->quark, .asymmetric = !n->quark };
    uint32_t group;
    enum encode_fit fit = groups_fit(e, options, &choice, &group, err);
    if (fit != ENCODE_YES)
        return fit;
    if (e->rows % (n->awq ? 8 : 32) != 0) {
        if (n->awq)
            e->why = "number of rows is not a multiple of 8";
        else
            e->why = "number of rows is not a multiple of 32";
        return ENCODE_NO;
    }
    struct columns_own *own = e->own = encode_alloc(e, sizeof *own, err);
    if (!own)
        return ENCODE_FAIL;
    e->options.asymmetric = (n->awq && !n->quark) || options->asymmetric;
    if (e->exact && !n->awq && ordered_fit(e, group) && e->cols > ENCODE_FLOATS) {
        e->why = "rows longer than 131072 elements";
        return ENCODE_NO;
    }
    if (e->exact) {             /* a look at all groups in the order of the weight; a result only if they are ordered */
        e->nregions = num_ceil_div(e->rows, region_rows(e));
        if (e->order)
            e->nfacts = e->nregions;
        else
            e->nfacts = 1;
    }
    *own = (struct columns_own){ .rule = { scales_type(e), n->bits, e->options.asymmetric }, .group = group };
    if (n->quark)
        return encode_yes_if(columns_add(e, SCALES, ".weight_scale", scales_type(e), 2, err)
            && columns_add(e, ZEROS, ".weight_zero_point", DTYPE_I32, 2, err) && columns_add(e, CODES, ".weight", DTYPE_I32, 2, err));
    return encode_yes_if((n->awq || columns_add(e, INDEX, ".g_idx", DTYPE_I32, 1, err))
        && columns_add(e, SCALES, ".scales", DTYPE_F16, 2, err) && columns_add(e, ZEROS, ".qzeros", DTYPE_I32, 2, err)
        && columns_add(e, CODES, ".qweight", DTYPE_I32, 2, err));
}

/* Returns the kernels of a method. */
static const struct int_method *
method_of(const struct encoding *e, const struct encode_run *run)
{
    if (numbers_of(e)->quark)
        return &encode_int_quark;
    return numbers_of(e)->awq ? run->kernels->int_awq : run->kernels->int_gptq;
}

/* --- words */

/* Rows of AWQ's words, from the lowest nibble up. */
static const unsigned char awq_order[8] = { 0, 2, 4, 6, 1, 3, 5, 7 };

static const uint32_t SIGNS = 0x88888888;      /* flips the signs of eight codes of Quark */

/* Packs a word from codes that are `stride` bytes apart. */
static uint32_t
word_of(const struct columns_numbers *n, const uint8_t *q, size_t stride)
{
    uint32_t word = 0, f = 32 / n->bits;
    for (uint32_t i = 0; i < f; i++)
        word |= (uint32_t)q[(n->awq ? awq_order[i] : i) * stride] << n->bits * i;
    if (n->quark)
        word ^= SIGNS;
    return word;
}

/* Returns the stored form of a zero point. GPTQ stores one less, so 0 wraps to the largest code. */
static uint8_t
zero_field(const struct columns_numbers *n, const struct int_group *g)
{
    int zero = g->zero >= 0 ? (int)g->zero : 0;         /* NaN if the group is not finite */
    return (uint8_t)((unsigned)(zero - !n->awq) & ((1u << n->bits) - 1));
}

/* --- groups */

/* One group of columns in the rows of a place. */
struct tile {
    const float *x;
    size_t stride;              /* floats between rows */
    uint64_t row, col;          /* of the first element */
    uint64_t line;              /* first line of the group */
    uint64_t from, to;          /* requested lines */
};

_Static_assert(8 * GROUPS_MOST <= ENCODE_ROOM, "the codes of a tile fit in the scratch memory");

/* What solve_int() needs to know. */
static struct solve_int
how_of(const struct encoding *e)
{
    const struct int_rule *rule = &((const struct columns_own *)e->own)->rule;
    return (struct solve_int){ rule->bits, rule->asymmetric, -(1 << (rule->bits - 1)), scales_type(e) };
}

/* Solves a group of an exact encoding: sets the codes, too. A version 1 file of GPTQ never gets a zero point of 0, which its
 * readers take for different numbers: such a failure has no nearest value, unlike a failure of a scale. */
static bool
solve_group(const struct encoding *e, const struct solve_block *b, struct int_group *g, uint8_t *q)
{
    const struct solve_int how = how_of(e);
    return solve_int(b, &how, g, q) && ((g->zero >= 1 || numbers_of(e)->awq) || solve_fail(b, EXACT_SCALE, 0, NAN));
}

/* Returns true if a group has scale and zero point of the source. */
static bool
is_hinted(const struct encoding *e, const struct solve_block *b, const struct int_group *g)
{
    return g->scale == solve_hint(b) && (!e->options.asymmetric || (b->zero && g->zero == b->zero[0]));
}

/* Solves all groups of some rows. The result, if the groups are ordered, is 1 if one has not the scale or zero point of the source. */
static bool
columns_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err)
{
    uint64_t group = ((const struct columns_own *)e->own)->group, most = e->order ? e->cols : num_max(1, ENCODE_MOVED / group) * group;
    uint64_t first = region * region_rows(e) * e->cols, end = num_min(e->rows * e->cols, first + region_rows(e) * e->cols);
    for (uint64_t n; first < end; first += n) {
        n = num_min(end - first, most);
        if (!run->read(run->of, first, (size_t)n, run->x, err))
            return false;
        for (uint64_t i = 0; i < n; i += group) {
            struct solve_block b;
            struct int_group g;
            if (e->order)
                ordered_begin(&b, e, run, run->x, first, i / group, group);
            else
                solve_begin(&b, e, run, run->x + i, group, first + i);
            if (!solve_group(e, &b, &g, (uint8_t *)run->back))
                return false;
            if (e->order && !is_hinted(e, &b, &g))
                facts[region] = 1;
        }
    }
    return true;
}

/* Leaves at facts[0] what any region has. */
static bool
columns_resolve(struct encoding *e, float *facts, struct exact_fail *fail)
{
    (void)fail;
    for (uint64_t i = 1; i < e->nfacts; i++)
        facts[0] = fmaxf(facts[0], facts[i]);
    e->solved = true;
    return true;
}

/* Writes the places of the requested lines. y is the place of the first line; consecutive places are `pitch` bytes apart. */
static bool
put_tile(const struct encoding *e, const struct encode_run *run, enum columns_kind kind, const struct columns_form *form,
    const struct tile *t, uint8_t *y, size_t pitch, struct err *err)
{
    const struct columns_numbers *n = numbers_of(e);
    const struct columns_own *own = e->own;
    uint8_t *q = run->room, zeros[8];
    struct int_group g = { 0 };
    for (uint32_t r = 0; r < form->rows; r++) {
        const float *x = t->x + r * t->stride;
        uint64_t first = (t->row + r) * e->cols + t->col;
        if (e->exact) {
            struct solve_block b;
            solve_begin(&b, e, run, x, own->group, first);
            if (!solve_group(e, &b, &g, q + r * own->group))
                return false;
        } else {
            method_of(e, run)->find(&g, x, own->group, &own->rule);
            if (!groups_scale_fits(e, g.scale, scales_type(e), x, own->group, first, err))
                return false;
        }
        zeros[r] = zero_field(n, &g);
        if (kind != CODES)
            continue;
        if (!e->exact)
            method_of(e, run)->codes(q + r * own->group, x, own->group, &g, &own->rule);
        if (!run->compare || t->from != t->line)                /* report each group once, with its first line */
            continue;
        if (e->exact)
            run->kernels->codes8_f32(run->back, q + r * own->group, 0, own->group, &(struct codes8){ &g.zero, &g.scale,
                own->group, false, false });
        else
            method_of(e, run)->back(run->back, q + r * own->group, own->group, &g, &own->rule);
        run->compare(run->of, first, x, run->back, own->group);
    }
    if (kind == SCALES)
        groups_store(y, scales_type(e), g.scale);
    else if (kind == ZEROS)
        store_le32(y, word_of(n, zeros, 1));
    for (uint64_t line = t->from; kind == CODES && line < t->to; line++, y += pitch)
        store_le32(y, n->awq ? word_of(n, q + (line - t->line), own->group)
            : word_of(n, q + (line - t->line) * (32 / n->bits), 1));
    return true;
}

/* Writes lines [from, to) of one place. y is the place of the first of them. */
static bool
put_place(const struct encoding *e, const struct encode_run *run, enum columns_kind kind, const struct columns_form *form,
    uint64_t place, uint64_t from, uint64_t to, uint8_t *y, struct err *err)
{
    const struct columns_own *own = e->own;
    size_t pitch = (size_t)form->width * form->bytes;
    uint64_t end = num_ceil_div(to, form->lines), most = ENCODE_FLOATS / form->rows / own->group;
    struct tile t = { .row = place * form->rows };
    for (uint64_t at = from / form->lines, n; at < end; at += n) {
        n = num_min(end - at, most);
        t.stride = (size_t)n * own->group;
        for (uint32_t r = 0; r < form->rows; r++)
            if (!run->read(run->of, (t.row + r) * e->cols + at * own->group, t.stride, run->x + r * t.stride, err))
                return false;
        for (uint64_t i = 0; i < n; i++) {
            t.x = run->x + i * own->group;
            t.col = (at + i) * own->group;
            t.line = (at + i) * form->lines;
            t.from = num_max(from, t.line);
            t.to = num_min(to, t.line + form->lines);
            if (!put_tile(e, run, kind, form, &t, y + (t.from - from) * pitch, pitch, err))
                return false;
        }
    }
    return true;
}

/* --- panels */

enum { STRIP = 32 };                    /* rows that are read together */

_Static_assert(STRIP * GROUPS_MOST <= ENCODE_ROOM, "the codes of a strip fit in the scratch memory");

/* Writes the scales and zero points of rows [row, row + rows) of a group; n of them are in `found`. */
static void
put_found(const struct encoding *e, const struct encode_panel *p, uint64_t row, uint64_t rows, uint64_t line, const struct int_group *found)
{
    const struct columns_numbers *n = numbers_of(e);
    const struct columns_own *own = e->own;
    uint8_t zeros[STRIP];
    for (unsigned part = 0; part < e->nparts; part++) {
        const struct encode_lines *l = &p->part[part];
        const uint32_t f = 32 / n->bits;
        if (l->lines == 0 || own->kind[part] == CODES)
            continue;
        uint8_t *y = l->y + line * l->pitch + row / e->part[part].down * e->part[part].grain;
        for (uint64_t r = 0; r < rows; r++) {
            zeros[r] = zero_field(n, &found[r]);
            if (own->kind[part] == SCALES)
                y += groups_store(y, scales_type(e), found[r].scale);
        }
        for (uint64_t r = 0; own->kind[part] == ZEROS && r < rows; r += f)
            store_le32(y + r / f * 4, word_of(n, zeros + r, 1));
    }
}

/* Joins n codes in the low halves of bytes to n in the high ones. `flip` is a byte that is xored, eight times. */
static void
join_nibbles(uint8_t *y, const uint8_t *low, const uint8_t *high, size_t n, uint64_t flip)
{
    for (size_t i = 0; i < n; i += 8)
        store_le64(y + i, (load_le64(low + i) | load_le64(high + i) << 4) ^ flip);
}

/* Writes the codes of `rows` rows of a group, which are in q one after another. */
static void
put_strip(const struct encoding *e, const struct encode_run *run, const struct encode_panel *p, uint64_t row, size_t rows, uint64_t col,
    const uint8_t *q)
{
    const struct columns_numbers *n = numbers_of(e);
    const size_t group = ((const struct columns_own *)e->own)->group;
    const struct encode_part *codes = &e->part[e->nparts - 1];
    const struct encode_lines *l = &p->part[e->nparts - 1];
    const size_t lines = group / codes->across, places = rows / codes->down;
    uint8_t *y = l->y + col / codes->across * l->pitch + row / codes->down * 4, *words = (uint8_t *)run->back;
    if (!n->awq) {
        for (size_t i = 0; i < places; i++)
            run->kernels->int_pack(words + i * lines * 4, q + i * group, group, n->bits);
        run->kernels->transpose(y, l->pitch, words, lines * 4, places, lines, 4);
        return;
    }
    for (size_t i = 0; i < rows; i += 2)        /* two rows make the bytes of a column's words */
        join_nibbles(words + i / 2 * group, q + (i / 8 * 8 + awq_order[i % 8]) * group, q + (i / 8 * 8 + awq_order[i % 8 + 1]) * group,
            group, n->quark ? SIGNS | (uint64_t)SIGNS << 32 : 0);
    run->kernels->transpose(y, l->pitch, words, group, rows / 2, group, 1);
}

/* Encodes rows [row, row + rows) of a panel; x has them. */
static bool
encode_strip(const struct encoding *e, const struct encode_run *run, const struct encode_panel *p, uint64_t row, size_t rows,
    struct err *err)
{
    const struct columns_own *own = e->own;
    const struct int_method *method = method_of(e, run);
    const size_t group = own->group;
    uint8_t *q = run->room;
    struct int_group found[STRIP];
    for (uint64_t col = 0; col < p->cols; col += group) {
        for (size_t r = 0; r < rows; r++) {
            const float *x = run->x + r * p->cols + col;
            uint64_t first = (p->row + row + r) * e->cols + p->col + col;
            method->find(&found[r], x, group, &own->rule);
            if (!groups_scale_fits(e, found[r].scale, scales_type(e), x, group, first, err))
                return false;
            method->codes(q + r * group, x, group, &found[r], &own->rule);
            if (!run->compare)
                continue;
            method->back(run->back, q + r * group, group, &found[r], &own->rule);
            run->compare(run->of, first, x, run->back, group);
        }
        put_found(e, p, row, rows, col / group, found);
        put_strip(e, run, p, row, rows, col, q);
    }
    return true;
}

static bool
columns_panel(const struct encoding *e, const struct encode_run *run, const struct encode_panel *p, struct err *err)
{
    for (uint64_t row = 0, n; row < p->rows; row += n) {
        n = num_min(STRIP, p->rows - row);
        for (uint64_t r = 0; r < n; r++)
            if (!run->read(run->of, (p->row + row + r) * e->cols + p->col, (size_t)p->cols, run->x + r * p->cols, err))
                return false;
        if (!encode_strip(e, run, p, row, (size_t)n, err))
            return false;
    }
    return true;
}

/* --- ordered groups */

/* Returns true if all groups keep the scales and zero points of the source. */
static bool
is_kept(const struct encode_run *run)
{
    return run->facts[0] == 0;
}

/* Sets the group of element i of `all`, which keeps the scale and zero point of the source. */
static void
keep_group(struct int_group *g, const struct encoding *e, const struct solve_block *all, uint64_t i)
{
    *g = (struct int_group){ all->scale[i], e->options.asymmetric ? all->zero[i] : (float)(1u << (how_of(e).bits - 1)) };
}

/* Writes the scales, or the zero points as row r of their words, of groups [from, to) of the row that begins with element `at`. */
static bool
put_groups(const struct encoding *e, const struct encode_run *run, enum columns_kind kind, uint64_t at, uint32_t r, uint64_t from,
    uint64_t to, uint8_t *y, size_t pitch, struct err *err)
{
    const struct columns_numbers *n = numbers_of(e);
    const size_t group = ((const struct columns_own *)e->own)->group;
    uint64_t count = is_kept(run) ? 0 : e->cols;        /* else up to the first column of each group */
    for (uint64_t j = from; j < to; j++)
        count = num_max(count, e->order[j * group] + 1);
    if (!run->read(run->of, at, (size_t)count, run->x, err))
        return false;
    for (uint64_t j = from; j < to; j++, y += pitch) {
        struct solve_block b;
        struct int_group g;
        solve_begin(&b, e, run, run->x, (size_t)count, at);
        if (is_kept(run))
            keep_group(&g, e, &b, e->order[j * group]);
        else if (ordered_begin(&b, e, run, run->x, at, j, group), !solve_group(e, &b, &g, (uint8_t *)run->back))
            return false;
        if (kind == SCALES)
            groups_store(y, scales_type(e), g.scale);
        else
            store_le32(y, load_le32(y) | (uint32_t)zero_field(n, &g) << n->bits * r);
    }
    return true;
}

/* Finds the codes of columns [col, col + n) of a row, whose groups all keep the scales and zero points of the source, one by one. */
static bool
find_kept(const struct encoding *e, const struct encode_run *run, uint64_t at, uint64_t col, size_t n, uint8_t *q, struct err *err)
{
    const struct solve_int how = how_of(e);
    const float magic = 0x1.8p23f, top = (float)((1u << how.bits) - 1);
    float *middle = run->room;
    struct solve_block all, b;
    if (!run->read(run->of, at + col, n, run->x, err))
        return false;
    solve_begin(&all, e, run, run->x, n, at + col);
    for (size_t i = 0; i < GROUPS_MOST; i++)
        middle[i] = (float)(1u << (how.bits - 1));
    for (size_t i = 0; i < n; i++) {
        struct int_group g;
        keep_group(&g, e, &all, i);
        float m = all.x[i] / g.scale + magic - magic, field = m + g.zero;
        bool same = field >= 0 && field <= top && m * g.scale == all.x[i] && solve_is_plain(&all);
        if (same)
            q[i] = (uint8_t)field;
        else
            q[i] = 0;
        if (!same && (solve_begin(&b, e, run, run->x + i, 1, at + col + i), !solve_int(&b, &how, &g, &q[i])))
            return false;
    }
    for (size_t i = 0, m; run->compare && i < n; i += m) {
        m = GROUPS_MOST;
        if (n - i < GROUPS_MOST)
            m = n - i;
        const struct codes8 codes = { how.asymmetric ? all.zero + i : middle, all.scale + i, 1, false, false };
        run->kernels->codes8_f32(run->back, q + i, 0, m, &codes);
        run->compare(run->of, at + col + i, all.x + i, run->back, m);
    }
    return true;
}

/* Finds them from all groups of the row. */
static bool
find_ordered(const struct encoding *e, const struct encode_run *run, uint64_t at, uint64_t col, size_t n, uint8_t *q, struct err *err)
{
    const size_t group = ((const struct columns_own *)e->own)->group;
    uint8_t *found = (uint8_t *)run->room + ORDERED_ROOM;
    if (!run->read(run->of, at, (size_t)e->cols, run->x, err))
        return false;
    for (uint64_t j = 0; j < e->cols / group; j++) {
        struct solve_block b;
        struct int_group g;
        ordered_begin(&b, e, run, run->x, at, j, group);
        if (!solve_group(e, &b, &g, found))
            return false;
        for (size_t i = 0; i < group; i++)
            if (b.column[i] >= col && b.column[i] - col < n)
                q[b.column[i] - col] = found[i];
        if (!run->compare)
            continue;
        run->kernels->codes8_f32(run->back, found, 0, group, &(const struct codes8){ &g.zero, &g.scale, group, false, false });
        run->compare(run->of, at + b.column[0], b.x, run->back, group);
    }
    return true;
}

/* Like put_place(), for groups that are ordered. */
static bool
put_ordered(const struct encoding *e, const struct encode_run *run, enum columns_kind kind, const struct columns_form *form,
    uint64_t place, uint64_t from, uint64_t to, uint8_t *y, struct err *err)
{
    const struct columns_numbers *n = numbers_of(e);
    size_t pitch = (size_t)form->width * form->bytes;
    uint32_t f = 32 / n->bits;
    uint64_t at = place * form->rows * e->cols;
    uint8_t *q = (uint8_t *)(run->back + ENCODE_FLOATS / 2);            /* comparisons need less than the first half */
    if (kind == CODES && !(is_kept(run) ? find_kept : find_ordered)(e, run, at, from * f, (size_t)(to - from) * f, q, err))
        return false;
    for (uint64_t line = from; kind != SCALES && line < to; line++)
        store_le32(y + (line - from) * pitch, kind == CODES ? word_of(n, q + (line - from) * f, 1) : 0);
    for (uint32_t r = 0; kind != CODES && r < form->rows; r++)
        if (!put_groups(e, run, kind, at + r * e->cols, r, from, to, y, pitch, err))
            return false;
    return true;
}

/* --- all */

/* Writes parts that do not depend on elements: the index of groups, and the zero points of symmetric codes, which are all
 * equal. */
static void
put_known(const struct encoding *e, enum columns_kind kind, uint64_t first, uint64_t count, uint8_t *y)
{
    const struct columns_numbers *n = numbers_of(e);
    const struct columns_own *own = e->own;
    const struct int_group g = { .zero = (float)(1u << (n->bits - 1)) };
    uint8_t zeros[8];
    for (int i = 0; i < 8; i++)
        zeros[i] = zero_field(n, &g);
    if (kind == INDEX && e->order) {
        ordered_index(e, own->group, first, count, y);
        return;
    }
    for (uint64_t i = first; i < first + count; i++, y += 4)
        store_le32(y, kind == INDEX ? (uint32_t)(i / own->group) : word_of(n, zeros, 1));
}

static bool
columns_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count,
    uint8_t *y, struct err *err)
{
    const struct columns_own *own = e->own;
    enum columns_kind kind = own->kind[part];
    if (kind == INDEX || (kind == ZEROS && !own->rule.asymmetric)) {
        put_known(e, kind, first, count, y);
        return true;
    }
    struct columns_form form = form_of(e, kind);
    uint64_t end = first + count, width = form.width;
    for (uint64_t place = 0; place < width; place++) {
        uint64_t from = 0;
        if (first > place)
            from = num_ceil_div(first - place, width);
        uint64_t to = 0;
        if (end > place)
            to = num_ceil_div(end - place, width);
        if (from < to && !(e->order ? put_ordered : put_place)(e, run, kind, &form, place, from, to,
            y + (from * width + place - first) * form.bytes, err))
            return false;
    }
    return true;
}

static const struct columns_numbers gptq = { .bits = 4 }, gptq8 = { .bits = 8 }, awq = { .bits = 4, .awq = true },
    quark = { .bits = 4, .awq = true, .quark = true };

#define COLUMNS(code, label_, numbers_, ...) { .name = code, .label = label_, .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, .numbers = &numbers_, \
    .fit = columns_fit, .encode = columns_encode, .panel = columns_panel, .survey.region = columns_survey, \
    .loaders.joint = true, .exact = { .solve = columns_encode, .resolve = columns_resolve }, \
    .grid = { .groups = GROUPS_CHOSEN, .most_group = 1024, __VA_ARGS__ } }

const struct encoder encode_columns[] = {
    COLUMNS("gptq", "GPTQ", gptq, .zeros = true, .no_zero = true),
    COLUMNS("gptq-8bit", "GPTQ 8-bit", gptq8, .zeros = true, .no_zero = true),
    COLUMNS("awq", "AWQ", awq),
    COLUMNS("quark-int4", "Quark INT4", quark, .types = true),
    { .name = NULL },
};
