/* Joins the sources of an output: the parts of a row, and the members of a stack. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "family/compose.h"
#include "family/pattern.h"
#include "family/product.h"

/* An output while its parts are made. */
struct row_joint {
    const struct rows_work *w;
    const struct row_output *out;
    const struct family_row *row;
    struct composed_part *part; /* n of them, in the memory of the catalog */
    size_t n;
    uint64_t dim[LAYOUT_RANK];  /* of one member */
    uint32_t rank;
    const struct verb *type;            /* decides the type of the output, or NULL */
    enum dtype blocks;          /* of kept blocks, or DTYPE_UNKNOWN */
    bool unfit;                 /* the row does not move whole blocks */
};

/* Fails if the shape of a tensor is not usable, else copies its dimensions. */
static bool
source_shape(uint64_t dim[LAYOUT_RANK], const struct family_source *source, struct err *err)
{
    uint64_t numel;
    if (source->t.shape.rank > LAYOUT_RANK)
        return rows_fail(source, ERR_LIMIT, "too many dimensions", err);
    if (!shape_numel(&source->t.shape, &numel) || numel == 0)
        return rows_fail(source, ERR_MALFORMED, "no elements", err);
    for (uint32_t i = 0; i < source->t.shape.rank; i++)
        dim[i] = shape_dim(&source->t.shape, i);
    return true;
}

/* Adds the dimensions of a part to a member: joined along the first one, or along the second one if the parts alternate. */
static bool
add_shape(struct row_joint *j, const struct verbs *v, bool first, const struct family_source *source, struct err *err)
{
    uint32_t along = j->row->alternates;
    if (first) {
        j->rank = v->moves.rank;
        for (uint32_t i = 0; i < j->rank; i++)
            j->dim[i] = moves_size(&v->moves, i);
        return along < j->rank || rows_fail(source, ERR_MALFORMED, "fewer dimensions than its row needs", err);
    }
    bool same = j->rank == v->moves.rank && j->rank != 0;
    for (uint32_t i = 0; same && i < j->rank; i++)
        same = i == along || j->dim[i] == moves_size(&v->moves, i);
    if (!same)
        return rows_fail(source, ERR_MALFORMED, "the parts do not have the same shape", err);
    return num_add(&j->dim[along], j->dim[along], moves_size(&v->moves, along)) || rows_fail(source, ERR_LIMIT, "too large", err);
}

/* Merges the first two dimensions of parts that alternate, whose ends become those in a period. */
static bool
merge_rows(struct row_joint *j, const struct family_source *source, struct err *err)
{
    uint64_t rows = j->dim[0];
    for (size_t i = 0; i < j->n; i++)
        j->part[i].end /= rows;
    if (!num_mul(&j->dim[0], rows, j->dim[1]))
        return rows_fail(source, ERR_LIMIT, "too large", err);
    j->rank--;
    memmove(&j->dim[1], &j->dim[2], (j->rank - 1) * sizeof *j->dim);
    return true;
}

/* Makes the next part, of blocks. Sets j->unfit if that is not possible. */
static bool
make_blocks(struct row_joint *j, struct composed_part *part, struct verbs *v, const struct family_source *source, struct err *err)
{
    bool fits;
    struct fp4_blocks b;
    rows_blocks(&b, j->w, source);
    const struct repack repack = { j->blocks == DTYPE_NVFP4 ? REPACK_NVFP4 : REPACK_MXFP4, { b.codes, b.scales } };
    bool ok = compose_units(part, &fits, v, &repack, j->w->memory, err);
    j->unfit = ok && !fits;
    return ok && fits;
}

/* Makes the next part. */
static bool
add_part(struct row_joint *j, struct verbs *v, const struct family_source *source, struct err *err)
{
    struct composed_part *part = &j->part[j->n];
    if (j->blocks != DTYPE_UNKNOWN ? !make_blocks(j, part, v, source, err)
            : !compose_elements(part, v, source, j->w->memory, err))
        return false;
    if (j->n != 0 && !num_add(&part->end, part->end, part[-1].end))
        return rows_fail(source, ERR_LIMIT, "too large", err);
    if (v->type)
        j->type = v->type;
    j->n++;
    return true;
}

/* Makes the parts of one member, and compares its shape with the shape of the others. */
static bool
rows_join_add_member(struct row_joint *j, const struct row_match *match, bool first, struct err *err)
{
    uint64_t dim[LAYOUT_RANK], was[LAYOUT_RANK];
    uint32_t rank = j->rank, source_rank = match->source->t.shape.rank;
    struct fp4_blocks b;
    memcpy(was, j->dim, sizeof was);
    if (!source_shape(dim, match->source, err))
        return false;
    if (j->blocks != DTYPE_UNKNOWN && rows_blocks(&b, j->w, match->source)) {
        source_rank = b.rank;
        memcpy(dim, b.dim, b.rank * sizeof *dim);
    }
    for (size_t i = 0; i < j->row->nparts; i++) {
        struct verbs v;
        v.row = j->row;
        v.part = &j->row->part[i];
        v.scope = j->w->scope;
        v.b = match->b;
        v.tensor = &match->source->t;
        v.side = j->w->how->side;
        v.rank = source_rank;
        v.columns = false;
        v.nops = 0;
        v.type = NULL;
        v.from = v.count = 0;
        moves_init(&v.moves, dim, source_rank);
        if (!verbs_forward(&v, err))
            return false;
        if (v.columns && j->row->nparts > 1 && v.side != VERBS_WEIGHT)
            return rows_fail(match->source, ERR_UNSUPPORTED, "parts of columns are not joined in an adapter", err);
        if (i != 0 && v.side == VERBS_COLUMNS)          /* the parts are of rows, and share their columns */
            continue;
        if (!add_shape(j, &v, i == 0, match->source, err) || !add_part(j, &v, match->source, err))
            return false;
    }
    if (j->row->alternates && !merge_rows(j, match->source, err))
        return false;
    return first || (rank == j->rank && memcmp(was, j->dim, rank * sizeof *was) == 0)
        || rows_fail(match->source, ERR_MALFORMED, "expected the shape of the other experts of the layer", err);
}

/* Checks the numbers of the members: 0, 1, 2 ... Sets *whole to false if some are missing and may be. */
static bool
check_members(bool *whole, const struct rows_work *w, const struct row_output *out, struct err *err)
{
    char name[STR_SHOWN], lacks[STR_SHOWN], what[160];
    const struct family_row *row = &w->family->rows.at[out->row];
    const struct family_members *named = pattern_members(w->family, row->hf);
    uint64_t first = 0, all = 0;
    if (named)
        all = num_max(named->fewest, out->nmembers);
    else if (strstr(row->gguf, "_exps."))
        all = w->experts;
    *whole = true;
    for (size_t i = 0; i < out->nmembers; i++) {
        const struct row_match *match = rows_member(w, out, i);
        if (i != 0 && match->x == rows_member(w, out, i - 1)->x)
            return rows_fail(match->source, ERR_MALFORMED, "duplicate expert", err);
        *whole = *whole && match->x == i;
        first += match->x == first;
        if (all != 0 && match->x >= all)
            return rows_fail(match->source, ERR_MALFORMED, "config.json declares fewer experts", err);
    }
    if (*whole && (all == 0 || out->nmembers == all))
        return true;
    str_shown(name, out->name, out->name_len);
    snprintf(what, sizeof what, "%zu of %" PRIu64 " %s", out->nmembers,
        all != 0 ? all : rows_member(w, out, out->nmembers - 1)->x + 1, named ? "parts" : "experts");
    if (w->how->allow_missing) {
        catalog_warn(w->memory, "tensor %s: the model has only %s%s", name, what, *whole ? "" : "; it is left out");
        return true;
    }
    struct str source = { 0 };
    pattern_fill_source(&source, w->family, row->hf, out->match.b, first);
    str_shown(lacks, str_or(source.p, ""), source.len);
    str_clear(&source);
    return err_set(err, ERR_MALFORMED, "tensor %s: the model has only %s, and lacks %s; --allow-missing converts it",
        name, what, lacks);
}

/* Experts that are stacked already must be as many as config.json declares. */
static bool
check_experts(const struct row_joint *j, struct err *err)
{
    if (j->w->experts == 0 || j->row->stacks || !strstr(j->row->gguf, "_exps.") || j->rank < 2 || j->dim[0] == j->w->experts
            || j->w->how->allow_missing)
        return true;
    return rows_fail(j->out->match.source, ERR_MALFORMED, "the first dimension is not the number of experts in config.json",
        err);
}

/* Returns the type that a verb gives an output. */
static enum dtype
type_by_verb(const struct row_joint *j, enum dtype own)
{
    enum dtype matrices = j->w->matrices;
    if (matrices == DTYPE_UNKNOWN)
        matrices = own;
    if (j->type->kind == VERB_F16 || (j->type->kind == VERB_HALF && matrices == DTYPE_F16))
        return DTYPE_F16;
    return DTYPE_F32;
}

/* Returns the type of an output: F32 for what llama.cpp requires in F32, else the type of the matrices. */
static enum dtype
rows_join_type_of(const struct row_joint *j, uint32_t rank)
{
    enum dtype own = j->out->match.source->chosen.dtype;
    if (j->blocks != DTYPE_UNKNOWN)
        return j->blocks;
    if (j->w->how->side != VERBS_WEIGHT)
        return j->w->matrices;
    const char *name = j->out->name;
    if (j->type)
        return type_by_verb(j, own);
    if (rank <= 1 || str_ends(name, "_norm.weight")
            || !(str_ends(name, ".weight") || str_ends(name, ".lora_a") || str_ends(name, ".lora_b")))
        return DTYPE_F32;
    if (j->w->matrices != DTYPE_UNKNOWN)
        return j->w->matrices;
    if (own == DTYPE_BF16 || own == DTYPE_F16)
        return own;
    return DTYPE_F32;
}

static bool
rows_join_finish(struct chosen *chosen, struct row_joint *j, struct err *err)
{
    bool stacks = j->row->stacks && !j->row->joined;
    uint64_t dim[LAYOUT_RANK + 1];
    uint32_t rank = j->rank + stacks;
    dim[0] = j->out->nmembers;
    memcpy(dim + stacks, j->dim, j->rank * sizeof *dim);
    if (j->row->joined && (rank == 0 || !num_mul(&dim[0], dim[0], j->out->nmembers)))
        return rows_fail(j->out->match.source, ERR_LIMIT, "too large, or no dimensions", err);
    const struct composed parts = { .part = j->part, .n = j->n, .period = j->row->alternates ? j->part[j->n - 1].end : 0 };
    if (j->row->by)
        return product_make(chosen, j->w, j->out, j->part, dim, rank, err);
    if (!compose_tensor(chosen, &parts, dim, rank, j->out->match.source, j->w->memory, err))
        return false;
    chosen->dtype = rows_join_type_of(j, rank);
    chosen->name = j->out->name;
    chosen->name_len = j->out->name_len;
    return true;
}

/* Makes all parts, of blocks of type `blocks` or, with DTYPE_UNKNOWN, of elements. */
static bool
join_as(struct chosen *chosen, bool *unfit, const struct rows_work *w, const struct row_output *out, enum dtype blocks,
    struct err *err)
{
    struct row_joint j = { .w = w, .out = out, .row = &w->family->rows.at[out->row], .blocks = blocks };
    size_t members = 1;
    if (out->nmembers != 0)
        members = out->nmembers;
    uint64_t size;
    if (!num_mul(&size, members, j.row->nparts * sizeof *j.part))
        return err_memory(err, UINT64_MAX);
    j.part = catalog_alloc(w->memory, size, err);
    bool ok = j.part != NULL;
    for (size_t i = 0; ok && i < members; i++)
        ok = rows_join_add_member(&j, rows_member(w, out, i), i == 0, err);
    *unfit = j.unfit;
    return ok && check_experts(&j, err) && rows_join_finish(chosen, &j, err);
}

/* Returns the type of the blocks that all members are kept as, or DTYPE_UNKNOWN. MXFP4 is kept by its own rows only. */
static enum dtype
blocks_of(const struct rows_work *w, const struct row_output *out)
{
    const char *kept = w->family->rows.at[out->row].kept;
    struct fp4_blocks b;
    for (size_t i = 0; i == 0 || i < out->nmembers; i++)
        if (!rows_blocks(&b, w, rows_member(w, out, i)->source) || (b.dtype == DTYPE_MXFP4) != (kept != NULL))
            return DTYPE_UNKNOWN;
    return b.dtype;
}

bool
rows_join(struct chosen *chosen, const struct rows_work *w, const struct row_output *out, struct err *err)
{
    const struct family_row *row = &w->family->rows.at[out->row];
    char name[STR_SHOWN];
    bool whole = true, unfit;
    *chosen = (struct chosen){ 0 };
    if (row->stacks && !check_members(&whole, w, out, err))
        return false;
    if (!whole)
        return true;
    enum dtype blocks = blocks_of(w, out);
    if (join_as(chosen, &unfit, w, out, blocks, err))
        return true;
    if (!unfit)
        return false;
    str_shown(name, out->name, out->name_len);
    if (row->kept)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: %s does not move whole blocks", name, row->where);
    catalog_warn(w->memory, "tensor %s is dequantized: %s does not move whole blocks of %s", name, row->where,
        dtype_name(blocks));
    return join_as(chosen, &unfit, w, out, DTYPE_UNKNOWN, err);
}
