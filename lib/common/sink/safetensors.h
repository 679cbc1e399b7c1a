/* safetensors: the header of an output, byte for byte as the reference writer makes it. The data follow it
 * without a gap, each tensor at its extent. */
#ifndef SINK_SAFETENSORS_H
#define SINK_SAFETENSORS_H

#include "base/err.h"
#include "base/str.h"
#include "catalog/catalog.h"

/* Append the header to `out`: its length in 8 bytes, the JSON, spaces up to a multiple of 8.
 *   output   in the order of its data; extents count from the first data byte and leave no hole;
 *            metadata are strings. "format" is written as "pt" whatever its value, and added when missing.
 * ERR_UNSUPPORTED: a name that the format cannot hold (not UTF-8, or __metadata__).
 * ERR_LIMIT: over 100 000 000 bytes, which no reader takes. The caller clears `out` in any case. */
bool safetensors_header(struct str *out, const struct catalog *output, struct err *err);

#endif
