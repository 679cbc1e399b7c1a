#include "report/outline.h"

#include <stdlib.h>

#include "base/num.h"
#include "plan/fused.h"
#include "report/ndjson.h"

/* Adds the input bytes of part p that bytes [from, to) of a piece need. */
static struct span
needs(const struct piece *piece, unsigned p, uint64_t from, uint64_t to)
{
    const struct tensor *t = piece_input(piece, p);
    struct span s = { .len = t->extent.nbytes };
    if (piece->kind == PIECE_COPY) {
        uint64_t size = dtype_facts(piece->to)->bytes, in = dtype_facts(t->dtype)->bytes;
        return in == size ? (struct span){ from, to - from }
            : (struct span){ from / size * in, (num_ceil_div(to, size) - from / size) * in };
    }
    if (piece->kind == PIECE_REPACK) {
        uint64_t size = piece_size(piece), in = repack_facts(piece->of.repack->kind)->in[p];
        return (struct span){ from / size * in, (num_ceil_div(to, size) - from / size) * in };
    }
    if (piece->kind == PIECE_ENCODE && encoded_part(piece)->elems != 0 && piece->of.encoded->encoding->nfacts == 0) {
        const struct encode_part *part = encoded_part(piece);
        uint64_t run = (uint64_t)part->elems * dtype_facts(piece->of.encoded->elements->to)->bytes;
        return needs(piece->of.encoded->elements, p, from / part->grain * run, num_ceil_div(to, part->grain) * run);
    }
    if (piece->kind == PIECE_DECODE && weight_has_run(piece->of.weight, p) && from < to) {
        uint64_t size = dtype_facts(piece->to)->bytes, first = from / size;
        piece->of.weight->scheme->run(&s, piece->of.weight, p, first, num_ceil_div(to, size) - first);
    }
    return s;
}

static void
add_bytes(struct page *j, const struct outline *in, const struct tensor *t, uint32_t file, struct span s)
{
    ndjson_object(j, NULL);
    ndjson_text(j, "file", in->files[file]);
    ndjson_bytes(j, "tensor", t->name, t->name_len);
    ndjson_u64(j, "offset", s.at);
    ndjson_u64(j, "nbytes", s.len);
    ndjson_object_end(j);
}

/* Adds an input: bytes of its file, or of the files with its pieces. */
static void
add_input(struct page *j, const struct outline *in, const struct tensor *t, struct span s)
{
    struct catalog_tile tile;
    for (size_t i = 0; catalog_next_tile(in->catalog, t, s.at, s.at + s.len, &i, &tile);)
        add_bytes(j, in, t, tile.file, (struct span){ tile.at, tile.nbytes });
    if (!catalog_is_made(in->catalog, t->extent.file))
        add_bytes(j, in, t, t->extent.file, (struct span){ t->extent.at + s.at, s.len });
}

/* Adds the inputs of bytes [from, to) of a piece that is not COMPOSED. */
static void
add_needs(struct page *j, const struct outline *in, const struct piece *piece, uint64_t from, uint64_t to)
{
    for (unsigned p = 0; p < SCHEME_PARTS; p++) {
        const struct tensor *t = piece_input(piece, p);
        if (!t)
            continue;
        add_input(j, in, t, needs(piece, p, from, to));
    }
    const struct delta *delta = piece_delta(piece->kind == PIECE_ENCODE ? piece->of.encoded->elements : piece);
    for (size_t i = 0; delta && delta->input(delta, i); i++)
        add_input(j, in, delta->input(delta, i), (struct span){ 0, delta->input(delta, i)->extent.nbytes });
}

/* Adds the inputs of bytes [from, to) of a COMPOSED piece. */
static void
add_composed(struct page *j, const struct outline *in, const struct piece *piece, uint64_t from, uint64_t to)
{
    const struct composed *composed = piece->of.built->composed;
    uint64_t size = piece_size(piece), first = from / size, last = num_ceil_div(to, size);
    for (size_t i = 0; i < composed->n; i++) {
        const struct composed_part *part = &composed->part[i];
        const struct piece *source = piece->of.built->part[i];
        uint64_t a, b, bytes;
        if (!composed_part_range(composed, i, first, last, &a, &b))
            continue;
        if (part->layout)
            layout_bounds(part->layout, a, b - a, &a, &b);
        bytes = piece_size(source);
        add_needs(j, in, source, (part->first + a) * bytes, (part->first + b) * bytes);
    }
}

static void
add_inputs(struct page *j, const struct outline *in, const struct piece *piece)
{
    uint64_t from = num_max(in->from, piece->at) - piece->at, to = num_min(in->to, piece->at + piece->nbytes) - piece->at;
    const struct piece *elements = piece;
    if (piece->kind == PIECE_ENCODE)
        elements = piece->of.encoded->elements;
    ndjson_array(j, "inputs");
    if (elements->kind != PIECE_COMPOSED)
        add_needs(j, in, piece, from, to);
    else if (elements == piece)
        add_composed(j, in, piece, from, to);
    else
        add_composed(j, in, elements, 0, elements->nbytes);
    for (size_t i = 0; piece != elements && !encoded_part(piece)->bytes && piece->of.encoded->fused
        && i < piece->of.encoded->encoding->fused->n; i++)
        if (piece->of.encoded->fused[i] != elements)
            add_needs(j, in, piece->of.encoded->fused[i], 0, piece->of.encoded->fused[i]->nbytes);
    ndjson_array_end(j);
}

static void
add_piece(struct page *j, const struct outline *in, const struct piece *piece, const struct tensor *t)
{
    ndjson_begin(j);
    ndjson_bytes(j, "name", t->name, t->name_len);
    ndjson_text(j, "dtype", dtype_name(t->dtype));
    ndjson_dims(j, "shape", &t->shape);
    ndjson_u64(j, "offset", piece->at);
    ndjson_u64(j, "nbytes", piece->nbytes);
    add_inputs(j, in, piece);
    ndjson_end(j);
}

/* Returns true if the range has bytes of the piece; an empty piece counts if its offset is in the range. */
static bool
is_wanted(const struct outline *in, const struct piece *piece)
{
    uint64_t end = piece->at + piece->nbytes;
    if (piece->nbytes == 0)
        return in->from <= piece->at && piece->at <= in->to;
    return in->from < end && piece->at < in->to;
}

/* --- files */

static void
need_until(uint64_t *after, const struct outline *in, const struct tensor *t, uint64_t end)
{
    struct catalog_tile tile;
    after[t->extent.file] = num_max(after[t->extent.file], end);
    for (size_t i = 0; catalog_next_tile(in->catalog, t, 0, t->extent.nbytes, &i, &tile);)
        after[tile.file] = num_max(after[tile.file], end);
}

/* Raises the offset of each file that a piece needs to the end of the piece. */
static void
add_needed_files(uint64_t *after, const struct outline *in, const struct piece *piece)
{
    uint64_t end = piece->at + piece->nbytes;
    const struct piece *source;
    for (size_t i = 0; (source = piece_component(piece, i)) != NULL; i++) {
        for (unsigned p = 0; p < SCHEME_PARTS; p++)
            if (piece_input(source, p))
                need_until(after, in, piece_input(source, p), end);
        const struct delta *delta = piece_delta(source);
        for (size_t k = 0; delta && delta->input(delta, k); k++)
            need_until(after, in, delta->input(delta, k), end);
    }
}

static bool
add_files(struct page *j, const struct outline *in, struct err *err)
{
    uint64_t *after = calloc(in->nfiles, sizeof *after);
    if (!after)
        return err_memory(err, in->nfiles * sizeof *after);
    for (size_t i = 0; i < pieces_count(in->pieces); i++)
        add_needed_files(after, in, pieces_at(in->pieces, i));
    for (size_t i = 0; i < in->nfiles; i++) {
        if (catalog_is_made(in->catalog, (uint32_t)i))
            continue;
        ndjson_begin(j);
        ndjson_text(j, "file", in->files[i]);
        ndjson_u64(j, "free_after", after[i]);
        ndjson_end(j);
    }
    free(after);
    return true;
}

bool
outline_json(struct page *page, const struct outline *in, struct err *err)
{
    struct tensor t;
    for (size_t i = 0; i < pieces_count(in->pieces); i++) {
        const struct piece *piece = pieces_at(in->pieces, i);
        if (is_wanted(in, piece) && piece_output(&t, piece))
            add_piece(page, in, piece, &t);
    }
    return add_files(page, in, err);
}
