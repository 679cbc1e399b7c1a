#include "plan/assign.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* --- swaps of two weights */

/* Replaces the picked option of a weight by another. */
struct move {
    size_t weight, to;
    int64_t nbytes;
    double noise;
};

/* The two moves, of different weights, that remove most noise. second is SIZE_MAX if all moves belong to one weight. */
struct fewest {
    size_t first, second;
};

struct swaps {
    size_t *pick;
    const struct assign_option *options;
    size_t n, each;
    struct move *moves;         /* nmoves, sorted by bytes; the move of weight n changes nothing */
    struct fewest *fewest;      /* best two of moves[0..i] */
    size_t nmoves;
};

static int
compare_moves(const void *pa, const void *pb)
{
    const struct move *a = pa, *b = pb;
    if (a->nbytes != b->nbytes)
        return a->nbytes < b->nbytes ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static void
list_moves(struct swaps *s)
{
    s->nmoves = 0;
    s->moves[s->nmoves++] = (struct move){ .weight = s->n };
    for (size_t i = 0; i < s->n; i++) {
        const struct assign_option *o = &s->options[i * s->each], *now = &o[s->pick[i]];
        for (size_t k = 0; s->pick[i] != s->each && k < s->each; k++)
            if (k != s->pick[i] && o[k].nbytes != ASSIGN_NEVER)
                s->moves[s->nmoves++] = (struct move){ i, k, (int64_t)(o[k].nbytes - now->nbytes), o[k].noise - now->noise };
    }
    qsort(s->moves, s->nmoves, sizeof *s->moves, compare_moves);
}

static void
find_fewest(struct swaps *s)
{
    struct fewest best = { 0, SIZE_MAX };
    s->fewest[0] = best;
    for (size_t i = 1; i < s->nmoves; i++) {
        const struct move *m = &s->moves[i], *first = &s->moves[best.first];
        if (m->noise < first->noise)
            best = (struct fewest){ i, m->weight != first->weight ? best.first : best.second };
        else if (m->weight != first->weight && (best.second == SIZE_MAX || m->noise < s->moves[best.second].noise))
            best.second = i;
        s->fewest[i] = best;
    }
}

/* Finds the two moves that lower the noise most together and need at most `room` bytes; one of them may change nothing. The
 * more bytes a move needs, the fewer are left for the other one: one pass over the list finds both. */
static bool
best_pair(const struct swaps *s, int64_t room, const struct move *pair[2])
{
    double least = 0;
    size_t end = s->nmoves;             /* moves[end..] do not fit together with this one */
    for (size_t i = 0; i < s->nmoves; i++) {
        const struct move *m = &s->moves[i];
        while (end != 0 && s->moves[end - 1].nbytes > room - m->nbytes)
            end--;
        if (end == 0)
            break;
        const struct fewest *f = &s->fewest[end - 1];
        size_t other;
        if (s->moves[f->first].weight != m->weight)
            other = f->first;
        else
            other = f->second;
        if (other != SIZE_MAX && m->noise + s->moves[other].noise < least) {
            least = m->noise + s->moves[other].noise;
            pair[0] = m;
            pair[1] = &s->moves[other];
        }
    }
    return least < 0;
}

/* room: bytes left. */
static void
swap(struct swaps *s, int64_t room)
{
    const struct move *pair[2];
    for (uint64_t left = 100 + num_min(2000, 2000000 / (s->n + 1)); left > 0; left--) {
        list_moves(s);
        find_fewest(s);
        if (!best_pair(s, room, pair))
            return;
        for (int i = 0; i < 2; i++)
            if (pair[i]->weight != s->n) {
                s->pick[pair[i]->weight] = pair[i]->to;
                room -= pair[i]->nbytes;
            }
    }
}

static bool
refine_by_swaps(size_t *pick, const struct assign_option *options, size_t n, size_t each, uint64_t room, struct err *err)
{
    size_t most = n * each + 1;
    struct swaps s = { pick, options, n, each, calloc(most, sizeof *s.moves), calloc(most, sizeof *s.fewest), 0 };
    bool ok = (s.moves && s.fewest) || err_memory(err, most * sizeof *s.moves);
    if (ok)
        swap(&s, (int64_t)num_min(room, INT64_MAX / 4));
    free(s.moves);
    free(s.fewest);
    return ok;
}

/* --- search over all picks */

struct ranked {
    const struct assign_option *option;
    size_t number;
    double cost;                /* noise plus the price of its bytes */
};

/* A weight on the current path of the search. */
struct stage {
    size_t weight, noptions;
    struct ranked *options;     /* options, cheapest first */
    size_t next;                /* next option to try */
    uint64_t left;              /* bytes of the weights before it */
    double noise;               /* noise of the weights before it */
    uint64_t least;             /* least bytes of this weight and those after it */
    double cost;                /* lower bound for the cost of this weight and those after it */
};

static int
compare_ranked(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Sets the stages and, after the last, one of cost 0; returns their number. */
static size_t
prepare(struct stage *stages, struct ranked *ranked, const size_t *pick, const struct assign_option *options, size_t n,
    size_t each, double price)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        struct stage s = { .weight = i, .options = ranked, .least = ASSIGN_NEVER };
        for (size_t k = 0; pick[i] != each && k < each; k++) {
            const struct assign_option *o = &options[i * each + k];
            if (o->nbytes == ASSIGN_NEVER)
                continue;
            s.options[s.noptions++] = (struct ranked){ o, k, o->noise + price * (double)o->nbytes };
            s.least = num_min(s.least, o->nbytes);
        }
        if (s.noptions == 0)
            continue;
        ranked += s.noptions;
        qsort(s.options, s.noptions, sizeof *s.options, compare_ranked);
        s.cost = s.options[0].cost;
        stages[count++] = s;
    }
    for (size_t i = count; i-- > 1;) {
        stages[i - 1].least += stages[i].least;
        stages[i - 1].cost += stages[i].cost;
    }
    return count;
}

/* Tries the options of all stages, depth first. stages[count] has neither cost nor bytes. */
static void
assign_refine_search(size_t *pick, struct stage *stages, size_t count, uint64_t most, double price, double best)
{
    struct stage *s = stages;
    s->left = most;
    for (uint64_t nodes = ASSIGN_NODES; nodes > 0; nodes--) {
        if (s->next == s->noptions) {
            if (s == stages)
                return;
            s--;
            continue;
        }
        const struct ranked *r = &s->options[s->next++];
        if (!(s->noise + r->cost + s[1].cost - price * (double)s->left < best)) {
            s->next = s->noptions;              /* nor do the options after it */
            continue;
        }
        if (r->option->nbytes > s->left || s->left - r->option->nbytes < s[1].least)
            continue;
        double noise = s->noise + r->option->noise;
        if (s + 1 < stages + count) {
            s[1].next = 0;
            s[1].left = s->left - r->option->nbytes;
            s[1].noise = noise;
            s++;
        } else if (noise < best) {
            best = noise;
            for (size_t i = 0; i < count; i++)
                pick[stages[i].weight] = stages[i].options[stages[i].next - 1].number;
        }
    }
}

static bool
refine_by_search(size_t *pick, const struct assign_option *options, size_t n, size_t each, uint64_t most, double price,
    struct err *err)
{
    struct stage *stages = calloc(n + 1, sizeof *stages);
    struct ranked *ranked = calloc(n * each + 1, sizeof *ranked);
    bool ok = (stages && ranked) || err_memory(err, n * each * sizeof *ranked);
    size_t count = 0;
    if (ok)
        count = prepare(stages, ranked, pick, options, n, each, price);
    double noise = 0;
    for (size_t i = 0; i < count; i++)
        noise += options[stages[i].weight * each + pick[stages[i].weight]].noise;
    if (count != 0)
        assign_refine_search(pick, stages, count, most, price, noise);
    free(stages);
    free(ranked);
    return ok;
}

bool
assign_refine(size_t *pick, const struct assign_option *options, size_t n, size_t each, uint64_t most, double price,
    struct err *err)
{
    uint64_t used = 0;
    for (size_t i = 0; i < n; i++)
        used += pick[i] != each ? options[i * each + pick[i]].nbytes : 0;
    return refine_by_swaps(pick, options, n, each, most - used, err)
        && refine_by_search(pick, options, n, each, most, price, err);
}
