#include "command/grids.h"

#include <inttypes.h>

#include "exact/exact_grid.h"
#include "report/ndjson.h"

static void
grids_add_text(void *of, const struct tensor *t, const struct exact_grid *g)
{
    struct str *text = &((struct page *)of)->text;
    str_add_escaped(text, t->name, t->name_len);
    str_format(text, "  %s", str_or(g->scheme, "none"));
    if (g->group != 0)
        str_format(text, ", groups of %" PRIu64, g->group);
    str_text(text, g->zeros ? ", with zero points\n" : "\n");
}

static void
add_json(void *of, const struct tensor *t, const struct exact_grid *g)
{
    struct page *j = of;
    ndjson_begin(j);
    ndjson_bytes(j, "name", t->name, t->name_len);
    ndjson_text(j, "dtype", dtype_name(t->dtype));
    ndjson_text(j, "level", exact_level_word(g->level));
    ndjson_text(j, "grid", g->scheme);
    ndjson_known(j, "group_size", g->group != 0, g->group);
    ndjson_bool(j, "asymmetric", g->zeros);
    ndjson_end(j);
}

bool
grids_print(const struct operand *operand, const struct kernels *kernels, const struct cli *cli, struct err *err)
{
    return exact_grid_each(operand->model, operand->roles, kernels, cli_human(cli) ? grids_add_text : add_json, operand->page, err);
}
