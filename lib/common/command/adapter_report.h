/* adapter_report: what amn-inspect and amn-parse print about an adapter. */
#ifndef COMMAND_ADAPTER_REPORT_H
#define COMMAND_ADAPTER_REPORT_H

#include "command/operands.h"

/* Write one JSON object, or text with a label in front of each line. */
void adapter_inspect_json(const struct operand *operand);
void adapter_inspect_text(const struct operand *operand);

/* Write one JSON object for each tensor, or a table. */
void adapter_parse_json(const struct operand *operand);
void adapter_parse_text(const struct operand *operand);

#endif
