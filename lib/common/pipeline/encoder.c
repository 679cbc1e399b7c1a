#include "pipeline/encoder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "encode/losses.h"
#include "kernel/hints.h"
#include "kernel/rounded.h"
#include "plan/fused.h"

enum { NEAR = 4 << 10 };        /* elements that are encoded together: with their decoded values and codes, they fit in 48 KiB */

/* Elements of a run and their decoded values, in the order of comparisons. */
struct shadow {
    float *x, *back;            /* n of them, in `room`; owned */
    size_t n, room;
    size_t at;                  /* those before are compared already */
};

/* Reader of the elements for one call. */
struct encoder_reader {
    struct reading how;                 /* with or without the change of the elements */
    const struct piece *elements;
    const struct piece *const *fused;   /* for a survey: `fused` of struct encoded, or NULL */
    bool compares;                      /* elements and their decoded values are compared */
    struct loss_lanes *loss;            /* accumulates the error, or NULL */
    struct shift_lanes *shift;          /* accumulates how a change shows, or NULL */
    const struct piece *wide;           /* the elements before they are rounded for the encoder; NULL: `elements` */
    struct shadow *shadow;              /* the encoded elements, to be compared with the unchanged elements; or NULL */
    uint64_t compared;                  /* number of elements */
    struct err failed;                  /* of a comparison */
    const struct exact_terms *exact;    /* of an exact encoding, or NULL */
    struct exact_fail fail;
    enum exact_way *way;                /* or NULL */
    uint64_t wrong;                     /* first element whose encoding is not the same, or UINT64_MAX */
};

/* Returns the hints that solvers want, as a set of bits. */
static unsigned
wanted(const struct exact_terms *exact)
{
    const struct exact_source *s = &exact->source;
    unsigned unit = 0;
    if (exact->level == EXACT_REAL && s->rounds)
        unit = 1u << HINT_UNIT;
    switch (s->codes) {
    case EXACT_INT:
        return 1u << HINT_SCALE | (s->zeros ? 1u << HINT_ZERO : 0) | unit;
    case EXACT_AFFINE:
        return 1u << HINT_SCALE | 1u << HINT_TERM | unit;
    case EXACT_E2M1:
        return 1u << HINT_SCALE | (s->plus_zero || s->scale == DTYPE_F8_E4M3 ? 1u << HINT_CODE : 0) | unit;
    case EXACT_FP8:
    case EXACT_NF4:
        return 1u << HINT_SCALE | unit;
    default:
        return 0;
    }
}

/* Reads what a hint yields for elements [first, first + n), as floats. */
static bool
read_hint(const struct encoder_reader *r, enum hint hint, uint64_t first, size_t n, float *x, struct err *err)
{
    bool factors = hint == HINT_SCALE || hint == HINT_TERM || hint == HINT_ZERO;
    struct reading how = r->how;
    how.kernels = &r->exact->hints[hint];
    if (factors)
        how.what = READING_FACTORS;
    else
        how.what = READING_HINTS;
    how.nonfinite = true;
    return block_floats(&how, r->elements, first, n, x, err);
}

/* Reads the hints of elements that go to x. */
static bool
read_hints(const struct encoder_reader *r, uint64_t first, size_t count, const float *x, struct err *err)
{
    unsigned set = wanted(r->exact);
    size_t at = (size_t)(x - r->how.b->floats);
    for (unsigned hint = 0; hint < HINTS; hint++)
        if (set >> hint & 1 && !read_hint(r, hint, first, count, r->how.b->hints + hint * ENCODE_FLOATS + at, err))
            return false;
    return true;
}

/* Returns true if the codes of the source can be moved. */
static bool
is_packed(const struct encoding *e)
{
    const struct exact_source *s = &e->exact->source;
    return e->encoder->exact.move && s->group != 0 && s->group % HINT_PACKED == 0
        && (s->codes == EXACT_E2M1 || (s->codes == EXACT_INT && (s->bits == 4 || s->bits == 8) && !s->rounds));
}

/* Moves grains of a part with `elems`, for as long as that is possible: a few at a time, which stay in the cache. Sets *moved to their
 * number. y NULL: checks them. */
static bool
move_grains(const struct encoder_reader *r, const struct encoding *e, struct encode_run *run, unsigned part, uint64_t first,
    uint64_t count, uint8_t *y, uint64_t *moved, struct err *err)
{
    const struct encode_part *p = &e->part[part];
    uint64_t done = 0, numel = e->rows * e->cols, step = num_max(1, ENCODE_MOVED / p->elems);
    float *pack = r->how.b->hints + HINT_PACK * ENCODE_FLOATS;
    bool ok = true, moves = true;
    run->hints.pack = pack;
    while (done < count && moves) {
        uint64_t at = (first + done) * p->elems, n = num_min(step, count - done);
        run->n = (size_t)num_min(n * p->elems, numel - at);
        ok = read_hint(r, HINT_PACK, at, run->n, pack, err);
        moves = ok && e->encoder->exact.move(e, run, part, first + done, n, y ? y + done * p->grain : NULL);
        done += moves ? n : 0;
    }
    run->hints.pack = NULL;
    *moved = done;
    return ok;
}

/* Implements scales() of struct encode_hints. */
static bool
read_scales(void *of, uint64_t first, size_t count, const float *x, bool *has, struct err *err)
{
    const struct encoder_reader *r = of;
    size_t at = (size_t)(x - r->how.b->floats);
    *has = wanted(r->exact) >> HINT_SCALE & 1;
    return !*has || read_hint(r, HINT_SCALE, first, count, r->how.b->hints + HINT_SCALE * ENCODE_FLOATS + at, err);
}

/* Implements read() of struct encode_run. */
static bool
read_floats(void *of, uint64_t first, size_t count, float *x, struct err *err)
{
    const struct encoder_reader *r = of;
    return (!r->exact || read_hints(r, first, count, x, err)) && block_floats(&r->how, r->elements, first, count, x, err);
}

/* Implements largest() of struct encode_run. */
static bool
read_largest(void *of, const struct encode_extent *at, float *y, float *x, struct err *err)
{
    const struct encoder_reader *r = of;
    return block_largest(&r->how, r->elements, at, y, x, err);
}

/* Reads elements in F32, with or without the change, to a place in b->shown. Returns NULL on failure. */
static const float *
read_wide(struct encoder_reader *r, bool bare, uint64_t first, size_t n)
{
    struct reading how = r->how;
    struct workspace *b = how.b;
    if (bare)
        how.what = READING_BARE;
    else
        how.what = READING_VALUES;
    how.nonfinite = true;
    if (!b->shown && (b->shown = malloc(2 * ENCODE_FLOATS * sizeof *b->shown)) == NULL) {
        err_memory(&r->failed, 2 * ENCODE_FLOATS * sizeof *b->shown);
        return NULL;
    }
    float *x = b->shown + (bare ? ENCODE_FLOATS : 0);
    const struct changed_values counted = b->changed;
    bool ok = block_floats(&how, r->wide ? r->wide : r->elements, first, n, x, &r->failed);
    b->changed = counted;                       /* the encoder reads them, too */
    if (ok)
        return x;
    return NULL;
}

static void
shadow_add(struct shadow *s, const float *x, const float *back, size_t n, struct err *err)
{
    size_t room = s->room;
    while (room - s->n < n)
        room = room * 2 + ENCODE_FLOATS;
    if (room != s->room) {
        float *more = realloc(s->x, room * sizeof *more), *last = realloc(s->back, room * sizeof *last);
        if (more)
            s->x = more;
        if (last)
            s->back = last;
        if (!more || !last) {
            err_memory(err, room * sizeof *more);
            return;
        }
        s->room = room;
    }
    memcpy(s->x + s->n, x, n * sizeof *x);
    memcpy(s->back + s->n, back, n * sizeof *back);
    s->n += n;
}

/* Implements compare() of struct encode_run. The elements of a bare reader are those without the change. */
static void
encoder_compare(void *of, uint64_t first, const float *x, const float *back, size_t n)
{
    struct encoder_reader *r = of;
    struct shadow *s = r->shadow;
    const struct kernels *k = r->how.kernels;
    bool bare = r->how.what == READING_BARE;
    r->compared += n;
    if (r->loss)
        k->loss(r->loss, x, back, n);
    if (!r->shift)
        return;
    const float *w = NULL;
    if (!s || bare)
        w = read_wide(r, true, first, n);
    const float *v;
    if (bare)
        v = NULL;
    else if (r->wide)
        v = read_wide(r, false, first, n);
    else
        v = x;
    if (r->failed.kind != ERR_NONE)
        return;
    if (!s)
        k->shift(r->shift, w, v, w, back, n);
    else if (!bare)
        shadow_add(s, v, back, n, &r->failed);
    else if (s->n - s->at >= n) {
        k->shift(r->shift, w, s->x + s->at, back, s->back + s->at, n);
        s->at += n;
    }
}

/* Implements compare() of struct encode_run: the proof of an exact encoding. Real numbers are compared by the solvers, since a
 * decoder rounds them. */
static void
prove(void *of, uint64_t first, const float *x, const float *back, size_t n)
{
    struct encoder_reader *r = of;
    enum exact_level level = r->exact->level;
    enum dtype type = DTYPE_F32;
    if (level == EXACT_BF16)
        type = DTYPE_BF16;
    else if (level == EXACT_F16)
        type = DTYPE_F16;
    bool differs = level != EXACT_REAL && !r->how.kernels->same_rounded(type, x, back, n);
    for (size_t i = 0; differs && i < n; i++) {
        float near = rounded(type, x[i]);
        if (!(near == rounded(type, back[i]) && near - near == 0) && x[i] != back[i] && first + i < r->wrong)
            r->wrong = first + i;       /* two that become infinite are not the same */
    }
}

/* Returns the list of a hint, or NULL if it is not read. */
static const float *
hint_of(const struct encoder_reader *r, enum hint hint)
{
    if (wanted(r->exact) >> hint & 1)
        return r->how.b->hints + hint * ENCODE_FLOATS;
    return NULL;
}

static struct encode_run
lend(struct encoder_reader *r, const float *facts)
{
    if (r->exact)
        return (struct encode_run){ .kernels = r->how.kernels, .read = read_floats, .of = r, .facts = facts, .x = r->how.b->floats,
            .compare = prove, .back = r->how.b->floats + ENCODE_FLOATS, .room = r->how.b->floats + 2 * ENCODE_FLOATS,
            .hints = { .base = r->how.b->floats, .scale = hint_of(r, HINT_SCALE), .term = hint_of(r, HINT_TERM),
                .zero = hint_of(r, HINT_ZERO), .unit = hint_of(r, HINT_UNIT), .code = hint_of(r, HINT_CODE), .fail = &r->fail,
                .way = r->way, .scales = read_scales } };
    return (struct encode_run){ .kernels = r->how.kernels, .read = read_floats, .largest = read_largest, .of = r, .facts = facts,
        .x = r->how.b->floats, .compare = r->compares ? encoder_compare : NULL, .back = r->how.b->floats + ENCODE_FLOATS,
        .room = r->how.b->floats + 2 * ENCODE_FLOATS };
}

/* A weight, or several fused weights, that a reader surveys. */
struct surveyed {
    struct encoder_reader r;
    const struct encoding *e;
};

/* Surveys a region of a weight, or of one of several fused weights. */
static bool
survey_region(const void *surveyed, uint64_t region, float *facts, struct err *err)
{
    const struct surveyed *of = surveyed;
    struct encoder_reader r = of->r;
    const struct encoding *e = of->e;
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
    return e->encoder->survey.region(e, &run, region, facts, err);
}

static void
encoder_settle(const void *surveyed, float *facts)
{
    const struct surveyed *of = surveyed;
    if (of->e->encoder->survey.settle)
        of->e->encoder->survey.settle(of->e, facts);
}

static bool
find_room(struct workspace *b, const struct encoding *e, struct err *err)
{
    size_t n = 2 * ENCODE_FLOATS * sizeof *b->floats + ENCODE_ROOM, hints = HINTS * ENCODE_FLOATS * sizeof *b->hints;
    if (!b->floats)
        b->floats = malloc(n);
    if (e->exact && !b->hints)
        b->hints = malloc(hints);
    return (b->floats && (b->hints || !e->exact)) || err_memory(err, n + hints);
}

/* Encodes grains whose elements are in the buffer. An exact encoding was surveyed, so its solvers do not fail here. */
static bool
encoder_encode(struct encoder_reader *r, const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first,
    uint64_t count, uint8_t *y, struct err *err)
{
    char name[STR_SHOWN];
    r->wrong = UINT64_MAX;
    if (!e->exact)
        return e->encoder->encode(e, run, part, first, count, y, err);
    if (!e->encoder->exact.solve(e, run, part, first, count, y, err))
        return err_set(err, ERR_BUG, ERR_TENSOR "element %" PRIu64 " was %s in the survey, and is not now",
            str_shown(name, e->weight.name, e->weight.name_len), r->fail.index, "exact");
    return r->wrong == UINT64_MAX || err_set(err, ERR_BUG, ERR_TENSOR "element %" PRIu64 " of the output has "
        "another value than that of the input", str_shown(name, e->weight.name, e->weight.name_len), r->wrong);
}

/* Reads elements that are to be encoded, of which n are next, unless they are held: many at a time. */
static bool
hold_elements(struct encoder_reader *r, uint64_t first, uint64_t count, uint64_t n, uint64_t numel, struct err *err)
{
    count = num_min(num_min(count, num_max(n, ENCODE_MOVED)), numel - first);
    return r->exact || block_holds(&r->how, r->elements, first, n) || block_hold(&r->how, r->elements, first, count, err);
}

/* Reads the elements of grains from `first` on, of which `count` are wanted, or their largest magnitudes. */
static bool
read_elements(struct encoder_reader *r, const struct encode_part *part, uint64_t first, uint64_t count, struct encode_run *run,
    uint64_t numel, struct err *err)
{
    const uint64_t at = first * part->elems;
    const struct encode_extent groups = { at, 1, run->n, part->most };
    float *most = r->how.b->floats + ENCODE_FLOATS;
    if (!hold_elements(r, at, count * part->elems, run->n, numel, err))
        return false;
    run->most = most;
    if (part->most != 0 && !r->exact)
        return read_largest(r, &groups, most, run->x, err);
    return read_floats(r, at, run->n, run->x, err);
}

/* Encodes grains [first, first + count) of a part: few at a time, which stay in the first cache, unless each comparison reads elements
 * with their change, whose product wants many. */
static bool
make_grains(struct encoder_reader *r, const struct encoded *of, const float *facts, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct encoding *e = of->encoding;
    const struct encode_part *part = &e->part[of->part];
    struct encode_run run = lend(r, facts);
    uint64_t numel = e->rows * e->cols, step = NEAR;
    if (e->exact || r->shift || part->most != 0)
        step = ENCODE_MOVED;
    if (e->exact && part->elems != 0 && is_packed(e)) {
        uint64_t done;
        if (!move_grains(r, e, &run, of->part, first, count, y, &done, err))
            return false;
        first += done;
        count -= done;
        y += done * part->grain;
    }
    for (uint64_t n; count != 0; first += n, count -= n, y += n * part->grain) {
        if (part->elems) {
            n = num_min(count, num_max(1, step / part->elems));
            run.n = (size_t)num_min(n * part->elems, numel - first * part->elems);
        } else {
            n = count;
            run.n = 0;
        }
        if (!(run.n == 0 || read_elements(r, part, first, count, &run, numel, err))
            || !encoder_encode(r, e, &run, of->part, first, n, y, err))
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
    struct grain *g = &r->how.b->grain;
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
    bool compares = r->compares;
    r->compares = compares && from == 0;
    bool ok = (kept && !r->compares) || make_grains(r, of, facts, number, 1, g->p, err);
    r->compares = compares;
    if (!ok)
        return false;
    g->encoding = of->encoding;
    g->part = of->part;
    g->number = number;
    memcpy(y, g->p + from, to - from);
    return true;
}

static bool
encoder_make(struct encoder_reader *r, const struct encoded *of, const float *facts, uint64_t from, uint64_t to, uint8_t *y,
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

/* Returns the delta whose change is measured: the first of the elements', or NULL. */
static const struct delta *
measured(const struct encoder_reader *r, const struct encoded *of)
{
    const struct delta *delta = NULL;
    const struct piece *piece;
    for (size_t i = 0; r->how.p->shifts && !r->exact && !delta && (piece = piece_component(of->elements, i)) != NULL; i++)
        delta = piece_delta(piece);
    return delta;
}

/* Encodes the elements of a run without their change and compares the decoded values of both runs. Keeps the grain of the changed
 * run for the next block. */
static bool
shadow_compare(const struct encoder_reader *r, const struct encoded *of, uint64_t from, uint64_t to, struct err *err)
{
    const struct encoding *e = of->encoding;
    const float *facts = e->facts;
    struct cache *cache = r->how.p->bare_facts;
    struct encoder_reader bare = *r;
    bare.how.what = READING_BARE;
    bare.loss = NULL;
    bare.compared = 0;
    uint8_t *y = malloc((size_t)(to - from) + 1);
    bool ok = (y || err_memory(err, to - from))
        && (e->nfacts == 0 || facts || (facts = encoder_facts(&bare.how, of, cache, err)) != NULL);
    r->how.b->grain.encoding = NULL;
    ok = ok && encoder_make(&bare, of, facts, from, to, y, err) && (bare.failed.kind == ERR_NONE || (*err = bare.failed, false));
    r->how.b->grain.encoding = NULL;
    if (facts && facts != e->facts)
        cache_release(cache, facts);
    free(y);
    return ok;
}

/* Like encoder_make(), and accumulates the error, and how a change shows, in runs that do not depend on the block size. */
static bool
make_counted(struct encoder_reader *r, const struct encoded *of, const float *facts, uint64_t at, uint64_t from, uint64_t to,
    uint8_t *y, struct err *err)
{
    const struct pipeline *p = r->how.p;
    const struct delta *delta = measured(r, of);
    const struct encoding *e = of->encoding;
    struct shadow shadow = { .n = 0 };
    bool losses = p->losses && !e->exact, ok = true;
    r->compares = losses || delta;
    r->wide = of->wide;
    if (!r->compares)
        return encoder_make(r, of, facts, from, to, y, err);
    err_init(&r->failed);
    for (uint64_t end; ok && from < to; y += end - from, from = end) {
        struct loss_lanes loss = { .distance = { 0 } };
        struct shift_lanes shift = { .moved = 0 };
        end = num_min(to, (at + from - p->from) / PIPELINE_BLOCK * PIPELINE_BLOCK + PIPELINE_BLOCK + p->from - at);
        if (losses)
            r->loss = &loss;
        else
            r->loss = NULL;
        if (delta)
            r->shift = &shift;
        else
            r->shift = NULL;
        r->shadow = delta && shifts_again(p->shifts) && !e->encoder->survey.finish_parts ? &shadow : NULL;  /* whose facts are in parts */
        r->compared = shadow.n = shadow.at = 0;
        ok = encoder_make(r, of, facts, from, end, y, err) && (r->failed.kind == ERR_NONE || (*err = r->failed, false))
            && (!r->shadow || r->compared == 0 || shadow_compare(r, of, from, end, err));
        if (ok && r->compared != 0 && r->loss)
            losses_add(p->losses, e->number, &loss, r->compared, e->rows * e->cols);
        if (ok && r->compared != 0 && delta)
            shifts_add(p->shifts, delta, &shift, r->compared, e->rows * e->cols);
    }
    free(shadow.x);
    free(shadow.back);
    return ok;
}

/* Solvers of an exact encoding refuse NaN and infinity themselves, with a witness. */
static struct encoder_reader
reader_of(const struct reading *how, const struct encoded *of)
{
    struct encoder_reader r = { .how = *how, .elements = of->elements, .exact = of->encoding->exact };
    r.how.measures = false;             /* the elements are no output */
    r.how.nonfinite = how->nonfinite || r.exact;
    return r;
}

const float *
encoder_facts(const struct reading *how, const struct encoded *of, struct cache *facts, struct err *err)
{
    struct surveyed s = { reader_of(how, of), of->fused ? &of->encoding->fused->all : of->encoding };
    const struct cache_fill fill = { (size_t)s.e->nfacts, s.e->nregions, survey_region, encoder_settle, &s };
    s.r.fused = of->fused;
    if (find_room(how->b, of->encoding, err))
        return cache_take(facts, s.e, &fill, err);
    return NULL;
}

/* Surveys the bands whose elements are held. Returns their facts, at the places that they have among all facts of the weight; NULL on
 * failure. */
static const float *
band_facts(struct encoder_reader *r, const struct encoding *e, struct err *err)
{
    const struct held *held = &r->how.b->held;
    struct band_facts *facts = &r->how.b->facts;
    struct encode_bands bands;
    if (facts->encoding == e && facts->first == held->first)
        return facts->p;
    if (facts->encoding != e) {
        free(facts->p);
        facts->encoding = NULL;
        if ((facts->p = malloc(e->nfacts * sizeof *facts->p)) == NULL) {
            err_memory(err, e->nfacts * sizeof *facts->p);
            return NULL;
        }
    }
    facts->encoding = e;
    facts->first = held->first;
    encode_bands_of(e, &bands);
    uint64_t row = held->first / bands.cols, end = num_ceil_div(held->first + held->n, bands.cols), each = e->nfacts / e->nregions;
    uint64_t region = row / bands.matrix * num_ceil_div(bands.matrix, bands.rows) + row % bands.matrix / bands.rows;
    const struct encode_run run = lend(r, NULL);
    for (; row < end; row += bands.rows, region++) {
        memset(facts->p + region * each, 0, each * sizeof *facts->p);
        if (!e->encoder->survey.region(e, &run, region, facts->p, err)) {
            facts->encoding = NULL;
            return NULL;
        }
    }
    return facts->p;
}

/* Returns the facts that an encoding needs, or NULL on failure. */
static const float *
facts_for(struct encoder_reader *r, const struct encoded *of, struct err *err)
{
    const struct encoding *e = of->encoding;
    if (e->facts)
        return e->facts;
    if (e->encoder->survey.bands && !e->exact && r->how.bands)
        return band_facts(r, e, err);
    return encoder_facts(&r->how, of, r->how.p->facts, err);
}

static bool
encoder_bytes(const struct reading *how, const struct piece *piece, uint64_t from, uint64_t to, uint8_t *y, struct err *err)
{
    const struct encoded *of = piece->of.encoded;
    const struct encoding *e = of->encoding;
    struct encoder_reader r = reader_of(how, of);
    if (e->part[of->part].bytes) {
        memcpy(y, e->part[of->part].bytes + from, (size_t)(to - from));
        return true;
    }
    const float *facts = NULL;
    if (!find_room(how->b, e, err) || (e->nfacts != 0 && !(facts = facts_for(&r, of, err))))
        return false;
    bool ok = make_counted(&r, of, facts, piece->at, from, to, y, err);
    if (facts && facts != e->facts && facts != how->b->facts.p)
        cache_release(how->p->facts, facts);
    return ok;
}

/* Does not show changes of elements: p->shifts is NULL. */
static bool
encoder_panel(const struct reading *how, const struct encoded *of, const struct encode_panel *panel, struct err *err)
{
    const struct encoding *e = of->encoding;
    struct losses *losses = how->p->losses;
    struct loss_lanes loss = { .distance = { 0 } };
    struct encoder_reader r = reader_of(how, of);
    if (!find_room(how->b, e, err))
        return false;
    if (losses)
        r.loss = &loss;
    r.compares = r.loss != NULL;
    const struct encode_run run = lend(&r, NULL);
    if (!e->encoder->panel(e, &run, panel, err))
        return false;
    if (losses)
        losses_add(losses, e->number, &loss, r.compared, e->rows * e->cols);
    return true;
}

const struct pipeline_encoder encoder = { encoder_bytes, encoder_panel };

static struct encoder_reader
reader_of_trial(const struct encoder_trial *t, struct workspace *b, enum exact_way *way)
{
    const struct reading how = { .p = t->p, .panels = t->panels, .b = b, .kernels = t->p->kernels };
    struct encoder_reader r = reader_of(&how, &t->of);
    r.way = way;
    return r;
}

bool
encoder_survey(const struct encoder_trial *t, struct workspace *b, uint64_t region, float *facts, struct exact_fail *fail,
    enum exact_way *way, struct err *err)
{
    struct encoder_reader r = reader_of_trial(t, b, way);
    if (!find_room(b, t->of.encoding, err))
        return false;
    const struct encode_run run = lend(&r, NULL);
    bool ok = t->of.encoding->encoder->survey.region(t->of.encoding, &run, region, facts, err);
    *fail = r.fail;
    return ok || err->kind == ERR_NONE;
}

bool
encoder_check(const struct encoder_trial *t, struct workspace *b, uint64_t first, uint64_t count, uint8_t *y,
    struct exact_fail *fail, enum exact_way *way, struct err *err)
{
    const struct encoding *e = t->of.encoding;
    const struct encode_part *part = &e->part[t->of.part];
    uint64_t numel = e->rows * e->cols;
    struct encoder_reader r = reader_of_trial(t, b, way);
    if (!find_room(b, e, err))
        return false;
    struct encode_run run = lend(&r, t->facts);
    run.compare = NULL;
    if (part->elems)
        run.n = (size_t)num_min(count * part->elems, numel - first * part->elems);
    else
        run.n = 0;
    uint64_t done = 0;
    if (part->elems != 0 && is_packed(e) && !move_grains(&r, e, &run, t->of.part, first, count, NULL, &done, err))
        return false;
    if (done != 0 && *way < EXACT_HINT && e->exact->source.codes != EXACT_E2M1)
        *way = EXACT_HINT;
    if (done == count)
        return true;
    first += done;
    count -= done;
    if (part->elems)
        run.n = (size_t)num_min(count * part->elems, numel - first * part->elems);
    else
        run.n = 0;
    bool ok = (run.n == 0 || read_floats(&r, first * part->elems, run.n, run.x, err))
        && e->encoder->exact.solve(e, &run, t->of.part, first, count, y, err);
    *fail = r.fail;
    return ok || (err->kind == ERR_NONE && r.fail.cause != EXACT_HOLDS) || err_set(err, ERR_BUG, "a solver fails "
        "without a reason");
}
