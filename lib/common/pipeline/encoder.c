#include "pipeline/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "encode/losses.h"
#include "pipeline/surveys.h"
#include "plan/fused.h"

/* Reader of the elements for one call. */
struct encoder_reader {
    const struct pipeline *p;
    struct panels *panels;
    struct workspace *b;
    const struct piece *elements;
    const struct piece *const *fused;   /* for a survey: those of struct encoded, or NULL */
    struct loss_lanes *loss;            /* accumulates the error, or NULL */
    uint64_t compared;                  /* number of elements */
};

/* Implements read() of struct encode_run. */
static bool
read_floats(void *of, uint64_t first, size_t count, float *x, struct err *err)
{
    const struct encoder_reader *r = of;
    return block_floats(r->p, r->panels, r->b, r->elements, first, count, x, err);
}

/* Implements compare() of struct encode_run. */
static void
compare(void *of, uint64_t first, const float *x, const float *back, size_t n)
{
    struct encoder_reader *r = of;
    (void)first;
    r->p->kernels->loss(r->loss, x, back, n);
    r->compared += n;
}

static struct encode_run
lend(struct encoder_reader *r, const float *facts)
{
    return (struct encode_run){ .kernels = r->p->kernels, .read = read_floats, .of = r, .facts = facts, .x = r->b->floats,
        .compare = r->loss ? compare : NULL, .back = r->b->floats + ENCODE_FLOATS,
        .room = r->b->floats + 2 * ENCODE_FLOATS };
}

/* Implements struct surveyor: surveys a region of a weight, or of one of several fused weights. */
static bool
survey_region(void *of, const struct encoding *e, uint64_t region, float *facts, struct err *err)
{
    struct encoder_reader r = *(const struct encoder_reader *)of;
    if (r.fused) {
        const struct chosen *member = e->fused->member;
        for (; region >= member->encoding->nregions; member++) {
            region -= member->encoding->nregions;
            facts += member->encoding->nfacts;
        }
        r.elements = r.fused[member - e->fused->member];
        e = member->encoding;
    }
    const struct encode_run run = lend(&r, NULL);
    return e->encoder->survey(e, &run, region, facts, err);
}

static bool
find_room(struct workspace *b, struct err *err)
{
    size_t n = 2 * ENCODE_FLOATS * sizeof *b->floats + ENCODE_ROOM;
    if (!b->floats)
        b->floats = malloc(n);
    return b->floats || err_memory(err, n);
}

/* Encodes grains [first, first + count) of a part. */
static bool
make_grains(struct encoder_reader *r, const struct encoded *of, const float *facts, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct encoding *e = of->encoding;
    const struct encode_part *part = &e->part[of->part];
    struct encode_run run = lend(r, facts);
    uint64_t numel = e->rows * e->cols;
    for (uint64_t n; count != 0; first += n, count -= n, y += n * part->grain) {
        n = part->elems ? num_min(count, ENCODE_FLOATS / part->elems) : count;
        run.n = (size_t)(part->elems ? num_min(n * part->elems, numel - first * part->elems) : 0);
        if (!(run.n == 0 || read_floats(r, first * part->elems, run.n, run.x, err))
            || !e->encoder->encode(e, &run, of->part, first, n, y, err))
            return false;
    }
    return true;
}

/* Copies bytes [from, to) of one grain. The grain is encoded whole, once for the two blocks that contain it. Its error
 * counts only in the block where it starts. */
static bool
cut_grain(struct encoder_reader *r, const struct encoded *of, const float *facts, uint64_t number, uint32_t from, uint32_t to,
    uint8_t *y, struct err *err)
{
    struct grain *g = &r->b->grain;
    uint32_t size = of->encoding->part[of->part].grain;
    bool kept = g->encoding == of->encoding && g->part == of->part && g->number == number;
    if (g->room < size) {
        uint8_t *p = realloc(g->p, size);
        if (!p)
            return err_memory(err, size);
        g->p = p;
        g->room = size;
    }
    g->encoding = NULL;
    struct loss_lanes *loss = r->loss;
    r->loss = from == 0 ? loss : NULL;
    bool ok = (kept && !r->loss) || make_grains(r, of, facts, number, 1, g->p, err);
    r->loss = loss;
    if (!ok)
        return false;
    g->encoding = of->encoding;
    g->part = of->part;
    g->number = number;
    memcpy(y, g->p + from, to - from);
    return true;
}

static bool
make(struct encoder_reader *r, const struct encoded *of, const float *facts, uint64_t from, uint64_t to, uint8_t *y,
    struct err *err)
{
    uint32_t size = of->encoding->part[of->part].grain, skip = (uint32_t)(from % size);
    if (skip != 0) {
        uint32_t end = (uint32_t)num_min(size, skip + (to - from));
        if (!cut_grain(r, of, facts, from / size, skip, end, y, err))
            return false;
        y += end - skip;
        from += end - skip;
    }
    uint64_t whole = (to - from) / size, rest = (to - from) % size;
    return (whole == 0 || make_grains(r, of, facts, from / size, whole, y, err))
        && (rest == 0 || cut_grain(r, of, facts, from / size + whole, 0, (uint32_t)rest, y + whole * size, err));
}

/* Like make(), and accumulates the error in runs that do not depend on the block size. */
static bool
make_counted(struct encoder_reader *r, const struct encoded *of, const float *facts, uint64_t at, uint64_t from, uint64_t to,
    uint8_t *y, struct err *err)
{
    if (!r->p->losses)
        return make(r, of, facts, from, to, y, err);
    for (uint64_t end; from < to; y += end - from, from = end) {
        struct loss_lanes loss = { .distance = { 0 } };
        end = num_min(to, (at + from - r->p->from) / PIPELINE_BLOCK * PIPELINE_BLOCK + PIPELINE_BLOCK + r->p->from - at);
        r->loss = &loss;
        r->compared = 0;
        if (!make(r, of, facts, from, end, y, err))
            return false;
        if (r->compared != 0)
            losses_add(r->p->losses, of->encoding, &loss, r->compared);
    }
    return true;
}

const float *
encoder_facts(const struct pipeline *p, struct panels *panels, struct workspace *b, const struct encoded *of, struct err *err)
{
    struct encoder_reader r = { .p = p, .panels = panels, .b = b, .elements = of->elements, .fused = of->fused };
    const struct surveyor by = { survey_region, &r };
    const struct encoding *e = of->fused ? &of->encoding->fused->all : of->encoding;
    return find_room(b, err) ? surveys_take(p->surveys, e, &by, err) : NULL;
}

bool
encoder_bytes(const struct pipeline *p, struct panels *panels, struct workspace *b, const struct piece *piece,
    uint64_t from, uint64_t to, uint8_t *y, struct err *err)
{
    const struct encoded *of = piece->of.encoded;
    const struct encoding *e = of->encoding;
    struct encoder_reader r = { .p = p, .panels = panels, .b = b, .elements = of->elements };
    if (e->part[of->part].bytes) {
        memcpy(y, e->part[of->part].bytes + from, (size_t)(to - from));
        return true;
    }
    const float *facts = NULL;
    if (!find_room(b, err) || (e->nfacts != 0 && !(facts = encoder_facts(p, panels, b, of, err))))
        return false;
    bool ok = make_counted(&r, of, facts, piece->at, from, to, y, err);
    if (facts)
        surveys_release(p->surveys, facts);
    return ok;
}
