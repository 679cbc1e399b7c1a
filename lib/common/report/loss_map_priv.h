/* What the files of loss_map share. */
#ifndef REPORT_LOSS_MAP_PRIV_H
#define REPORT_LOSS_MAP_PRIV_H

#include "report/loss_map.h"

/* Sets places, kinds and stacks, except for the cells of a stack. */
bool loss_map_add_kinds(struct loss_map *map, struct err *err);

#endif
