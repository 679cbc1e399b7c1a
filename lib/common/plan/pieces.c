#include "plan/pieces.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/num.h"

enum { VIEW_ROWS = 4 << 20 };           /* of a transposed matrix: the panels of more would not fit their memory */

struct pieces {
    struct piece *list;
    size_t n, room;
    uint64_t nbytes;
    struct hook hooks[PIECES_HOOKS];
    size_t nhooks;
    bool late;                  /* there is a LATE piece */
    void *own;                  /* of the writer, freed by: */
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
    }
    if (p->own)
        p->free_own(p->own);
    free(p->list);
    free(p);
}

static bool
add(struct pieces *p, const struct piece *piece, struct err *err)
{
    uint64_t end;
    if (!num_add(&end, p->nbytes, piece->nbytes) || end > INT64_MAX)
        return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "output: more than 2^63 bytes, which no file can have");
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
    if (!add(p, &piece, err))
        return false;
    *text = (struct str){ 0 };
    return true;
}

/* Whether a tensor is matrices that were transposed, whole: then they can be turned back panel by panel. */
static bool
find_view(struct view *view, const struct tensor *t)
{
    const struct layout *l = t->layout;
    uint64_t matrix;
    if (!l || l->rank < 2 || l->rank > 3)
        return false;
    const struct layout_dim *col = &l->dim[l->rank - 2], *row = &l->dim[l->rank - 1];
    *view = (struct view){ t, l->rank == 3 ? l->dim[0].n : 1, row->n, col->n };
    return col->stride == 1 && row->stride == col->n && row->n <= VIEW_ROWS && num_mul(&matrix, row->n, col->n)
        && (l->rank == 2 || l->dim[0].stride == matrix);
}

static void
give_name(struct piece *piece, const struct chosen *chosen)
{
    piece->name = chosen->name;
    piece->name_len = chosen->name_len;
}

bool
pieces_chosen(struct pieces *p, const struct chosen *chosen, struct err *err)
{
    const struct tensor t = chosen_tensor(chosen);
    struct piece piece = { .kind = PIECE_DECODE, .to = chosen->dtype, .of.weight = chosen->decode };
    struct view view;
    bool whole;
    if (chosen->copy && find_view(&view, chosen->copy)) {
        bool ok = pieces_view(p, &view, err);
        if (ok)
            give_name(&p->list[p->n - 1], chosen);
        return ok;
    }
    if (chosen->copy)
        piece = (struct piece){ .kind = PIECE_COPY, .of.tensor = chosen->copy };
    give_name(&piece, chosen);
    if (!shape_nbytes(&t.shape, t.dtype, &piece.nbytes, &whole) || !whole)
        return err_set(err, ERR_BUG, ERR_NO_OFFSET, "a tensor without a size is laid out");
    return add(p, &piece, err);
}

bool
pieces_view(struct pieces *p, const struct view *view, struct err *err)
{
    struct piece piece = { .kind = PIECE_VIEW, .nbytes = view->tensor->extent.nbytes };
    struct view *copy = malloc(sizeof *copy);
    if (!copy)
        return err_memory(err, sizeof *copy);
    *copy = *view;
    piece.of.view = copy;
    if (add(p, &piece, err))
        return true;
    free(copy);
    return false;
}

bool
pieces_zero(struct pieces *p, uint64_t nbytes, struct err *err)
{
    return nbytes == 0 || add(p, &(const struct piece){ .kind = PIECE_ZERO, .nbytes = nbytes }, err);
}

bool
pieces_late(struct pieces *p, const struct late *late, uint64_t nbytes, struct err *err)
{
    return add(p, &(const struct piece){ .kind = PIECE_LATE, .nbytes = nbytes, .of.late = late }, err);
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

size_t
pieces_find(const struct pieces *p, uint64_t at)
{
    size_t lo = 0, hi = p->n;           /* first piece that ends behind `at` */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->list[mid].at + p->list[mid].nbytes <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
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
    return from == 0 || pieces_next_late(p, from) >= to || err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET,
        "this format cannot be made in parts (--range, --part): its checksums are of all that is before them");
}

const struct tensor *
piece_input(const struct piece *piece, unsigned i)
{
    switch (piece->kind) {
    case PIECE_COPY:    return i == 0 ? piece->of.tensor : NULL;
    case PIECE_VIEW:    return i == 0 ? piece->of.view->tensor : NULL;
    case PIECE_DECODE:  return i < SCHEME_PARTS ? piece->of.weight->part[i] : NULL;
    default:            return NULL;
    }
}

bool
piece_output(struct tensor *t, const struct piece *piece)
{
    struct chosen chosen = { .dtype = piece->to, .name = piece->name, .name_len = piece->name_len };
    switch (piece->kind) {
    case PIECE_DECODE:
        chosen.decode = piece->of.weight;
        break;
    case PIECE_COPY:
    case PIECE_VIEW:
        chosen.copy = piece_input(piece, 0);
        chosen.dtype = chosen.copy->dtype;
        break;
    default:
        return false;
    }
    *t = chosen_tensor(&chosen);
    return true;
}
