/* grids: amn-inspect --grid: lists the low-bit grids of unquantized matrices. */
#ifndef COMMAND_GRIDS_H
#define COMMAND_GRIDS_H

#include "cli/cli.h"
#include "command/operands.h"
#include "kernel/kernels.h"

/* Writes a line for each matrix of F32, F16 or BF16, as JSON or as text:
 *
 *     {"report":1,"name":"a.weight","dtype":"BF16","level":"bf16","grid":"int4-group","group_size":32,"asymmetric":false}
 *
 * `grid` is the scheme of amn-forget --exact that holds the weight at this level in the fewest bits, or null. */
bool grids_print(const struct operand *operand, const struct kernels *kernels, const struct cli *cli, struct err *err);

#endif
