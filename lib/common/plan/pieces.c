#include "plan/pieces.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/search.h"
#include "plan/fused.h"

enum {
    VIEW_ROW = 32 << 20,        /* bytes of an output row; panels with longer rows would exceed their memory */
    VIEW_UNIT = 1024            /* bytes of a unit; longer ones are worth a read each */
};

struct pieces {
    struct piece *list;
    size_t n, room;
    uint64_t nbytes;
    struct hook hooks[PIECES_HOOKS];
    size_t nhooks;
    bool late;                  /* there is a LATE piece */
    void *own;                  /* data of the writer, freed by: */
    void (*free_own)(void *own);
};

struct pieces *
pieces_new(struct err *err)
{
    struct pieces *p = calloc(1, sizeof *p);
    if (!p)
        err_memory(err, sizeof *p);
    return p;
}

static void
free_built(const struct built *built)
{
    for (size_t i = 0; built && i < built->composed->n; i++)
        piece_free(built->part[i]);
    free((void *)built);
}

void
piece_free(struct piece *piece)
{
    if (piece && piece->kind == PIECE_COMPOSED)
        free_built(piece->of.built);
    free(piece);
}

static void
free_encoded(struct encoded *encoded)
{
    for (size_t i = 0; encoded->first && encoded->fused && i < encoded->encoding->fused->n; i++)
        if (encoded->fused[i] != encoded->elements)
            piece_free((void *)encoded->fused[i]);
    if (encoded->first) {
        free((void *)encoded->fused);
        piece_free((void *)encoded->elements);
        piece_free((void *)encoded->wide);
    }
    free(encoded);
}

void
pieces_free(struct pieces *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++) {
        if (p->list[i].kind == PIECE_TEXT)
            free((void *)p->list[i].of.text);
        else if (p->list[i].kind == PIECE_VIEW)
            free((void *)p->list[i].of.view);
        else if (p->list[i].kind == PIECE_COMPOSED)
            free_built(p->list[i].of.built);
        else if (p->list[i].kind == PIECE_ENCODE)
            free_encoded((void *)p->list[i].of.encoded);
    }
    if (p->own)
        p->free_own(p->own);
    free(p->list);
    free(p);
}

static bool
pieces_add(struct pieces *p, const struct piece *piece, struct err *err)
{
    uint64_t end;
    if (!num_add(&end, p->nbytes, piece->nbytes) || end > INT64_MAX)
        return err_set(err, ERR_LIMIT, "output size exceeds 2^63 bytes");
    struct piece *list = array_grow(p->list, p->n, &p->room, sizeof *list, err);
    if (!list)
        return false;
    p->list = list;
    list[p->n] = *piece;
    list[p->n++].at = p->nbytes;
    p->nbytes = end;
    p->late = p->late || piece->kind == PIECE_LATE;
    return true;
}

bool
pieces_text(struct pieces *p, struct str *text, struct err *err)
{
    const struct piece piece = { .kind = PIECE_TEXT, .nbytes = text->len, .of.text = text->p };
    if (!pieces_add(p, &piece, err))
        return false;
    *text = (struct str){ 0 };
    return true;
}

static int
compare_strides(const void *pa, const void *pb)
{
    const struct layout_dim *a = pa, *b = pb;
    return (a->stride > b->stride) - (a->stride < b->stride);
}

/* Returns true if dimensions fill a range without gaps, in any order; sets *n to the number of elements. */
static bool
are_dense(const struct layout *l, uint64_t *n)
{
    struct layout sorted = *l;
    *n = 1;
    qsort(sorted.dim, sorted.rank, sizeof *sorted.dim, compare_strides);
    for (uint32_t i = 0; i < sorted.rank; i++)
        if (sorted.dim[i].stride != *n || !num_mul(n, *n, sorted.dim[i].n))
            return false;
    return true;
}

/* Returns true if a tensor consists of entire matrices that were transposed, so that they can be transposed back in panels.
 * Then the innermost stored dimension is the outermost one, or the one after the matrices; the remaining dimensions are the
 * stored rows, in any order. Elements that are adjacent in both orders form a unit. */
static bool
find_view(struct piece_view *view, struct layout *order, const struct tensor *t)
{
    const struct layout *l = t->layout;
    uint64_t item = dtype_facts(t->dtype)->bytes, matrix;
    uint32_t n = l ? l->rank : 0, first;
    if (n < 2)
        return false;
    *view = (struct piece_view){ .tensor = t, .matrices = 1, .unit = 1 };
    if (l->dim[n - 1].stride == 1) {
        if (l->dim[n - 1].n * item > VIEW_UNIT)
            return false;               /* such tensors are read run by run */
        view->unit = (uint32_t)l->dim[--n].n;
    }
    first = l->dim[0].stride != view->unit;
    if (first + 2 > n || l->dim[first].stride != view->unit)
        return false;
    view->cols = l->dim[first].n;
    order->rank = 0;
    for (uint32_t i = first + 1; i < n; i++) {
        if (l->dim[i].stride % (view->unit * view->cols) != 0)
            return false;
        order->dim[order->rank++] = (struct layout_dim){ l->dim[i].n, l->dim[i].stride / (view->unit * view->cols) };
    }
    if (!are_dense(order, &view->rows) || view->rows > VIEW_ROW / (view->unit * item))
        return false;
    if (layout_is_plain(order))
        view->order = NULL;
    else
        view->order = order;
    if (first != 0)
        view->matrices = l->dim[0].n;
    else
        view->matrices = 1;
    return first == 0 || (num_mul(&matrix, view->rows, view->cols * view->unit) && l->dim[0].stride == matrix);
}

/* Sets a piece of all elements of a chosen tensor. The caller provides `view` and `order`, which the piece may point to. */
static bool
find_elements(struct piece *piece, struct piece_view *view, struct layout *order, const struct chosen *chosen, struct err *err)
{
    const struct tensor t = chosen_source(chosen);
    bool whole;
    *piece = (struct piece){ .kind = PIECE_DECODE, .to = chosen->dtype, .of.weight = chosen->decode };
    if (chosen->copy && find_view(view, order, chosen->copy)) {
        piece->kind = PIECE_VIEW;
        piece->of.view = view;
    } else if (chosen->copy) {
        piece->kind = PIECE_COPY;
        piece->of.tensor = chosen->copy;
    } else if (chosen->composed) {
        piece->kind = PIECE_COMPOSED;
        piece->of.built = NULL;
    }
    piece->name = chosen->name;
    piece->name_len = chosen->name_len;
    return (shape_nbytes(&t.shape, t.dtype, &piece->nbytes, &whole) && whole)
        || err_set(err, ERR_BUG, "a tensor without a size is laid out");
}

static size_t
view_size(const struct piece_view *view)
{
    return sizeof *view + (view->order ? layout_size(view->order) : 0);
}

/* Copies a view and its order to memory of view_size() bytes. */
static const struct piece_view *
copy_view(void *memory, const struct piece_view *view)
{
    struct piece_view *copy = memory;
    *copy = *view;
    if (view->order)
        copy->order = memcpy(copy + 1, view->order, layout_size(view->order));
    return copy;
}

/* Makes a piece of all units of quantized data. */
static struct piece *
repacked(const struct repack *repack, struct err *err)
{
    const struct repack_facts *facts = repack_facts(repack->kind);
    struct piece *piece = malloc(sizeof *piece);
    if (piece)
        *piece = (struct piece){ .kind = PIECE_REPACK, .to = facts->to, .at = PIECE_NOWHERE, .of.repack = repack,
            .nbytes = repack->input[0]->extent.nbytes / facts->in[0] * facts->out };
    else
        err_memory(err, sizeof *piece);
    return piece;
}

/* Makes the pieces of a composed tensor. */
static const struct built *
build(const struct composed *composed, enum dtype to, struct err *err)
{
    size_t n = sizeof(struct built) + composed->n * sizeof(struct piece *);
    struct built *built = calloc(1, n);
    if (!built) {
        err_memory(err, n);
        return NULL;
    }
    built->composed = composed;
    for (size_t i = 0; i < composed->n; i++) {
        const struct chosen of = { .copy = composed->part[i].copy, .decode = composed->part[i].decode,
            .dtype = composed->part[i].nops != 0 ? DTYPE_F32 : to };
        const struct repack *repack = composed->part[i].repack;
        if ((built->part[i] = repack ? repacked(repack, err) : piece_elements(&of, err)) == NULL) {
            free_built(built);
            return NULL;
        }
    }
    return built;
}

/* Adds a piece, with a copy of its view if it is a VIEW. */
static bool
add_elements(struct pieces *p, struct piece *piece, struct err *err)
{
    if (piece->kind != PIECE_VIEW)
        return pieces_add(p, piece, err);
    void *memory = malloc(view_size(piece->of.view));
    if (!memory)
        return err_memory(err, view_size(piece->of.view));
    piece->of.view = copy_view(memory, piece->of.view);
    if (pieces_add(p, piece, err))
        return true;
    free(memory);
    return false;
}

struct piece *
piece_elements(const struct chosen *chosen, struct err *err)
{
    struct piece piece, *copy;
    struct layout order;
    struct piece_view view;
    if (!find_elements(&piece, &view, &order, chosen, err))
        return NULL;
    size_t more = 0;
    if (piece.kind == PIECE_VIEW)
        more = view_size(&view);
    copy = malloc(sizeof *copy + more);
    if (!copy) {
        err_memory(err, sizeof *copy + more);
        return NULL;
    }
    *copy = piece;
    copy->at = PIECE_NOWHERE;
    if (more != 0)
        copy->of.view = copy_view(copy + 1, &view);
    if (copy->kind == PIECE_COMPOSED && (copy->of.built = build(chosen->composed, chosen->dtype, err)) == NULL) {
        free(copy);
        copy = NULL;
    }
    return copy;
}

/* Returns true if a delta changes elements of a chosen tensor. */
static bool
is_changed(const struct chosen *c)
{
    bool changed;
    if (c->copy)
        changed = tensor_delta(c->copy) != NULL;
    else
        changed = c->decode && c->decode->delta;
    for (size_t i = 0; c->composed && i < c->composed->n; i++) {
        const struct composed_part *part = &c->composed->part[i];
        changed = changed || (part->copy && tensor_delta(part->copy)) || (part->decode && part->decode->delta);
    }
    return changed;
}

/* Makes the elements of a weight that is encoded, and the elements of the weights in its fused group. */
static bool
find_encoded(struct encoded *encoded, const struct chosen *chosen, struct err *err)
{
    const struct fused *fused = encoded->encoding->fused;
    struct chosen wide = *chosen;
    wide.dtype = DTYPE_F32;
    encoded->elements = piece_elements(chosen, err);
    if (encoded->elements && is_changed(chosen) && chosen->dtype != DTYPE_F32 && (encoded->wide = piece_elements(&wide, err)) == NULL)
        return false;
    if (!encoded->elements || !fused)
        return encoded->elements;
    const struct piece **list = calloc(fused->n, sizeof *list);
    encoded->fused = list;
    if (!list)
        return err_memory(err, fused->n * sizeof *list);
    for (size_t i = 0; i < fused->n; i++) {
        if (fused->member[i].encoding == encoded->encoding)
            list[i] = encoded->elements;
        else
            list[i] = piece_elements(&fused->member[i], err);
        if (!list[i])
            return false;
    }
    return true;
}

/* If a weight becomes several tensors, the first of them has made the elements already. */
static bool
add_encoded(struct pieces *p, const struct chosen *chosen, struct err *err)
{
    const struct piece *before = NULL;
    if (p->n != 0)
        before = &p->list[p->n - 1];
    struct piece piece = { .kind = PIECE_ENCODE, .nbytes = encode_part_nbytes(&chosen->encoding->part[chosen->part]) };
    bool shares = before && before->kind == PIECE_ENCODE && before->of.encoded->encoding == chosen->encoding;
    struct encoded *encoded = malloc(sizeof *encoded);
    if (!encoded)
        return err_memory(err, sizeof *encoded);
    *encoded = (struct encoded){ .encoding = chosen->encoding, .part = chosen->part, .first = !shares };
    if (shares) {
        encoded->elements = before->of.encoded->elements;
        encoded->wide = before->of.encoded->wide;
        encoded->fused = before->of.encoded->fused;
    }
    piece.of.encoded = encoded;
    if ((shares || find_encoded(encoded, chosen, err)) && pieces_add(p, &piece, err))
        return true;
    free_encoded(encoded);
    return false;
}

bool
pieces_chosen(struct pieces *p, const struct chosen *chosen, struct err *err)
{
    struct piece piece;
    struct layout order;
    struct piece_view view;
    if (chosen->encoding)
        return add_encoded(p, chosen, err);
    if (!find_elements(&piece, &view, &order, chosen, err))
        return false;
    if (piece.kind == PIECE_COMPOSED && (piece.of.built = build(chosen->composed, chosen->dtype, err)) == NULL)
        return false;
    if (add_elements(p, &piece, err))
        return true;
    if (piece.kind == PIECE_COMPOSED)
        free_built(piece.of.built);
    return false;
}

bool
pieces_view(struct pieces *p, const struct piece_view *view, struct err *err)
{
    struct piece piece = { .kind = PIECE_VIEW, .to = view->tensor->dtype, .nbytes = view->tensor->extent.nbytes,
        .of.view = view };
    return add_elements(p, &piece, err);
}

bool
pieces_zero(struct pieces *p, uint64_t nbytes, struct err *err)
{
    return nbytes == 0 || pieces_add(p, &(const struct piece){ .kind = PIECE_ZERO, .nbytes = nbytes }, err);
}

bool
pieces_late(struct pieces *p, const struct late *late, uint64_t nbytes, struct err *err)
{
    return pieces_add(p, &(const struct piece){ .kind = PIECE_LATE, .nbytes = nbytes, .of.late = late }, err);
}

void
pieces_own(struct pieces *p, void *of, void (*free_of)(void *of))
{
    p->own = of;
    p->free_own = free_of;
}

void
pieces_hook(struct pieces *p, const struct hook *hook)
{
    p->hooks[p->nhooks++] = *hook;
}

size_t
pieces_hooks(const struct pieces *p, const struct hook **hooks)
{
    *hooks = p->hooks;
    return p->nhooks;
}

uint64_t
pieces_nbytes(const struct pieces *p)
{
    return p->nbytes;
}

size_t
pieces_count(const struct pieces *p)
{
    return p->n;
}

const struct piece *
pieces_at(const struct pieces *p, size_t i)
{
    return &p->list[i];
}

static uint64_t
pieces_end_of(const void *list, size_t i)
{
    const struct piece *p = &((const struct piece *)list)[i];
    return p->at + p->nbytes;
}

size_t
pieces_find(const struct pieces *p, uint64_t at)
{
    return search_end_after(p->list, p->n, pieces_end_of, at);
}

uint64_t
pieces_next_late(const struct pieces *p, uint64_t at)
{
    for (size_t i = p->late ? pieces_find(p, at) : p->n; i < p->n; i++)
        if (p->list[i].kind == PIECE_LATE && p->list[i].nbytes != 0)
            return num_max(at, p->list[i].at);
    return UINT64_MAX;
}

bool
pieces_can_make(const struct pieces *p, uint64_t from, uint64_t to, struct err *err)
{
    return from == 0 || pieces_next_late(p, from) >= to || err_set(err, ERR_UNSUPPORTED,
        "--range and --part are not supported for this format: its checksums depend on all preceding bytes");
}

const struct encode_part *
encoded_part(const struct piece *piece)
{
    return &piece->of.encoded->encoding->part[piece->of.encoded->part];
}

size_t
piece_size(const struct piece *piece)
{
    if (piece->kind == PIECE_REPACK)
        return repack_facts(piece->of.repack->kind)->out;
    if (piece->kind == PIECE_COMPOSED)
        return composed_size(piece->of.built->composed, piece->to);
    return dtype_facts(piece->to)->bytes;
}

const struct tensor *
piece_input(const struct piece *piece, unsigned i)
{
    switch (piece->kind) {
    case PIECE_COPY:    return i == 0 ? piece->of.tensor : NULL;
    case PIECE_VIEW:    return i == 0 ? piece->of.view->tensor : NULL;
    case PIECE_REPACK:  return i < 2 ? piece->of.repack->input[i] : NULL;
    case PIECE_DECODE:  return i < SCHEME_PARTS ? piece->of.weight->part[i] : NULL;
    case PIECE_ENCODE:  return encoded_part(piece)->bytes ? NULL : piece_input(piece->of.encoded->elements, i);
    default:            return NULL;
    }
}

const struct delta *
piece_delta(const struct piece *piece)
{
    switch (piece->kind) {
    case PIECE_COPY:    return tensor_delta(piece->of.tensor);
    case PIECE_VIEW:    return tensor_delta(piece->of.view->tensor);
    case PIECE_DECODE:  return piece->of.weight->delta;
    default:            return NULL;
    }
}

/* Returns the i-th piece that elements consist of, or subtracts their number from i and returns NULL. */
static const struct piece *
take_component(const struct piece *elements, size_t *i)
{
    bool composed = elements->kind == PIECE_COMPOSED;
    size_t n = 1;
    if (composed)
        n = elements->of.built->composed->n;
    if (*i < n)
        return composed ? elements->of.built->part[*i] : elements;
    *i -= n;
    return NULL;
}

const struct piece *
piece_component(const struct piece *piece, size_t i)
{
    if (piece->kind != PIECE_ENCODE || encoded_part(piece)->bytes)
        return take_component(piece, &i);
    const struct encoded *of = piece->of.encoded;
    const struct piece *found = take_component(of->elements, &i);
    for (size_t k = 0; !found && of->fused && k < of->encoding->fused->n; k++)
        if (of->fused[k] != of->elements)
            found = take_component(of->fused[k], &i);
    return found;
}

bool
piece_output(struct tensor *t, const struct piece *piece)
{
    const struct piece *elements = piece;
    if (piece->kind == PIECE_ENCODE)
        elements = piece->of.encoded->elements;
    struct chosen chosen = { .dtype = elements->to, .name = elements->name, .name_len = elements->name_len };
    if (elements->kind == PIECE_DECODE)
        chosen.decode = elements->of.weight;
    else if (elements->kind == PIECE_COPY || elements->kind == PIECE_VIEW)
        chosen.copy = piece_input(elements, 0);
    else if (elements->kind == PIECE_COMPOSED)
        chosen.composed = elements->of.built->composed;
    else
        return false;
    if (piece != elements) {
        chosen.encoding = piece->of.encoded->encoding;
        chosen.part = piece->of.encoded->part;
    }
    *t = chosen_tensor(&chosen);
    return true;
}
