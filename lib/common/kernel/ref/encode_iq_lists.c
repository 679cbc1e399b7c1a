/* encode_iq_lists: builds, for each code that is not in a codebook, the list of entries near it.
 *
 * The distance of two codes is the sum of the squared differences of their digits. A list contains the entries at the
 * `distances` smallest distances that occur, sorted by distance, then by index. Entries at equal distance fit the floats
 * differently, so the order affects the output. Source: ggml-quants.c, iq2xs_init_impl, iq3xs_init_impl.
 */
#include "kernel/encode_iq.h"

#include "kernel/encode_iq_search.h"
#include "kernel/iq_grids.h"

#include <assert.h>
#include <stdlib.h>

enum { MOST_ENTRIES = 2048, DISTANCES = 256, HALF = 81 };

struct encode_grid encode_grids[ENCODE_GRIDS];

/* digit = (value - low) / step, rounded down. `room` is the length of all lists together, including padding. */
static const struct grid_source {
    const int8_t *values;
    int entries, digits, low, step, distances;
    size_t room;
} sources[ENCODE_GRIDS] = {
    [GRID_IQ2_XXS] = { iq_grids.iq2xxs[0], 256, 8, 0, 17, 2, 135360 },
    [GRID_IQ2_XS] = { iq_grids.iq2xs[0], 512, 8, 0, 17, 2, 203376 },
    [GRID_IQ2_S] = { iq_grids.iq2s[0], 1024, 8, 0, 17, 1, 69064 },
    [GRID_IQ1] = { iq_grids.iq1s[0], 2048, 8, -1, 1, 3, 343304 },
    [GRID_IQ3_XXS] = { iq_grids.iq3xxs[0], 256, 4, 0, 8, 2, 34304 },
    [GRID_IQ3_S] = { iq_grids.iq3s[0], 512, 4, 0, 2, 3, 36456 },
};

/* A code is split into two halves, numbered by their digits, because distances of halves add up. */
struct grid_entries {
    uint16_t code[MOST_ENTRIES];
    uint8_t low[MOST_ENTRIES], high[MOST_ENTRIES];
};

struct grid_distances {
    uint8_t of[HALF][HALF];         /* between two halves */
    int half;                       /* number of halves: 81 or 64 */
};

static void
entries_make(struct grid_entries *e, const struct grid_source *s, const struct encode_grid *g)
{
    for (int i = 0; i < s->entries; i++) {
        int part[2] = { 0, 0 };

        e->code[i] = 0;
        for (int j = s->digits - 1; j >= 0; j--) {
            int digit = (s->values[i * s->digits + j] - s->low) / s->step;

            e->code[i] |= (uint16_t)(digit << g->bits * j);
            part[j >= s->digits / 2] *= g->levels;
            part[j >= s->digits / 2] += digit;
        }
        e->low[i] = (uint8_t)part[0];
        e->high[i] = (uint8_t)part[1];
    }
}

static void
distances_make(struct grid_distances *d, const struct encode_grid *g)
{
    d->half = g->levels == 3 ? 81 : 64;         /* 3^4, 8^2 */
    for (int a = 0; a < d->half; a++)
        for (int b = 0; b < d->half; b++) {
            int sum = 0;

            for (int m = a, n = b; m + n > 0; m /= g->levels, n /= g->levels)
                sum += (m % g->levels - n % g->levels) * (m % g->levels - n % g->levels);
            d->of[a][b] = (uint8_t)sum;
        }
}

/* Writes the list of one code. Returns its length. */
static size_t
list_make(uint16_t *list, const struct grid_entries *e, int entries, int wanted, const uint8_t *low, const uint8_t *high)
{
    uint8_t distance[MOST_ENTRIES];
    size_t at[DISTANCES] = { 0 }, n = 0;
    int last = -1;

    for (int i = 0; i < entries; i++) {
        distance[i] = (uint8_t)(low[e->low[i]] + high[e->high[i]]);
        at[distance[i]]++;
    }
    while (wanted > 0) {
        size_t count = at[++last];

        at[last] = n;
        n += count;
        wanted -= count > 0;
    }
    for (int i = 0; i < entries; i++)
        if (distance[i] <= last)
            list[at[distance[i]]++] = e->code[i];
    return n;
}

/* Data needed only while lists are built. */
struct grid_room {
    struct grid_entries entries;
    struct grid_distances distances;
};

static void
grid_make(struct encode_grid *g, const struct grid_source *s, uint16_t *lists, uint32_t *where, struct grid_room *room)
{
    struct grid_entries *e = &room->entries;
    struct grid_distances *d = &room->distances;
    size_t end = 0;

    entries_make(e, s, g);
    distances_make(d, g);
    for (int high = 0, rank = 0, index = 0; high < d->half; high++)
        for (int low = 0; low < d->half; low++, rank++) {
            if (index < s->entries && e->low[index] == low && e->high[index] == high) {
                where[rank] = (uint32_t)index++;
                continue;
            }
            size_t n = list_make(lists + end, e, s->entries, s->distances, d->of[low], d->of[high]);
            where[rank] = (uint32_t)(end / LIST_UNIT | n << LIST_COUNT);
            for (end += n; end % LIST_UNIT != 0; end++)
                lists[end] = lists[end - 1];
        }
    assert(end == s->room);
    g->lists = lists;
    g->where = where;
}

static enum encode_grid_id
grid_of(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_IQ2_XXS: return GRID_IQ2_XXS;
    case DTYPE_IQ2_XS: return GRID_IQ2_XS;
    case DTYPE_IQ2_S: return GRID_IQ2_S;
    case DTYPE_IQ1_S: case DTYPE_IQ1_M: return GRID_IQ1;
    case DTYPE_IQ3_XXS: return GRID_IQ3_XXS;
    case DTYPE_IQ3_S: return GRID_IQ3_S;
    default: return ENCODE_GRIDS;
    }
}

bool
encode_grids_build(enum dtype dtype, struct err *err)
{
    enum encode_grid_id id = grid_of(dtype);
    struct encode_grid *g = &encode_grids[id];

    if (id == ENCODE_GRIDS || g->lists != NULL)
        return true;
    size_t ranks = 4096;
    g->digits = sources[id].digits;
    if (g->digits == 8) {
        g->levels = 3;
        g->bits = 2;
        ranks = 6561;
    } else {
        g->levels = 8;
        g->bits = 3;
    }

    size_t nlists = sources[id].room * sizeof *g->lists, nwhere = ranks * sizeof *g->where;
    uint16_t *lists = malloc(nlists);
    uint32_t *where = malloc(nwhere);
    struct grid_room *room = malloc(sizeof *room);
    if (lists == NULL || where == NULL || room == NULL) {
        free(lists);
        free(where);
        free(room);
        return err_memory(err, nlists + nwhere + sizeof *room);
    }
    grid_make(g, &sources[id], lists, where, room);
    free(room);
    return true;
}

bool
encode_needs_importance(enum dtype dtype)
{
    return dtype == DTYPE_IQ2_XXS || dtype == DTYPE_IQ2_XS || dtype == DTYPE_IQ1_S;
}
