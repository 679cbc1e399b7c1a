#include "plan/fingerprint.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "plan/fused.h"

void
fingerprint_add(struct fingerprint *f, const void *p, size_t n)
{
    f->hash = hash_bytes((struct hash_key){ f->hash, n }, p, n);
}

#define ADD_NUMBERS(f, ...) \
    fingerprint_add(f, (const uint64_t[]){ __VA_ARGS__ }, sizeof (const uint64_t[]){ __VA_ARGS__ })

static void
fingerprint_add_text(struct fingerprint *f, const char *text)
{
    fingerprint_add(f, text, text ? strlen(text) : 0);
}

static void
add_shape(struct fingerprint *f, const struct shape *shape)
{
    ADD_NUMBERS(f, shape->rank);
    for (uint32_t i = 0; i < shape->rank; i++)
        ADD_NUMBERS(f, shape_dim(shape, i));
}

static void
add_layout(struct fingerprint *f, const struct layout *layout)
{
    uint32_t rank = 0;
    if (layout)
        rank = layout->rank;
    ADD_NUMBERS(f, layout != NULL, rank);
    for (uint32_t i = 0; i < rank; i++)
        ADD_NUMBERS(f, layout->dim[i].n, layout->dim[i].stride);
}

/* Adds the name, type and shape of a tensor. */
static void
add_form(struct fingerprint *f, const struct tensor *t)
{
    fingerprint_add(f, t->name, t->name_len);
    fingerprint_add_text(f, t->type_name);
    ADD_NUMBERS(f, t->dtype, t->ggml_id, t->big_endian, t->sign);
    add_shape(f, &t->shape);
}

/* Adds an input tensor, which may be NULL, and its extent. */
static void
add_input(struct fingerprint *f, const struct tensor *t)
{
    ADD_NUMBERS(f, t != NULL);
    if (!t)
        return;
    add_form(f, t);
    add_layout(f, t->layout);
    ADD_NUMBERS(f, t->extent.file, t->extent.at, t->extent.nbytes);
}

static void
add_view(struct fingerprint *f, const struct piece_view *view)
{
    add_input(f, view->tensor);
    ADD_NUMBERS(f, view->matrices, view->rows, view->cols, view->unit);
    add_layout(f, view->order);
}

/* The scheme's own numbers follow from the headers, the configs and the scheme's code. */
static void
add_weight(struct fingerprint *f, const struct weight *w)
{
    fingerprint_add_text(f, w->scheme->code);
    fingerprint_add(f, w->name, w->name_len);
    add_shape(f, &w->shape);
    for (unsigned i = 0; i < SCHEME_PARTS; i++)
        add_input(f, w->part[i]);
}

static void add_piece(struct fingerprint *f, const struct piece *piece);

static void
add_built(struct fingerprint *f, const struct built *built)
{
    const struct composed *composed = built->composed;
    add_shape(f, &composed->shape);
    ADD_NUMBERS(f, composed->n, composed->period);
    for (size_t i = 0; i < composed->n; i++) {
        const struct composed_part *part = &composed->part[i];
        ADD_NUMBERS(f, part->first, part->end, part->nops);
        for (size_t k = 0; k < part->nops; k++)
            ADD_NUMBERS(f, part->op[k].kind, bits_of_float(part->op[k].value));
        add_layout(f, part->layout);
        add_piece(f, built->part[i]);
    }
    fingerprint_add_text(f, composed->name);
    if (composed->numbers)
        fingerprint_add(f, composed->numbers, composed->size);
}

/* Adds the arguments of encode(), except for the encoder's own numbers, which fit() derives from the rest, and for facts,
 * which follow from the input. */
static void
add_encoding(struct fingerprint *f, const struct encoding *e)
{
    uint64_t values;
    if (!e->importance)
        values = 0;
    else if (e->matrix_rows != 0)
        values = e->cols * (e->rows / e->matrix_rows);
    else
        values = e->cols;
    fingerprint_add_text(f, e->encoder->name);
    fingerprint_add(f, &e->options, sizeof e->options);
    add_form(f, &e->weight);
    ADD_NUMBERS(f, e->rows, e->cols, e->nparts, e->nfacts, e->nregions, e->matrix_rows);
    fingerprint_add(f, e->importance, (size_t)values * sizeof *e->importance);
    for (unsigned i = 0; i < e->nparts; i++) {
        const struct encode_part *part = &e->part[i];
        fingerprint_add(f, part->name, part->name_len);
        ADD_NUMBERS(f, part->dtype, part->grain, part->elems);
        add_shape(f, &part->shape);
        fingerprint_add(f, part->bytes, part->bytes ? (size_t)encode_part_nbytes(part) : 0);
    }
}

/* Adds a part of a weight, and the weights whose scale it shares. */
static void
add_encoded(struct fingerprint *f, const struct encoded *encoded)
{
    size_t fused = 0;
    if (encoded->fused)
        fused = encoded->encoding->fused->n;
    ADD_NUMBERS(f, encoded->part, fused);
    add_encoding(f, encoded->encoding);
    add_piece(f, encoded->elements);
    for (size_t i = 0; i < fused; i++)
        add_piece(f, encoded->fused[i]);
}

static void
add_piece(struct fingerprint *f, const struct piece *piece)
{
    ADD_NUMBERS(f, piece->kind, piece->to, piece->at, piece->nbytes);
    fingerprint_add(f, piece->name, piece->name ? piece->name_len : 0);
    if (piece_delta(piece))
        ADD_NUMBERS(f, piece_delta(piece)->fingerprint);
    switch (piece->kind) {
    case PIECE_TEXT:
        fingerprint_add(f, piece->of.text, (size_t)piece->nbytes);
        break;
    case PIECE_COPY:
        add_input(f, piece->of.tensor);
        break;
    case PIECE_VIEW:
        add_view(f, piece->of.view);
        break;
    case PIECE_DECODE:
        add_weight(f, piece->of.weight);
        break;
    case PIECE_REPACK:
        ADD_NUMBERS(f, piece->of.repack->kind);
        add_input(f, piece->of.repack->input[0]);
        add_input(f, piece->of.repack->input[1]);
        break;
    case PIECE_COMPOSED:
        add_built(f, piece->of.built);
        break;
    case PIECE_ENCODE:
        add_encoded(f, piece->of.encoded);
        break;
    case PIECE_ZERO:
    case PIECE_LATE:            /* what follows depends only on what has been added */
        break;
    }
}

void
fingerprint_pieces(struct fingerprint *f, const struct pieces *pieces)
{
    ADD_NUMBERS(f, pieces_count(pieces), pieces_nbytes(pieces));
    for (size_t i = 0; i < pieces_count(pieces); i++)
        add_piece(f, pieces_at(pieces, i));
}
