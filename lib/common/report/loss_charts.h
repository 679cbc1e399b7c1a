/* loss_charts: the drawings of the page about quantization error: heat maps and small charts. */
#ifndef REPORT_LOSS_CHARTS_H
#define REPORT_LOSS_CHARTS_H

#include "report/loss_map.h"
#include "report/page.h"

/* Appends a heat map of layers and kinds for each stack, with the legend, then the weights that are apart. */
void loss_charts_add_maps(struct page *page, const struct loss_map *map);

/* Appends a chart of the SQNR over the layers for each kind that is in several, all with the same axes. */
void loss_charts_add_panels(struct page *page, const struct loss_map *map);

#endif
