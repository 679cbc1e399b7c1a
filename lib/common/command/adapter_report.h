/* adapter_report: what amn-inspect and amn-parse print about an adapter. */
#ifndef COMMAND_ADAPTER_REPORT_H
#define COMMAND_ADAPTER_REPORT_H

#include <stdio.h>

#include "command/operands.h"

/* Write one JSON object, or text with a label in front of each line. */
bool adapter_inspect_json(FILE *out, const struct operand *operand, struct err *err);
bool adapter_inspect_text(FILE *out, const struct operand *operand, struct err *err);

/* Write one JSON object for each tensor, or a table. */
bool adapter_parse_json(FILE *out, const struct operand *operand, struct err *err);
bool adapter_parse_text(FILE *out, const struct operand *operand, struct err *err);

#endif
