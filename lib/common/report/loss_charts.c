#include "report/loss_charts.h"

#include <inttypes.h>
#include <math.h>

#include "report/html.h"

static double
sqnr_of(const struct loss_cell *cell)
{
    return losses_sqnr(cell->signal, cell->noise);
}

static const char *
loss_charts_type_of(const struct loss_cell *cell)
{
    if (cell->type)
        return cell->type;
    return "mixed";
}

/* Appends the label of a kind, which may break after _ and dots. */
static void
add_label(struct str *out, const struct loss_map *map, uint32_t k, bool breaks)
{
    const struct loss_kind *kind = &map->kinds[k];
    const char *label = map->names.name[k] + kind->label;
    for (size_t from = 0, i = 0; i < kind->label_len; i++) {
        bool cut = breaks && (label[i] == '_' || label[i] == '.');
        if (!cut && i + 1 < kind->label_len)
            continue;
        html_text(out, label + from, i + 1 - from);
        str_text(out, cut ? "<wbr>" : "");
        from = i + 1;
    }
}

/* Appends "22.13 dB, relative error 7.83 %". */
static void
add_error(struct str *out, double sqnr, double relative)
{
    html_sqnr(out, sqnr);
    str_text(out, isfinite(sqnr) ? " dB, relative error " : ", relative error ");
    html_number(out, 100 * relative);
    str_text(out, " %");
}

/* --- heat maps */

/* Appends what a cell shows when it is pointed at. */
static void
add_cell_title(struct str *out, const struct loss_map *map, const struct loss_cell *cell)
{
    const char *why = map->items[cell->at].why;
    str_text(out, " title=\"");
    add_label(out, map, cell->kind, false);
    str_format(out, ", layer %" PRIu64 ": ", cell->layer);
    if (cell->n == 0) {
        str_format(out, "not quantized%s%s\"", why ? ": " : "", str_or(why, ""));
        return;
    }
    if (cell->n > 1)
        str_format(out, "%" PRIu32 " weights, together ", cell->n);
    add_error(out, sqnr_of(cell), loss_items_relative(cell->noise, cell->signal));
    if (cell->n > 1) {
        str_text(out, "; worst ");
        html_sqnr(out, cell->worst);
        str_text(out, isfinite(cell->worst) ? " dB" : "");
    }
    str_text(out, "\"");
}

/* Appends a cell. It shows its scheme, unless all have the same: then its SQNR. */
static void
add_cell(struct str *out, const struct loss_map *map, const struct loss_cell *cell)
{
    if (cell->n != 0)
        str_format(out, "<td class=\"h%u\"", loss_map_level(map, sqnr_of(cell)));
    else
        str_text(out, "<td class=\"left\"");
    add_cell_title(out, map, cell);
    if (map->scheme && cell->n != 0 && isfinite(sqnr_of(cell)))
        str_format(out, ">%.1f</td>", sqnr_of(cell));
    else
        str_format(out, ">%s</td>", loss_charts_type_of(cell));
}

/* Appends the head of a heat map: a column for each kind. */
static void
add_map_head(struct str *out, const struct loss_map *map, const struct loss_stack *stack)
{
    str_text(out, "<div class=\"scroll\"><table class=\"map\">\n<thead><tr><th scope=\"col\">layer</th>");
    for (uint32_t k = stack->kind + 1; k != 0; k = map->kinds[k - 1].next) {
        str_text(out, "<th scope=\"col\" title=\"");
        html_text(out, map->names.name[k - 1], map->kinds[k - 1].len);
        str_text(out, "\">");
        add_label(out, map, k - 1, true);
        str_text(out, "</th>");
    }
    str_text(out, "</tr></thead>\n<tbody>\n");
}

/* Returns the number of layers in each table, so that the tables of a stack, side by side, fit on a screen. */
static size_t
rows_per_table(size_t rows)
{
    size_t most = rows <= 80 ? 20 : 32, tables = (rows + most - 1) / most;
    return (rows + tables - 1) / tables;
}

/* Appends the cells of one layer, from number `first`. Returns how many there are. */
static size_t
add_map_row(struct str *out, const struct loss_map *map, const struct loss_stack *stack, size_t first)
{
    const struct loss_cell *cell = &map->cells[first], *end = &map->cells[stack->cell + stack->ncells];
    uint64_t layer = cell->layer;
    str_format(out, "<tr><th scope=\"row\">%" PRIu64 "</th>", layer);
    for (uint32_t column = 0; column < stack->columns; column++) {
        if (cell < end && cell->layer == layer && cell->column == column)
            add_cell(out, map, cell++);
        else
            str_text(out, "<td></td>");
    }
    str_text(out, "</tr>\n");
    return (size_t)(cell - &map->cells[first]);
}

static void
add_stack_name(struct str *out, const struct loss_map *map, const struct loss_stack *stack)
{
    size_t n = map->kinds[stack->kind].prefix;
    str_text(out, "<h3>Layers of <code>");
    if (n > 1)
        html_text(out, map->names.name[stack->kind], n - 1);    /* without the dot */
    else
        str_text(out, "the model");
    str_text(out, "</code></h3>\n");
}

static void
add_map(struct page *page, const struct loss_map *map, const struct loss_stack *stack)
{
    struct str *out = &page->text;
    size_t per = rows_per_table(stack->rows), row = 0;
    str_text(out, "<div class=\"maps\">\n");
    for (size_t i = 0; i < stack->ncells; row++) {
        if (row % per == 0)
            add_map_head(out, map, stack);
        i += add_map_row(out, map, stack, stack->cell + i);
        if (row % per == per - 1 || i == stack->ncells)
            str_text(out, "</tbody></table></div>\n");
        page_turn(page);
    }
    str_text(out, "</div>\n");
}

/* Appends the weights that belong to no heat map, each with a cell. */
static void
add_apart(struct page *page, const struct loss_map *map)
{
    struct str *out = &page->text;
    bool first = true;
    for (size_t i = 0; i < map->n; i++) {
        const struct loss_item *item = &map->items[i];
        const struct loss loss = item->loss;
        if (!loss_map_apart(map, i))
            continue;
        str_text(out, first ? "<h3>Outside the layers</h3>\n<ul class=\"apart\">\n" : "");
        first = false;
        str_format(out, "<li title=\"");
        add_error(out, loss.sqnr, loss_items_relative(loss.noise, loss.signal));
        str_format(out, "\"><span class=\"cell h%u\">%s</span> ", loss_map_level(map, loss.sqnr), item->type);
        html_text(out, item->name, item->name_len);
        str_text(out, " <span class=\"muted\">");
        html_sqnr(out, loss.sqnr);
        str_format(out, "%s</span></li>\n", isfinite(loss.sqnr) ? " dB" : "");
        page_turn(page);
    }
    str_text(out, first ? "" : "</ul>\n");
}

static void
add_legend(struct str *out, const struct loss_map *map)
{
    double width = (map->high - map->low) / LOSS_MAP_LEVELS;
    str_text(out, "<p class=\"legend\"><span>SQNR, dB:</span>");
    for (int i = 0; i + 1 < LOSS_MAP_LEVELS; i++)
        str_format(out, "<span class=\"cell h%d\">&ge; %.3g</span>", i, map->high - (i + 1) * width);
    str_format(out, "<span class=\"cell h%d\">less</span></p>\n", LOSS_MAP_LEVELS - 1);
}

/* Returns the number of stacks with a heat map. */
static size_t
count_grids(const struct loss_map *map)
{
    size_t n = 0;
    for (size_t i = 0; i < map->nstacks; i++)
        n += !map->stacks[i].apart;
    return n;
}

void
loss_charts_add_maps(struct page *page, const struct loss_map *map)
{
    struct str *out = &page->text;
    size_t grids = count_grids(map);
    str_format(out, "<section>\n<h2>%s of each weight</h2>\n", map->scheme ? "SQNR" : "Scheme and SQNR");
    add_legend(out, map);
    for (size_t i = 0; i < map->nstacks; i++) {
        if (map->stacks[i].apart)
            continue;
        if (grids > 1)
            add_stack_name(out, map, &map->stacks[i]);
        add_map(page, map, &map->stacks[i]);
    }
    add_apart(page, map);
    str_text(out, "</section>\n");
}

/* --- small charts */

enum { PANEL_WIDTH = 180, PANEL_HEIGHT = 126, PANEL_LEFT = 26, PANEL_RIGHT = 170, PANEL_TOP = 8, PANEL_BOTTOM = 106 };

/* The layers of a chart's x axis. */
struct panel_axis {
    uint64_t first, last;
};

static double
x_of(const struct panel_axis *axis, uint64_t layer)
{
    return PANEL_LEFT + 4
        + (PANEL_RIGHT - PANEL_LEFT - 8) * (double)(layer - axis->first) / (double)(axis->last - axis->first);
}

static double
y_of(const struct loss_map *map, double sqnr)
{
    return PANEL_BOTTOM - (PANEL_BOTTOM - PANEL_TOP) * (fmin(sqnr, map->high) - map->low) / (map->high - map->low);
}

static void
add_axes(struct str *out, const struct loss_map *map, const struct panel_axis *axis)
{
    uint64_t step = (uint64_t)loss_map_step((double)(axis->last - axis->first), 4);
    for (double v = ceil(map->low / map->step) * map->step; v <= map->high; v += map->step)
        str_format(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" class=\"end\">%.4g</text>\n",
            PANEL_LEFT, y_of(map, v), PANEL_RIGHT, PANEL_LEFT - 4, y_of(map, v) + 3.5, v);
    for (uint64_t layer = (axis->first + step - 1) / step * step; layer <= axis->last; layer += step)
        str_format(out, "<path class=\"tick\" d=\"M%.1f %dv4\"/><text x=\"%.1f\" y=\"%d\" class=\"mid\">%" PRIu64 "</text>\n",
            x_of(axis, layer), PANEL_BOTTOM, x_of(axis, layer), PANEL_BOTTOM + 15, layer);
}

/* Appends the line and the points of a kind. Lossless weights have no point. */
static void
add_points(struct str *out, const struct loss_map *map, const struct panel_axis *axis, const struct loss_kind *kind)
{
    char move = 'M';
    str_text(out, "<path class=\"line\" d=\"");
    for (uint32_t c = kind->cell; c != 0; c = map->cells[c - 1].next) {
        const struct loss_cell *cell = &map->cells[c - 1];
        if (isfinite(sqnr_of(cell))) {
            str_format(out, "%c%.1f %.1f", move, x_of(axis, cell->layer), y_of(map, sqnr_of(cell)));
            move = 'L';
        }
    }
    str_text(out, move == 'M' ? "M0 0\"/>\n" : "\"/>\n");
    for (uint32_t c = kind->cell; c != 0; c = map->cells[c - 1].next) {
        const struct loss_cell *cell = &map->cells[c - 1];
        if (isfinite(sqnr_of(cell)))
            str_format(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"><title>layer %" PRIu64 ": %.2f dB, %s</title></circle>\n",
                x_of(axis, cell->layer), y_of(map, sqnr_of(cell)), cell->layer, sqnr_of(cell), loss_charts_type_of(cell));
    }
}

/* Appends "16.31 to 24.05 dB", the lowest and the highest SQNR of a kind. */
static void
add_range(struct str *out, const struct loss_map *map, const struct loss_kind *kind)
{
    double low = INFINITY, high = -INFINITY;
    for (uint32_t c = kind->cell; c != 0; c = map->cells[c - 1].next) {
        low = fmin(low, sqnr_of(&map->cells[c - 1]));
        high = fmax(high, sqnr_of(&map->cells[c - 1]));
    }
    html_sqnr(out, low);
    if (isfinite(low) && !isfinite(high))
        str_text(out, " dB");
    if (low < high) {
        str_text(out, " to ");
        html_sqnr(out, high);
    }
    str_text(out, isfinite(high) ? " dB" : "");
}

static void
add_panel(struct str *out, const struct loss_map *map, const struct panel_axis *axis, uint32_t k)
{
    const struct loss_kind *kind = &map->kinds[k];
    str_text(out, "<figure><figcaption><b>");
    add_label(out, map, k, true);
    str_text(out, "</b> <span>");
    add_range(out, map, kind);
    str_format(out, "</span></figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"SQNR of ", PANEL_WIDTH,
        PANEL_HEIGHT);
    add_label(out, map, k, false);
    str_text(out, " by layer\">\n");
    add_axes(out, map, axis);
    add_points(out, map, axis, kind);
    str_text(out, "</svg></figure>\n");
}

/* Returns true if a kind has weights with errors in several layers. */
static bool
has_panel(const struct loss_map *map, uint32_t k)
{
    size_t n = 0;
    for (uint32_t c = map->kinds[k].cell; c != 0; c = map->cells[c - 1].next)
        n += isfinite(sqnr_of(&map->cells[c - 1]));
    return n > 1;
}

/* Appends the charts of a stack, with its name if there are several stacks. Returns false if no kind has one. */
static bool
add_stack_panels(struct page *page, const struct loss_map *map, const struct loss_stack *stack, bool named)
{
    struct str *out = &page->text;
    const struct panel_axis axis = { map->cells[stack->cell].layer, map->cells[stack->cell + stack->ncells - 1].layer };
    bool any = false;
    for (uint32_t k = stack->kind + 1; k != 0; k = map->kinds[k - 1].next) {
        if (!has_panel(map, k - 1))
            continue;
        if (!any && named)
            add_stack_name(out, map, stack);
        str_text(out, any ? "" : "<div class=\"panels\">\n");
        any = true;
        add_panel(out, map, &axis, k - 1);
        page_turn(page);
    }
    str_text(out, any ? "</div>\n" : "");
    return any;
}

void
loss_charts_add_panels(struct page *page, const struct loss_map *map)
{
    struct str *out = &page->text;
    size_t grids = count_grids(map);
    if (grids == 0)
        return;
    str_text(out, "<section>\n<h2>SQNR by layer, in dB</h2>\n");
    bool any = false;
    for (size_t i = 0; i < map->nstacks; i++)
        if (!map->stacks[i].apart)
            any = add_stack_panels(page, map, &map->stacks[i], grids > 1) || any;
    str_text(out, any ? "</section>\n" : "<p>No kind of weight has errors in several layers.</p>\n</section>\n");
}
