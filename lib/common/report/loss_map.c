#include "report/loss_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { SPARSE = 16 };           /* a grid has at most so many places for each filled one, which bounds the page */

/* --- cells */

static bool
add_cell(struct loss_map *map, size_t i, struct err *err)
{
    const struct loss_item *item = &map->items[i];
    const struct loss_place *place = &map->places[i];
    const struct loss_kind *kind = &map->kinds[place->kind];
    struct loss_cell *cells = array_grow(map->cells, map->ncells, &map->cells_room, sizeof *cells, err);
    if (!cells)
        return false;
    map->cells = cells;
    cells[map->ncells++] = (struct loss_cell){ .layer = place->layer, .kind = place->kind, .stack = kind->stack,
        .column = kind->column, .at = (uint32_t)i, .type = item->type, .n = item->weighed, .noise = item->loss.noise,
        .signal = item->loss.signal, .worst = item->weighed ? item->loss.sqnr : INFINITY };
    return true;
}

/* For qsort(): by stack, layer, column, and order of the output. */
static int
compare_cells(const void *a, const void *b)
{
    const struct loss_cell *x = a, *y = b;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (x->at < y->at)
        return -1;
    return x->at > y->at;
}

/* Adds a cell to another of the same layer and kind. */
static void
loss_map_join(struct loss_cell *to, const struct loss_cell *from)
{
    to->noise += from->noise;
    to->signal += from->signal;
    if (from->worst < to->worst || isnan(from->worst))
        to->worst = from->worst;
    to->type = to->type && from->type && strcmp(to->type, from->type) == 0 ? to->type : NULL;
    to->n += from->n;
}

/* Puts the cells in order, merges cells of the same layer and kind, and counts the cells of each stack. */
static void
order_cells(struct loss_map *map)
{
    size_t n = 0;
    if (map->ncells != 0)
        qsort(map->cells, map->ncells, sizeof *map->cells, compare_cells);
    for (size_t i = 0; i < map->ncells; i++) {
        const struct loss_cell *cell = &map->cells[i], *last = n != 0 ? &map->cells[n - 1] : NULL;
        struct loss_stack *stack = &map->stacks[cell->stack];
        if (last && last->kind == cell->kind && last->layer == cell->layer) {
            loss_map_join(&map->cells[n - 1], cell);
            continue;
        }
        if (stack->ncells == 0)
            stack->cell = n;
        stack->rows += stack->ncells == 0 || last->layer != cell->layer;
        stack->ncells++;
        map->cells[n++] = *cell;
    }
    map->ncells = n;
    for (size_t i = 0; i < map->nstacks; i++) {
        struct loss_stack *s = &map->stacks[i];
        s->apart = s->rows < 2 || s->rows > SPARSE * s->ncells / s->columns;
    }
}

/* Links the cells of each kind that have weights. */
static void
link_cells(struct loss_map *map)
{
    for (size_t i = map->ncells; i-- > 0;) {
        struct loss_cell *cell = &map->cells[i];
        if (cell->n == 0)
            continue;
        cell->next = map->kinds[cell->kind].cell;
        map->kinds[cell->kind].cell = (uint32_t)i + 1;
    }
}

static bool
make_cells(struct loss_map *map, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < map->n; i++) {
        const struct loss_kind *kind = &map->kinds[map->places[i].kind];
        if (kind->n != 0 && kind->prefix != kind->len)
            ok = add_cell(map, i, err);
    }
    if (!ok)
        return false;
    order_cells(map);
    link_cells(map);
    return true;
}

/* --- range */

double
loss_map_step(double span, unsigned most)
{
    static const double factors[] = { 2, 2.5, 2 };      /* 1, 2, 5, 10 */
    double step = 1;
    for (unsigned i = 0; span > step * most; i = (i + 1) % 3)
        step *= factors[i];
    return step;
}

static void
widen(struct loss_map *map, double sqnr)
{
    if (!isfinite(sqnr))
        return;
    map->low = fmin(map->low, sqnr);
    map->high = fmax(map->high, sqnr);
}

/* Sets the range to the SQNR of all cells shown, and at least 2 dB, so that small differences look small; above
 * 50 dB from the lowest, all is alike. */
static void
find_range(struct loss_map *map)
{
    enum { LEAST = 2, MOST = 5, MOST_RANGE = 50 };
    map->low = INFINITY;
    map->high = -INFINITY;
    for (size_t i = 0; i < map->ncells; i++)
        if (map->cells[i].n != 0)
            widen(map, losses_sqnr(map->cells[i].signal, map->cells[i].noise));
    for (size_t i = 0; i < map->n; i++)
        if (loss_map_apart(map, i))
            widen(map, map->items[i].loss.sqnr);
    if (map->low > map->high)
        map->low = map->high = 0;
    map->low = floor(map->low);
    map->high = fmin(map->high, map->low + MOST_RANGE);
    /* each colour stands for a multiple of 0.5 dB, or 0.2 in a small range */
    const double unit = map->high - map->low > LEAST ? 0.5 : 0.2;
    map->high = map->low + LOSS_MAP_LEVELS * unit * fmax(1, ceil((map->high - map->low) / (LOSS_MAP_LEVELS * unit)));
    map->step = loss_map_step(map->high - map->low, MOST);
}

/* Sets the scheme that all weights have, if there is one. */
static void
find_scheme(struct loss_map *map)
{
    const char *first = NULL;
    for (size_t i = 0; i < map->n; i++) {
        if (!map->items[i].weighed)
            continue;
        if (first && strcmp(map->items[i].type, first) != 0)
            return;
        first = map->items[i].type;
    }
    map->scheme = first;
}

bool
loss_map_apart(const struct loss_map *map, size_t i)
{
    const struct loss_kind *kind = &map->kinds[map->places[i].kind];
    return map->items[i].weighed && (kind->prefix == kind->len || map->stacks[kind->stack].apart);
}

unsigned
loss_map_level(const struct loss_map *map, double sqnr)
{
    double level = (map->high - sqnr) / (map->high - map->low) * LOSS_MAP_LEVELS;
    if (level < 0)
        return 0;
    return level < LOSS_MAP_LEVELS ? (unsigned)level : LOSS_MAP_LEVELS - 1;     /* NaN is the worst */
}

bool
loss_map_make(struct loss_map *map, const struct loss_item *items, size_t n, struct err *err)
{
    *map = (struct loss_map){ .items = items, .n = n };
    if (!loss_map_add_kinds(map, err) || !make_cells(map, err))
        return false;
    find_range(map);
    find_scheme(map);
    return true;
}

void
loss_map_clear(struct loss_map *map)
{
    names_clear(&map->names);
    table_clear(&map->kind_names);
    table_clear(&map->stack_names);
    free(map->kinds);
    free(map->stacks);
    free(map->places);
    free(map->cells);
}
