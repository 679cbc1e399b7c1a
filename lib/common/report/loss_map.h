/* loss_map: the error of each tensor of a model by layer and kind.
 *
 * The first number in a name is the layer. The kind is the name with * for each number, so model.layers.7.mlp.up_proj.weight
 * is in layer 7, of kind model.layers.*.mlp.up_proj.weight. Kinds whose names are equal up to the layer form a stack, which
 * is a grid of cells. Weights are apart from the grids if they have no layer, or if their stack has one layer or few cells. */
#ifndef REPORT_LOSS_MAP_H
#define REPORT_LOSS_MAP_H

#include "base/names.h"
#include "base/table.h"
#include "report/loss_items.h"

enum { LOSS_MAP_LEVELS = 10 };          /* colours of a heat map */

/* All tensors of one layer and kind: usually one, but as many as there are experts. */
struct loss_cell {
    uint64_t layer;
    double noise, signal;       /* sums of its weights, as in struct loss */
    double worst;               /* lowest SQNR of its weights, dB */
    const char *type;           /* "q4_k", or "BF16" for a tensor that is not quantized; static. NULL: several */
    uint32_t kind, stack, column;
    uint32_t n;                 /* quantized weights; 0: none of its tensors is quantized */
    uint32_t at;                /* index of its first item */
    uint32_t next;              /* 1 + the cell with weights of this kind in a later layer, or 0 */
};

struct loss_kind {
    uint32_t len, prefix;       /* bytes of the name, and those before the layer's *; prefix = len: no layer */
    uint32_t label, label_len;  /* distinguishes the kind within its stack */
    uint32_t stack, column;
    uint32_t n;                 /* quantized weights; 0: the kind is not on the map */
    uint32_t next;              /* 1 + the next kind of the stack, or 0 */
    uint32_t cell;              /* 1 + the first cell with weights, or 0 */
    bool labelled, clashes;
};

struct loss_stack {
    uint32_t kind, last;        /* its first and last kind */
    uint32_t columns;
    bool apart;                 /* not worth a grid */
    size_t cell, ncells;        /* its cells, by layer and column */
    size_t rows;                /* layers that have cells */
};

/* Where an item belongs. */
struct loss_place {
    uint64_t layer;
    uint32_t kind;
};

struct loss_map {
    const struct loss_item *items;      /* n of them, in the order of the output; borrowed */
    struct loss_place *places;          /* n, parallel to them */
    size_t n;
    struct names names;                 /* of the kinds, escaped */
    struct loss_kind *kinds;            /* nkinds, in the order of the output */
    struct loss_stack *stacks;          /* nstacks, in the order of the output */
    struct loss_cell *cells;            /* ncells, by stack, layer and column */
    size_t nkinds, nstacks, ncells;
    const char *scheme;                 /* of all weights; static. NULL: they have several */
    double low, high;                   /* range of the SQNR of all that is shown, whole dB */
    double step;                        /* between ticks in this range, dB */

    /* used while the map is made */
    struct table kind_names, stack_names;
    size_t kinds_room, stacks_room, cells_room;
};

/* Zero-initialises and makes the map. Borrows the items. Clear it also after a failure, which is ERR_MEMORY. */
bool loss_map_make(struct loss_map *map, const struct loss_item *items, size_t n, struct err *err);
void loss_map_clear(struct loss_map *map);

/* Returns true if item i has a loss and is not in a grid. */
bool loss_map_apart(const struct loss_map *map, size_t i);

/* Returns the colour for an SQNR: 0 for the highest of the model to LOSS_MAP_LEVELS - 1 for the lowest. */
unsigned loss_map_level(const struct loss_map *map, double sqnr);

/* Returns a distance between ticks, 1, 2, 5, 10 and so on, that cuts the span into at most so many. */
double loss_map_step(double span, unsigned most);

/* --- loss_kinds.c */

/* Sets places, kinds and stacks, except for the cells of a stack. */
bool loss_map_add_kinds(struct loss_map *map, struct err *err);

#endif
