#include "pipeline/block.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "kernel/repack.h"
#include "pipeline/changed.h"
#include "pipeline/encoder.h"
#include "pipeline/verify.h"

enum {
    PART_ALIGN = 64,            /* alignment of parts in the window and of scratch memory: a cache line */
    ELEM_MAX = 64,              /* size of the largest element, and of a block that is repacked */
    OPERATION_FLOATS = 1024     /* elements per call of operations_apply() */
};

bool
workspace_init(struct workspace *b, size_t block, struct err *err)
{
    void *p;
    size_t n = block + BLOCK_WINDOW + BLOCK_SPARE;
    if (posix_memalign(&p, 4096, n) != 0)
        return err_memory(err, n);
    b->out = p;
    b->in = b->out + block;
    b->spare = b->in + BLOCK_WINDOW;
    return true;
}

void
workspace_clear(struct workspace *b)
{
    free(b->out);
    free(b->room);
    free(b->floats);
    free(b->hints);
    free(b->grain.p);
    free(b->held.p);
    free(b->facts.p);
    free(b->tile);
    free(b->wide);
    free(b->before);
    free(b->shown);
    *b = (struct workspace){ 0 };
}

static bool
yields_hints(const struct reading *how)
{
    return how->what == READING_HINTS || how->what == READING_FACTORS;
}

/* Reads bytes of a tensor that no other block needs. Verifies them, and with direct output drops them from the page cache. */
static bool
read_once(const struct reading *how, const struct tensor *t, uint64_t from, uint8_t *y, uint64_t n, struct err *err)
{
    const struct extent *e = &t->extent;
    if (!model_bytes(how->p->model, t, from, y, (size_t)n, err))
        return false;
    if (yields_hints(how))                  /* the values of the same bytes are read afterwards */
        return true;
    if (how->p->verify && !t->layout && !verify_add(how->p->verify, t, from, y, (size_t)n, err))
        return false;
    if (sink_is_direct(how->p->sink) && !t->layout)
        source_drop(how->p->model->src[e->file], e->at + from, e->at + from + n);
    return true;
}

/* --- weights */

/* Finds the spans of all RUN parts for a run of elements. Returns their size in the window. */
static uint64_t
find_spans(const struct weight *w, struct span spans[SCHEME_PARTS], uint64_t first, uint64_t count)
{
    uint64_t total = 0;
    for (unsigned p = 0; p < SCHEME_PARTS; p++) {
        spans[p] = (struct span){ .len = 0 };
        if (weight_has_run(w, p))
            w->scheme->run(&spans[p], w, p, first, count);
        total += num_ceil_div(spans[p].len, PART_ALIGN) * PART_ALIGN;
    }
    return total;
}

/* Returns true if the hints of a weight do not depend on its codes, and its scales are stored apart from them. */
static bool
skips_codes(const struct reading *how, const struct weight *w)
{
    return how->what == READING_FACTORS && w->part[1] && dtype_facts(w->part[0]->dtype)->elems == 1;
}

/* Reads a span of part p. Codes that no other run needs are read once. */
static bool
read_span(const struct reading *how, const struct weight *w, unsigned p, const struct span *s, uint8_t *window, struct err *err)
{
    if (p == 0 && weight_need(w, 0) == NEED_RUN)
        return read_once(how, w->part[p], s->at, window, s->len, err);
    return model_bytes(how->p->model, w->part[p], s->at, window, s->len, err);
}

static bool
read_spans(const struct reading *how, const struct weight *w, const struct span spans[SCHEME_PARTS],
    struct part_bytes in[SCHEME_PARTS], struct err *err)
{
    uint8_t *window = how->b->in;
    for (unsigned p = 0; p < SCHEME_PARTS; p++) {
        const struct span *s = &spans[p];
        if (s->len == 0)
            continue;
        if (!(p == 0 && skips_codes(how, w)) && !read_span(how, w, p, s, window, err))
            return false;
        in[p] = (struct part_bytes){ .p = window, .at = s->at };
        window += num_ceil_div(s->len, PART_ALIGN) * PART_ALIGN;
    }
    return true;
}

/* With direct output, drops codes that runs read repeatedly, once the last element is generated. */
static void
drop_codes(const struct reading *how, const struct piece *piece, uint64_t end)
{
    const struct tensor *codes = piece->of.weight->part[0];
    const struct extent *e = &codes->extent;
    if (!yields_hints(how) && weight_need(piece->of.weight, 0) == NEED_AGAIN && !codes->layout && sink_is_direct(how->p->sink)
        && end * dtype_facts(piece->to)->bytes == piece->nbytes)
        source_drop(how->p->model->src[e->file], e->at, e->at + e->nbytes);
}

/* Makes b->room hold n bytes, aligned to a cache line: without that, rows rotated in groups of 4096 took 10 % longer. */
static bool
find_room(struct workspace *b, size_t n, struct err *err)
{
    if (n <= b->room_size)
        return true;
    free(b->room);
    b->room = NULL;
    if (posix_memalign(&b->room, PART_ALIGN, n) == 0)
        b->room_size = n;
    else
        b->room_size = 0;
    return b->room_size != 0 || err_memory(err, n);
}

/* Decodes elements from `first` on and sets *count to how many, as limited by the window. `panel` is NULL if none is needed. */
static bool
decode_some(const struct reading *how, const struct piece *piece, enum dtype to, const struct panel *panel, uint64_t first,
    uint64_t *count, uint8_t *y, struct err *err)
{
    const struct weight *w = piece->of.weight;
    struct span spans[SCHEME_PARTS];
    struct part_bytes in[SCHEME_PARTS] = { { 0 } };
    size_t size = dtype_facts(to)->bytes;
    bool misaligned = (uintptr_t)y % size != 0;        /* kernels store aligned elements */
    uint64_t n = misaligned ? num_min(*count, BLOCK_SPARE / size) : *count;
    if (panel)
        n = num_min(n, panel->end - first);
    while (find_spans(w, spans, first, n) > BLOCK_WINDOW)
        if ((n /= 2) == 0)
            return err_at(err, ERR_BUG, w->part[0]->extent.at, "one element exceeds the window");
    for (unsigned p = 0; panel && p < SCHEME_PARTS; p++)
        in[p] = panel_part(panel, p, first);
    if (!find_room(how->b, w->scheme->room, err) || !read_spans(how, w, spans, in, err))
        return false;
    const struct decoding d = { w, how->kernels, in, first, n, to, how->b->room, yields_hints(how) };
    scheme_decode(&d, misaligned ? how->b->spare : y);
    if (misaligned)
        memcpy(y, how->b->spare, (size_t)n * size);
    if (to == DTYPE_F16)
        nonfinite_add(&how->b->values, DTYPE_F16, y, (size_t)n);
    drop_codes(how, piece, first + n);
    *count = n;
    return true;
}

/* --- unquantized tensors */

/* Returns true if a tensor is converted to another type. */
static bool
is_cast(const struct piece *piece, enum dtype to)
{
    return piece->kind != PIECE_DECODE && to != piece_input(piece, 0)->dtype;
}

/* Returns true if the stored bytes of a tensor differ from its elements: big-endian, negated or conjugated. */
static bool
is_changed(const struct tensor *t)
{
    return (t->big_endian && dtype_facts(t->dtype)->word > 1) || t->sign != 0;
}

/* Converts `count` stored elements of t in place. Integers are negated in two's complement. */
static void
change(const struct tensor *t, uint8_t *y, size_t count)
{
    const struct dtype_facts *f = dtype_facts(t->dtype);
    size_t words = count * f->bytes / f->word;
    if (t->big_endian && f->word > 1)
        bytes_swap(y, f->word, words);
    for (size_t i = 0; t->sign != 0 && i < words; i++) {
        bool imaginary = f->kind == DTYPE_IS_COMPLEX && i % 2 != 0;
        if (!(t->sign & TENSOR_NEGATED) == !(imaginary && t->sign & TENSOR_CONJUGATED))
            continue;
        if (f->kind != DTYPE_IS_INT)
            y[(i + 1) * f->word - 1] ^= 0x80;
        else
            bytes_negate(y + i * f->word, f->word);
    }
}

/* Copies elements [col, col + count) of an output row whose units are in the order of their stored rows. */
static void
pick_units(const struct piece_view *view, const uint8_t *row, uint64_t col, uint64_t count, size_t item, uint8_t *y)
{
    const struct layout *order = view->order;
    const struct layout_dim inner = order->dim[order->rank - 1];
    size_t unit = view->unit * item, step = (size_t)inner.stride * unit, skip = (size_t)(col % view->unit) * item;
    size_t left = (size_t)count * item;
    for (uint64_t u = col / view->unit; left != 0; skip = 0) {
        const uint8_t *x = row + layout_at(order, u) * unit;
        for (uint64_t i = u % inner.n; i < inner.n && left != 0; i++, u++, x += step, skip = 0) {
            size_t n = (size_t)num_min(unit - skip, left);
            memcpy(y, x + skip, n);
            y += n;
            left -= n;
        }
    }
}

/* Copies elements from `first` on and sets *count to how many, at most to the end of their row. */
static void
view_some(const struct piece *piece, const struct panel *panel, uint64_t first, uint64_t *count, uint8_t *y)
{
    const struct piece_view *view = piece->of.view;
    size_t item = dtype_facts(view->tensor->dtype)->bytes;
    const uint8_t *row = panel_part(panel, 0, first).p;
    uint64_t col = first % panel->cols;
    *count = num_min(*count, panel->cols - col);
    if (view->order)
        pick_units(view, row, col, *count, item, y);
    else
        memcpy(y, row + col * item, (size_t)*count * item);
    change(view->tensor, y, (size_t)*count);
}

/* Reads elements [first, first + count) of a tensor and applies change(). */
static bool
change_run(const struct reading *how, const struct tensor *t, uint64_t first, uint64_t count, uint8_t *y, struct err *err)
{
    size_t size = dtype_facts(t->dtype)->bytes;
    if (!read_once(how, t, first * size, y, count * size, err))
        return false;
    change(t, y, (size_t)count);
    return true;
}

/* --- quantized data */

/* Rearranges units [first, first + count), through the window. */
static bool
repack_run(const struct reading *how, const struct repack *r, uint64_t first, uint64_t count, uint8_t *y, struct err *err)
{
    const struct repack_facts *f = repack_facts(r->kind);
    uint8_t *other;
    for (uint64_t n; count != 0; first += n, count -= n, y += n * f->out) {
        n = num_min(count, BLOCK_WINDOW / (f->in[0] + f->in[1]));
        other = how->b->in + n * f->in[0];
        bool once = r->input[1] != NULL;        /* blocks are read twice: for codes and for scales */
        if (once ? !read_once(how, r->input[0], first * f->in[0], how->b->in, n * f->in[0], err)
                || !read_once(how, r->input[1], first * f->in[1], other, n * f->in[1], err)
                : !model_bytes(how->p->model, r->input[0], first * f->in[0], how->b->in, (size_t)(n * f->in[0]), err))
            return false;
        if (r->kind == REPACK_MXFP4)
            repack_mxfp4(y, how->b->in, other, (size_t)n);
        else if (r->kind == REPACK_NVFP4)
            repack_nvfp4(y, how->b->in, other, (size_t)n);
        else if (r->kind == REPACK_MXFP4_CODES)
            repack_mxfp4_codes(y, how->b->in, (size_t)n);
        else
            repack_mxfp4_scales(y, how->b->in, (size_t)n);
    }
    return true;
}

/* --- pieces */

/* Converts elements [first, first + count) of a tensor to another type, through the window. */
static bool
cast_run(const struct reading *how, const struct piece *piece, enum dtype to, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct tensor *t = piece_input(piece, 0);
    const struct dtype_facts *in = dtype_facts(t->dtype), *out = dtype_facts(to);
    for (uint64_t n; count != 0; first += n, count -= n, y += n * out->bytes) {
        n = num_min(count, BLOCK_WINDOW / in->bytes);
        if (piece->kind == PIECE_VIEW) {
            const struct panel *panel = panels_take(how->panels, piece, first, how->b->in, err);
            if (!panel)
                return false;
            view_some(piece, panel, first, &n, how->b->in);
            panels_release(how->panels, panel);
        } else if (!change_run(how, t, first, n, how->b->in, err)) {
            return false;
        }
        kernels_cast(how->kernels, t->dtype, to, y, how->b->in, (size_t)n);
        if (to == DTYPE_F16 || in->bytes > 4)
            nonfinite_add(&how->b->values, to, y, (size_t)n);
    }
    return true;
}

static bool
element_run(const struct reading *how, const struct piece *piece, uint64_t first, uint64_t count, size_t size, uint8_t *y,
    struct err *err);

/* Argument of read_composed(). */
struct composed_source {
    const struct reading *how;
    const struct built *built;
    size_t size;                /* per element */
};

static bool
read_composed(void *of, size_t part, uint64_t first, uint64_t n, uint8_t *y, struct err *err)
{
    const struct composed_source *source = of;
    return element_run(source->how, source->built->part[part], first, n, source->size, y, err);
}

/* Reads elements [first, first + count) of a composed tensor before its operations, which work in F32. */
static bool
composed_elements(const struct reading *how, const struct piece *piece, uint64_t first, uint64_t count, size_t size, uint8_t *y,
    struct err *err)
{
    struct composed_source source = { how, piece->of.built, size };
    if (!how->b->tile && (how->b->tile = malloc(COMPOSED_TILE)) == NULL)
        return err_memory(err, COMPOSED_TILE);
    return composed_run(source.built->composed, first, count, size, y, how->b->tile, read_composed, &source, err);
}

/* Generates at most n elements of one part that has operations, a few at a time. Returns how many; 0 is a failure. */
static uint64_t
operate(const struct reading *how, const struct piece *piece, const struct composed_part *part, uint64_t first, uint64_t n,
    size_t size, uint8_t *y, struct err *err)
{
    float x[OPERATION_FLOATS];
    n = num_min(n, OPERATION_FLOATS);
    if (!composed_elements(how, piece, first, n, sizeof *x, (uint8_t *)x, err))
        return 0;
    operations_apply(part->op, part->nops, x, (size_t)n, part->copy && part->copy->dtype == DTYPE_F16);
    if (piece->to == DTYPE_F32)
        memcpy(y, x, (size_t)n * size);
    else
        kernels_cast(how->kernels, DTYPE_F32, piece->to, y, (const uint8_t *)x, (size_t)n);
    if (piece->to == DTYPE_F16)
        nonfinite_add(&how->b->values, piece->to, y, (size_t)n);
    return n;
}

/* Generates elements [first, first + count) of a composed tensor. */
static bool
composed_bytes(const struct reading *how, const struct piece *piece, uint64_t first, uint64_t count, size_t size, uint8_t *y,
    struct err *err)
{
    const struct composed *composed = piece->of.built->composed;
    bool operates = false;
    if (composed->n == 0 && piece->to != DTYPE_F32 && dtype_is_float(piece->to)) {
        kernels_cast(how->kernels, DTYPE_F32, piece->to, y, (const uint8_t *)composed->numbers + first * sizeof(float), (size_t)count);
        return true;
    }
    for (size_t i = 0; i < composed->n && !operates; i++)
        operates = composed->part[i].nops != 0;
    if (!operates)
        return composed_elements(how, piece, first, count, size, y, err);
    for (uint64_t n; count != 0; first += n, count -= n, y += n * size) {
        const struct composed_part *part = &composed->part[composed_find(composed, first)];
        n = num_min(count, composed_run_length(composed, first));
        if (part->nops != 0 && (n = operate(how, piece, part, first, n, size, y, err)) == 0)
            return false;
        if (part->nops == 0 && !composed_elements(how, piece, first, n, size, y, err))
            return false;
    }
    return true;
}

bool
block_source(const struct reading *how, const struct piece *piece, enum dtype to, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    size_t size = dtype_facts(to)->bytes;
    if (is_cast(piece, to))
        return cast_run(how, piece, to, first, count, y, err);
    if (piece->kind == PIECE_COPY)
        return change_run(how, piece->of.tensor, first, count, y, err);
    for (uint64_t n; count != 0; first += n, count -= n, y += n * size) {
        const struct panel *panel = NULL;
        n = count;
        if (panel_is_needed(piece) && !(panel = panels_take(how->panels, piece, first, how->b->in, err)))
            return false;
        bool ok = true;
        if (piece->kind == PIECE_VIEW)
            view_some(piece, panel, first, &n, y);
        else
            ok = decode_some(how, piece, to, panel, first, &n, y, err);
        if (panel)
            panels_release(how->panels, panel);
        if (!ok)
            return false;
    }
    return true;
}

/* Generates elements [first, first + count) of a piece that consists of elements. */
static bool
element_run(const struct reading *how, const struct piece *piece, uint64_t first, uint64_t count, size_t size, uint8_t *y,
    struct err *err)
{
    if (piece->kind == PIECE_COMPOSED)
        return composed_bytes(how, piece, first, count, size, y, err);
    if (piece->kind == PIECE_REPACK)
        return repack_run(how, piece->of.repack, first, count, y, err);
    if (piece_delta(piece))
        return changed_run(how, piece, first, count, size, y, err);
    return block_source(how, piece, piece->to, first, count, y, err);
}

/* Generates bytes [from, to) of a piece that consists of elements of `size` bytes; the first and the last may be partial. */
static bool
element_bytes(const struct reading *how, const struct piece *piece, size_t size, uint64_t from, uint64_t to, uint8_t *y,
    struct err *err)
{
    _Alignas(8) uint8_t one[ELEM_MAX];
    if (from % size != 0) {                     /* it counts in the block where it starts */
        struct reading rest = *how;
        rest.measures = false;
        uint64_t skip = from % size, n = num_min(size - skip, to - from);
        if (!element_run(&rest, piece, from / size, 1, size, one, err))
            return false;
        memcpy(y, one + skip, (size_t)n);
        y += n;
        from += n;
    }
    uint64_t whole = (to - from) / size, rest = (to - from) % size;
    if (whole != 0 && !element_run(how, piece, from / size, whole, size, y, err))
        return false;
    if (rest == 0)
        return true;
    if (!element_run(how, piece, from / size + whole, 1, size, one, err))
        return false;
    memcpy(y + whole * size, one, (size_t)rest);
    return true;
}

/* Generates bytes [from, to) of a piece. */
static bool
piece_bytes(const struct reading *how, const struct piece *piece, uint64_t from, uint64_t to, uint8_t *y, struct err *err)
{
    const struct tensor *t = piece_input(piece, 0);
    switch (piece->kind) {
    case PIECE_TEXT:
        memcpy(y, piece->of.text + from, (size_t)(to - from));
        return true;
    case PIECE_ZERO:
        memset(y, 0, (size_t)(to - from));
        return true;
    case PIECE_LATE:
        return true;
    case PIECE_ENCODE:
        return how->p->encode->bytes(how, piece, from, to, y, err);
    case PIECE_COPY:
        if (!is_changed(t) && !is_cast(piece, piece->to) && !piece_delta(piece))
            return read_once(how, t, from, y, to - from, err);
        break;
    default:
        break;
    }
    return element_bytes(how, piece, piece_size(piece), from, to, y, err);
}

/* Fails because element `at` of a piece, which is x, is NaN or infinite. */
static bool
refuse_nonfinite(const struct piece *elements, uint64_t at, float x, struct err *err)
{
    struct tensor t;
    char name[STR_SHOWN];
    piece_output(&t, elements);
    return err_set(err, ERR_MALFORMED, "tensor %s: element %" PRIu64 " is %s, which cannot be "
        "encoded; --allow-nonfinite encodes it as the reference does", str_shown(name, t.name, t.name_len), at,
        isnan(x) ? "NaN" : "infinite");
}

/* Fails if one of n floats is NaN or infinite. */
static bool
all_finite(const struct kernels *k, const struct piece *elements, uint64_t first, const float *x, size_t n,
    struct err *err)
{
    size_t i = 0;
    float most = 0;
    k->encode_absmax(&most, x, n, n);
    if (isfinite(most))
        return true;
    while (isfinite(x[i]))
        i++;
    return refuse_nonfinite(elements, first + i, x[i], err);
}

/* Fails if one of the elements that are held is NaN or infinite. Those of 32 and 64 bits are not checked here. */
static bool
check_held(const struct kernels *k, struct held *held, struct err *err)
{
    const enum dtype type = held->elements->to;
    float x = 0;
    uint64_t i = 0;
    if (!k->absmax_of[type])
        return true;
    k->absmax_of[type](&x, held->p, (size_t)held->n, (size_t)held->n);
    held->finite = isfinite(x);
    if (held->finite)
        return true;
    for (k->widen[type](&x, held->p, 1); isfinite(x); k->widen[type](&x, held->p + ++i * 2, 1))
        ;
    return refuse_nonfinite(held->elements, held->first + i, x, err);
}

bool
block_hold(const struct reading *how, const struct piece *elements, uint64_t first, uint64_t n, struct err *err)
{
    struct held *held = &how->b->held;
    size_t size = (size_t)n * dtype_facts(elements->to)->bytes;
    held->elements = NULL;
    if (held->room < size) {
        free(held->p);
        held->room = (held->p = malloc(size)) != NULL ? size : 0;
        if (!held->p)
            return err_memory(err, size);
    }
    if (!element_run(how, elements, first, n, dtype_facts(elements->to)->bytes, held->p, err))
        return false;
    held->elements = elements;
    held->what = how->what;
    held->first = first;
    held->n = n;
    held->finite = false;
    return how->nonfinite || check_held(how->kernels, held, err);
}

bool
block_holds(const struct reading *how, const struct piece *elements, uint64_t first, uint64_t n)
{
    const struct held *held = &how->b->held;
    return how->what == held->what && held->elements == elements && first >= held->first && first + n <= held->first + held->n;
}

bool
block_floats(const struct reading *how, const struct piece *elements, uint64_t first, size_t n, float *x, struct err *err)
{
    size_t size = dtype_facts(elements->to)->bytes, step = elements->to == DTYPE_F32 ? n : BLOCK_SPARE / size;
    if (block_holds(how, elements, first, n)) {
        const uint8_t *held = how->b->held.p + (first - how->b->held.first) * size;
        if (elements->to == DTYPE_F32)
            memcpy(x, held, n * size);
        else
            how->kernels->widen[elements->to](x, held, n);
        return how->nonfinite || how->b->held.finite || all_finite(how->kernels, elements, first, x, n, err);
    }
    for (size_t done = 0, now; done < n; done += now) {
        now = (size_t)num_min(n - done, step);
        uint8_t *y = elements->to == DTYPE_F32 ? (uint8_t *)(x + done) : how->b->spare;
        if (!element_run(how, elements, first + done, now, size, y, err))
            return false;
        if (elements->to != DTYPE_F32)
            how->kernels->widen[elements->to](x + done, y, now);
    }
    return how->nonfinite || all_finite(how->kernels, elements, first, x, n, err);
}

bool
block_largest(const struct reading *how, const struct piece *elements, const struct encode_extent *at, float *y, float *x,
    struct err *err)
{
    const size_t n = at->rows * at->cols, groups = (size_t)num_ceil_div(at->cols, at->group);
    const struct held *held = &how->b->held;
    kernel_absmax_of *absmax = NULL;
    const uint8_t *codes = NULL;
    if (block_holds(how, elements, at->first, n) && (how->nonfinite || held->finite))
        absmax = how->kernels->absmax_of[elements->to];
    if (absmax)
        codes = held->p + (at->first - held->first) * 2;
    else if (!block_floats(how, elements, at->first, n, x, err))
        return false;
    for (size_t r = 0; r < at->rows; r++, y += groups) {
        if (absmax)
            absmax(y, codes + r * at->cols * 2, at->cols, at->group);
        else
            how->kernels->encode_absmax(y, x + r * at->cols, at->cols, at->group);
    }
    return true;
}

bool
block_make(const struct pipeline *p, struct panels *panels, struct workspace *b, uint64_t from, uint64_t to,
    struct err *err)
{
    const struct reading how = { .p = p, .panels = panels, .b = b, .kernels = p->kernels, .nonfinite = p->nonfinite_ok,
        .measures = true };
    uint8_t *y = b->out;
    for (size_t i = from < to ? pieces_find(p->pieces, from) : 0; from < to; i++) {
        const struct piece *piece = pieces_at(p->pieces, i);
        uint64_t end = num_min(to, piece->at + piece->nbytes);
        if (from >= end)
            continue;           /* no bytes */
        if (!piece_bytes(&how, piece, from - piece->at, end - piece->at, y, err))
            return false;
        y += end - from;
        from = end;
    }
    return true;
}
