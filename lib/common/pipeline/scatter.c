#include "pipeline/scatter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "pipeline/block.h"
#include "pipeline/changed.h"
#include "pipeline/crew.h"

/* Elements that are held at a time, in bytes, and at most for one band of a weight; bytes of a part that are encoded at a time. */
enum { HELD = 512 << 10, HELD_MOST = 4 << 20, PART_BYTES = 128 << 10 };

/* Columns of a panel at least, and bytes of its codes: with 2048 columns of 16 bits no read is shorter than 4 KiB. */
enum { PANEL_COLS = 2048, PANEL_ROWS = 32, PANEL_CODES = 1 << 20 };

/* A run of units of work: the blocks of a range of the output, or the bands or panels of an encoded weight. */
struct scatter_run {
    uint64_t first, units;
    uint64_t from, to;                  /* the range */
    const struct encoding *encoding;    /* or NULL: the range */
    struct encode_bands bands;
    uint64_t step;                      /* bands in a unit */
    uint64_t rows, cols, across;        /* rows of a panel; panels across the columns; columns that must not be divided. 0: bands */
    const struct piece **parts;         /* nparts, in order; owned */
    size_t nparts;
};

struct scatter {
    struct pipeline *p;
    struct panels *panels;
    struct scatter_run *list;               /* n; owned */
    size_t n, room;
    uint64_t units;
    pthread_mutex_t lock;               /* for joining digests and counts */
};

/* --- plan */

/* Returns true if every hook can do without order. */
static bool
are_unordered(const struct pipeline *p)
{
    const struct hook *own;
    bool ok = pieces_hooks(p->pieces, &own) == 0;
    for (size_t i = 0; i < p->nhooks; i++)
        ok = ok && p->hooks[i].join;
    return ok;
}

static struct scatter_run *
run_add(struct scatter *s, struct err *err)
{
    struct scatter_run *list = array_grow(s->list, s->n, &s->room, sizeof *list, err);
    if (!list)
        return NULL;
    s->list = list;
    list[s->n] = (struct scatter_run){ .first = s->units };
    return &list[s->n++];
}

/* Adds bytes to the last range, or begins a new one. */
static bool
range_add(struct scatter *s, const struct piece *piece, struct err *err)
{
    struct scatter_run *last = s->n != 0 ? &s->list[s->n - 1] : NULL;
    if (!last || last->encoding || last->to != piece->at) {
        if (!(last = run_add(s, err)))
            return false;
        last->from = piece->at;
    }
    last->to = piece->at + piece->nbytes;
    return true;
}

/* Returns the bands of a weight that are held at a time; 0 if one is too large. */
static uint64_t
bands_at_once(const struct encode_bands *b, const struct piece *elements)
{
    uint64_t size, most = dtype_facts(elements->to)->bytes;
    if (!num_mul(&size, most, num_min(b->rows, b->matrix)) || !num_mul(&size, size, b->cols) || size > HELD_MOST)
        return 0;
    return num_max(1, HELD / size);
}

/* Chooses the panels of a weight. */
static void
panels_choose(struct scatter_run *t)
{
    const struct encoding *e = t->encoding;
    const struct encode_part *codes = e->part;
    for (unsigned p = 0; p < e->nparts; p++) {
        t->across = num_max(t->across, e->part[p].across);
        if (e->part[p].codes)
            codes = &e->part[p];
    }
    uint64_t groups = e->cols / t->across;
    t->cols = num_max(1, groups / num_ceil_div(PANEL_COLS, t->across));
    uint64_t widest = num_ceil_div(groups, t->cols) * t->across;
    uint64_t line = widest / codes->across * codes->grain;              /* of `down` rows */
    t->rows = num_max(PANEL_ROWS, PANEL_CODES / line * codes->down / PANEL_ROWS * PANEL_ROWS);
}

/* Adds a part to the run of its weight, which is new if this is the first part. `slot` has a place for each encoded weight. */
static bool
part_add(struct scatter *s, const struct piece *piece, size_t *slot, struct err *err)
{
    const struct encoding *e = piece->of.encoded->encoding;
    struct scatter_run *of;
    if (slot[e->number] != 0)
        of = &s->list[slot[e->number] - 1];
    else if ((of = run_add(s, err)) != NULL) {
        slot[e->number] = s->n;
        of->encoding = e;
        if (e->encoder->panel)
            panels_choose(of);
        else if (encode_bands_of(e, &of->bands))
            of->step = bands_at_once(&of->bands, piece->of.encoded->elements);
        of->parts = calloc(e->nparts, sizeof *of->parts);
    }
    if (!of)
        return false;
    if (!of->parts)
        return err_memory(err, e->nparts * sizeof *of->parts);
    of->parts[of->nparts++] = piece;
    return true;
}

/* Returns the encoding of a piece that is made by bands or panels, or NULL. */
static const struct encoding *
divided(const struct pipeline *p, const struct piece *piece)
{
    struct encode_bands bands;
    const struct encoded *of = piece->kind == PIECE_ENCODE ? piece->of.encoded : NULL;
    if (!of)
        return NULL;
    const struct encoding *e = of->encoding;
    if (e->encoder->panel ? e->exact || p->shifts : !encode_bands_of(e, &bands) || bands_at_once(&bands, of->elements) == 0)
        return NULL;
    return e;
}

/* Counts the units of each run. */
static void
count_units(struct scatter *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct scatter_run *t = &s->list[i];
        const struct encode_bands *b = &t->bands;
        t->first = s->units;
        if (t->rows != 0) {
            t->units = num_ceil_div(t->encoding->rows, t->rows) * t->cols;
        } else if (t->encoding) {
            uint64_t rows = num_ceil_div(t->encoding->rows * t->encoding->cols, b->cols);
            t->units = rows / b->matrix * num_ceil_div(b->matrix, b->rows * t->step);
        } else {
            t->units = num_ceil_div(t->to, PIPELINE_BLOCK) - t->from / PIPELINE_BLOCK;
        }
        s->units += t->units;
    }
}

static bool
list_runs(struct scatter *s, size_t encoded, struct err *err)
{
    size_t *slot = calloc(encoded + 1, sizeof *slot);
    bool ok = slot || err_memory(err, (encoded + 1) * sizeof *slot);
    for (size_t i = 0; ok && i < pieces_count(s->p->pieces); i++) {
        const struct piece *piece = pieces_at(s->p->pieces, i);
        ok = piece->nbytes == 0 || (divided(s->p, piece) ? part_add(s, piece, slot, err) : range_add(s, piece, err));
    }
    free(slot);
    count_units(s);
    return ok;
}

bool
scatter_new(struct scatter **scatter, struct pipeline *p, struct panels *panels, struct err *err)
{
    size_t encoded = 0;
    *scatter = NULL;
    if (!sink_has_offsets(p->sink) || sink_is_direct(p->sink) || p->from != 0 || p->to != pieces_nbytes(p->pieces)
        || !are_unordered(p))
        return true;
    for (uint32_t i = 0; i < p->model->nsrc; i++)
        if (!source_seekable(p->model->src[i]))
            return true;
    for (size_t i = 0; i < pieces_count(p->pieces); i++) {
        const struct encoding *e = divided(p, pieces_at(p->pieces, i));
        if (e)
            encoded = (size_t)num_max(encoded, e->number + 1);
    }
    if (encoded == 0)
        return true;
    struct scatter *s = *scatter = calloc(1, sizeof *s);
    if (!s)
        return err_memory(err, sizeof *s);
    *s = (struct scatter){ .panels = panels, .p = p };
    pthread_mutex_init(&s->lock, NULL);
    return list_runs(s, encoded, err);
}

void
scatter_free(struct scatter *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free(s->list[i].parts);
    pthread_mutex_destroy(&s->lock);
    free(s->list);
    free(s);
}

/* --- work */

/* Shared state and one thread's buffers. */
struct scatter_worker {
    struct scatter *s;
    struct workspace b;
    uint8_t *lines;                     /* of a panel, `room` bytes; owned */
    size_t room;
};

static void *
enter(void *of, struct err *err)
{
    struct scatter_worker *w = calloc(1, sizeof *w);
    if (!w || !workspace_init(&w->b, PIPELINE_BLOCK, err)) {
        if (!w)
            err_memory(err, sizeof *w);
        free(w);
        return NULL;
    }
    w->s = of;
    return w;
}

static void
leave(void *own)
{
    struct scatter_worker *w = own;
    struct pipeline *p = w->s->p;
    pthread_mutex_lock(&w->s->lock);
    p->infinite += w->b.values.infinite;
    changed_values_add(&p->changed, &w->b.changed);
    pthread_mutex_unlock(&w->s->lock);
    workspace_clear(&w->b);
    free(w->lines);
    free(w);
}

/* Writes bytes [from, to) of the output. */
static bool
put(struct scatter_worker *w, uint64_t from, uint64_t to, const uint8_t *y, struct err *err)
{
    const struct pipeline *p = w->s->p;
    const size_t n = (size_t)(to - from);
    for (size_t i = 0; i < p->nhooks; i++) {
        const struct hook *h = &p->hooks[i];
        uint64_t digest = 0;
        if (h->digest)
            digest = h->digest(h->of, from, y, n);
        pthread_mutex_lock(&w->s->lock);
        h->join(h->of, n, p->to - to, digest);
        pthread_mutex_unlock(&w->s->lock);
    }
    if (!sink_write_at(p->sink, from, y, n, err))
        return false;
    meter_add(p->model->meter, n);
    return true;
}

/* Encodes and writes bytes [from, to) of a part. */
static bool
put_part(struct scatter_worker *w, const struct reading *how, const struct piece *piece, uint64_t from, uint64_t to, struct err *err)
{
    uint32_t grain = encoded_part(piece)->grain;
    uint64_t step = num_max(1, PART_BYTES / grain) * grain;
    for (uint64_t n; from < to; from += n) {
        n = num_min(to - from, step);
        if (!w->s->p->encode->bytes(how, piece, from, from + n, w->b.out, err) || !put(w, piece->at + from, piece->at + from + n, w->b.out, err))
            return false;
    }
    return true;
}

/* Encodes some bands of a weight. */
static bool
put_bands(struct scatter_worker *w, const struct scatter_run *t, uint64_t unit, struct err *err)
{
    const struct pipeline *p = w->s->p;
    const struct reading how = { .p = p, .panels = w->s->panels, .b = &w->b, .kernels = p->kernels, .nonfinite = p->nonfinite_ok,
        .bands = true };
    const struct encode_bands *b = &t->bands;
    const struct piece *elements = t->parts[0]->of.encoded->elements;
    uint64_t each = num_ceil_div(b->matrix, b->rows * t->step), top = unit / each * b->matrix;
    uint64_t row = top + unit % each * b->rows * t->step, end = num_min(row + b->rows * t->step, top + b->matrix);
    uint64_t first = row * b->cols, last = num_min(end * b->cols, t->encoding->rows * t->encoding->cols);
    bool ok = block_hold(&how, elements, first, last - first, err);
    for (size_t i = 0; ok && i < t->nparts; i++) {
        uint64_t from, to;
        encode_band_bytes(t->encoding, encoded_part(t->parts[i]), b, row, end, &from, &to);
        ok = put_part(w, &how, t->parts[i], from, to, err);
    }
    return ok;
}

/* Sets the places of all parts of a panel, in the memory of the thread. */
static bool
places_find(struct scatter_worker *w, const struct encoding *e, struct encode_panel *panel, struct err *err)
{
    size_t n = 0;
    for (unsigned p = 0; p < e->nparts; p++)
        n += encode_panel_lines(e, p, panel, NULL);
    if (n > w->room) {
        free(w->lines);
        w->room = (w->lines = malloc(n)) != NULL ? n : 0;
        if (!w->lines)
            return err_memory(err, n);
    }
    uint8_t *y = w->lines;
    for (unsigned p = 0; p < e->nparts; p++)
        y += encode_panel_lines(e, p, panel, y);
    return true;
}

/* Writes the lines of a part. */
static bool
put_lines(struct scatter_worker *w, const struct piece *piece, const struct encode_lines *l, struct err *err)
{
    bool ok = true;
    for (uint64_t i = 0; ok && i < l->lines; i++) {
        uint64_t at = piece->at + l->at + i * l->stride;
        ok = put(w, at, at + l->n, l->y + i * l->pitch, err);
    }
    return ok;
}

/* Encodes a panel of a weight. The parts that need no elements belong to the first one. */
static bool
put_panel(struct scatter_worker *w, const struct scatter_run *t, uint64_t unit, struct err *err)
{
    const struct pipeline *p = w->s->p;
    const struct reading how = { .p = p, .panels = w->s->panels, .b = &w->b, .kernels = p->kernels, .nonfinite = p->nonfinite_ok };
    const struct encoding *e = t->encoding;
    uint64_t groups = e->cols / t->across, at = unit % t->cols;
    struct encode_panel panel = { .row = unit / t->cols * t->rows, .col = groups * at / t->cols * t->across };
    panel.rows = num_min(t->rows, e->rows - panel.row);
    panel.cols = groups * (at + 1) / t->cols * t->across - panel.col;
    bool ok = places_find(w, e, &panel, err) && p->encode->panel(&how, t->parts[0]->of.encoded, &panel, err);
    for (size_t i = 0; ok && i < t->nparts; i++) {
        const struct piece *piece = t->parts[i];
        const struct encode_lines *l = &panel.part[piece->of.encoded->part];
        if (l->lines != 0)
            ok = put_lines(w, piece, l, err);
        else if (unit == 0)
            ok = put_part(w, &how, piece, 0, piece->nbytes, err);
    }
    return ok;
}

static int
compare_run(const void *unit, const void *run)
{
    const uint64_t u = *(const uint64_t *)unit;
    const struct scatter_run *t = run;
    return u < t->first ? -1 : u >= t->first + t->units;
}

static bool
scatter_work(void *of, void *own, uint64_t unit, struct err *err)
{
    struct scatter *s = of;
    struct scatter_worker *w = own;
    const struct scatter_run *t = bsearch(&unit, s->list, s->n, sizeof *t, compare_run);
    if (t->rows != 0)
        return put_panel(w, t, unit - t->first, err);
    if (t->encoding)
        return put_bands(w, t, unit - t->first, err);
    uint64_t at = (t->from / PIPELINE_BLOCK + unit - t->first) * PIPELINE_BLOCK;
    uint64_t from = num_max(t->from, at), to = num_min(t->to, at + PIPELINE_BLOCK);
    return block_make(s->p, s->panels, &w->b, from, to, err) && put(w, from, to, w->b.out, err);
}

bool
scatter_run(struct scatter *s, unsigned jobs, struct err *err)
{
    const struct crew crew = { .units = s->units, .jobs = jobs, .of = s, .enter = enter, .work = scatter_work, .leave = leave };
    return crew_run(&crew, err);
}
