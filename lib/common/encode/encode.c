#include "encode/encode.h"

#include <string.h>

#include "base/num.h"
#include "base/str.h"

void *
encode_alloc(struct encoding *e, size_t n, struct err *err)
{
    return catalog_alloc(e->memory, n, err);
}

size_t
encode_module(const struct encoding *e)
{
    size_t n = e->weight.name_len;
    if (str_strip(e->weight.name, &n, ".weight") && n != 0)
        return n;
    return e->weight.name_len;
}

bool
encode_plain(const struct encoding *e, const struct encode_options *options, bool groups, struct err *err)
{
    const char *name = NULL;
    if (options->group_size != 0 && !groups)
        name = "--group-size";
    else if (options->asymmetric)
        name = "--asymmetric";
    else if (options->symmetric)
        name = "--symmetric";
    else if (options->convrot)
        name = "--convrot";
    return !name || err_set(err, ERR_USAGE, "%s is not supported by %s", name, e->encoder->label);
}

struct encode_part *
encode_add_part(struct encoding *e, size_t base, const char *suffix, enum dtype dtype, const uint64_t *dim, uint32_t rank,
    struct err *err)
{
    size_t tail = strlen(suffix);
    struct encode_part *part = &e->part[e->nparts];
    char *name = encode_alloc(e, base + tail + 1, err);
    uint8_t *packed = NULL;
    if (name)
        packed = encode_alloc(e, (size_t)rank * SHAPE_DIM, err);
    if (!packed)
        return NULL;
    memcpy(name, e->weight.name, base);
    memcpy(name + base, suffix, tail + 1);
    shape_pack(packed, dim, rank);
    *part = (struct encode_part){ .name = name, .name_len = (uint32_t)(base + tail), .dtype = dtype,
        .shape = { rank, packed }, .grain = dtype_facts(dtype)->bytes };
    e->nparts++;
    return part;
}

uint64_t
encode_part_nbytes(const struct encode_part *part)
{
    uint64_t nbytes = 0;
    bool whole;
    shape_nbytes(&part->shape, part->dtype, &nbytes, &whole);
    return nbytes;
}

uint64_t
encode_nbytes(const struct encoding *e)
{
    uint64_t nbytes = 0;
    for (unsigned p = 0; p < e->nparts; p++)
        nbytes += encode_part_nbytes(&e->part[p]);
    return nbytes;
}

/* Returns true if no grain of a part with `elems` crosses the end of a band. */
static bool
keeps_bands(const struct encoding *e, const struct encode_part *part, const struct encode_bands *b)
{
    return b->rows * b->cols % part->elems == 0 && (b->matrix * b->cols >= e->rows * e->cols || b->matrix * b->cols % part->elems == 0);
}

bool
encode_bands_of(const struct encoding *e, struct encode_bands *bands)
{
    unsigned readers = e->nfacts != 0;
    *bands = e->bands;
    bool known = bands->rows != 0;
    for (unsigned p = 0; !known && p < e->nparts; p++)
        bands->cols = num_max(bands->cols, e->part[p].elems);
    bands->rows = num_max(bands->rows, 1);
    if (bands->cols == 0 || e->exact || e->encoder->panel)
        return false;
    if (bands->matrix == 0)
        bands->matrix = num_ceil_div(e->rows * e->cols, bands->cols);
    for (unsigned p = 0; p < e->nparts; p++) {
        const struct encode_part *part = &e->part[p];
        bool reads = part->elems != 0 || part->across != 0;
        if ((part->elems != 0 && !keeps_bands(e, part, bands)) || (!known && !reads && !part->bytes))
            return false;
        readers += reads;
    }
    return readers > 1;
}

void
encode_band_bytes(const struct encoding *e, const struct encode_part *part, const struct encode_bands *bands, uint64_t first,
    uint64_t end, uint64_t *from, uint64_t *to)
{
    uint64_t nbytes = encode_part_nbytes(part), numel = e->rows * e->cols, rows = num_ceil_div(numel, bands->cols);
    uint64_t top = first - first % bands->matrix;
    *from = 0;
    *to = first == 0 ? nbytes : 0;
    if (part->elems != 0) {
        *from = first * bands->cols / part->elems * part->grain;
        *to = end * bands->cols / part->elems * part->grain;
    } else if (part->across != 0) {
        uint64_t line = num_ceil_div(bands->cols, part->across) * part->grain;
        uint64_t above = top / bands->matrix * num_ceil_div(bands->matrix, part->down);
        *from = (above + (first - top) / part->down) * line;
        *to = (above + num_ceil_div(end - top, part->down)) * line;
    }
    if (end >= rows && (part->elems != 0 || part->across != 0))
        *to = nbytes;
}

size_t
encode_panel_lines(const struct encoding *e, unsigned part, struct encode_panel *panel, uint8_t *y)
{
    enum { GAP = 64 };                  /* lines a power of two apart would share few sets of the cache */
    const struct encode_part *p = &e->part[part];
    struct encode_lines *l = &panel->part[part];
    *l = (struct encode_lines){ .y = y };
    if (p->across == 0)
        return 0;
    l->stride = e->rows / p->down * p->grain;
    l->at = panel->col / p->across * l->stride + panel->row / p->down * p->grain;
    l->lines = panel->cols / p->across;
    l->n = (size_t)(panel->rows / p->down) * p->grain;
    l->pitch = (l->n + GAP - 1) / GAP * GAP + GAP;
    return l->lines * l->pitch;
}
