/* exact_grid: amn-inspect --grid: finds the low-bit grid of the values of unquantized matrices, such as those of a dequantized copy. */
#ifndef COMMAND_EXACT_GRID_H
#define COMMAND_EXACT_GRID_H

#include "cli/cli.h"
#include "command/operands.h"
#include "kernel/kernels.h"

/* Writes a line for each matrix of F32, F16 or BF16, as JSON or as text:
 *
 *     {"report":1,"name":"a.weight","dtype":"BF16","level":"bf16","grid":"int4-group","group_size":32,"asymmetric":false}
 *
 * `grid` is the scheme of amn-forget --exact that holds the weight at this level in the fewest bits, or null. Reads all of these
 * tensors, and spools a pipe first. */
bool exact_grid(const struct operand *operand, const struct kernels *kernels, const struct cli *cli, struct err *err);

#endif
