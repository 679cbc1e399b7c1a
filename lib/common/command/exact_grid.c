#include "command/exact_grid.h"

#include <stdlib.h>

#include "command/exact_priv.h"
#include "kernel/hints.h"
#include "report/ndjson.h"

/* Lists schemes by their bits per weight. Scales of F32 hold every scale of 16 bits, too. Schemes of integers are tried
 * without zero points, then with them. */
static const struct grid_name {
    const char *name;
    enum keeps held;
    uint64_t group;
    bool wide;                  /* scales of F32 */
} names[] = {
    { "int4-group", KEEPS_CODES, 128, true }, { "mxfp4", KEEPS_BLOCKS, 0, false }, { "int4-group", KEEPS_CODES, 64, true },
    { "nf4", KEEPS_CODES, 64, false }, { "int4-group", KEEPS_CODES, 32, true }, { "q4_0", KEEPS_BLOCKS, 0, false },
    { "nvfp4", KEEPS_BLOCKS, 0, false }, { "modelopt-nvfp4", KEEPS_CODES, 0, false }, { "nvfp4", KEEPS_CODES, 0, false },
    { "q4_1", KEEPS_BLOCKS, 0, false }, { "q5_0", KEEPS_BLOCKS, 0, false }, { "q5_1", KEEPS_BLOCKS, 0, false },
    { "fp8-per-tensor", KEEPS_CODES, 0, true }, { "fp8-per-channel", KEEPS_CODES, 0, true },
    { "int8-channel", KEEPS_CODES, 0, true }, { "fp8-ue8m0", KEEPS_CODES, 0, false }, { "fp8", KEEPS_CODES, 0, false },
    { "mxfp8", KEEPS_CODES, 0, false }, { "q8_0", KEEPS_BLOCKS, 0, false },
};

/* Finds the first scheme that holds a weight, or NULL. */
static bool
find(const struct grid_name **found, struct exact_attempt *a, struct err *err)
{
    *found = NULL;
    for (size_t i = 0; !*found && i < sizeof names / sizeof *names; i++) {
        a->cmd->reduction.how = (struct encode_options){ .group_size = names[i].group,
            .scale_type = names[i].wide ? 1 + (uint64_t)DTYPE_F32 : 0 };
        if (!exact_try_name(a, encode_exact_find(names[i].name, names[i].held), err))
            return false;
        if (a->out.fail.cause == EXACT_HOLDS)
            *found = &names[i];
    }
    return true;
}

static void
add(struct page *page, bool text, const struct tensor *t, const struct exact_attempt *a, const struct grid_name *g)
{
    const bool zeros = g && a->how.asymmetric;
    if (text) {
        str_add_escaped(&page->text, t->name, t->name_len);
        str_format(&page->text, "  %s", g ? g->name : "none");
        if (g && g->group != 0)
            str_format(&page->text, ", groups of %llu", (unsigned long long)g->group);
        str_text(&page->text, zeros ? ", with zero points\n" : "\n");
        return;
    }
    ndjson_begin(page);
    ndjson_bytes(page, "name", t->name, t->name_len);
    ndjson_text(page, "dtype", dtype_name(t->dtype));
    ndjson_text(page, "level", exact_level_word(a->terms->level));
    ndjson_text(page, "grid", g ? g->name : NULL);
    ndjson_known(page, "group_size", g && g->group != 0, g ? g->group : 0);
    ndjson_bool(page, "asymmetric", zeros);
    ndjson_end(page);
}

/* Reports on one tensor if it is an unquantized matrix. */
static bool
report(struct page *page, struct exact_attempt *a, bool text, struct err *err)
{
    const struct chosen *c = &a->choice->list[a->place];
    const struct tensor t = chosen_source(c);
    const struct grid_name *found;
    bool is = t.dtype == DTYPE_BF16 || t.dtype == DTYPE_F16 || t.dtype == DTYPE_F32;
    if (c->decode || !is || t.shape.rank < 2)
        return true;
    a->trial = *c;
    a->terms->level = t.dtype == DTYPE_BF16 ? EXACT_BF16 : t.dtype == DTYPE_F16 ? EXACT_F16 : EXACT_F32;
    if (!find(&found, a, err))
        return false;
    add(page, text, &t, a, found);
    return true;
}

bool
exact_grid(const struct operand *operand, const struct kernels *kernels, const struct cli *cli, struct err *err)
{
    struct command cmd = { .to = DTYPE_BF16 };
    struct choice choice = { 0 };
    struct kernels *hints = calloc(HINTS, sizeof *hints);
    struct exact_terms terms = { .source = { .codes = EXACT_DENSE }, .hints = hints };
    struct pipeline p = { .model = operand->model, .kernels = kernels };
    struct exact_attempt a = { .cmd = &cmd, .p = &p, .choice = &choice, .terms = &terms };
    bool ok = (hints || err_memory(err, HINTS * sizeof *hints)) && model_spool(operand->model, err)
        && choice_make(&choice, operand->model->catalog, operand->roles, KEEPS_NONE, DTYPE_BF16, false, err);
    for (size_t i = 0; ok && i < HINTS; i++)
        kernels_hint(&hints[i], p.kernels, (enum hint)i);
    for (a.place = 0; ok && a.place < choice.n; a.place++)
        ok = report(operand->page, &a, cli_human(cli), err);
    choice_clear(&choice);
    free(hints);
    return ok;
}
