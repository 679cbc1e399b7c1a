/* plain_config: config.json of a model that is no longer quantized, or now is. */
#ifndef WRITER_PLAIN_CONFIG_H
#define WRITER_PLAIN_CONFIG_H

#include "base/err.h"
#include "base/str.h"

/* Append text[0..n) without the members quantization_config, quantization and compression_config, at top level and in the
 * objects below it (text_config, language_config ...), however deep. All other bytes stay as they are. What is not one
 * JSON object is ERR_MALFORMED. */
bool plain_config_text(struct str *out, const char *text, size_t n, struct err *err);

/* Put a member `name`, a JSON object, first into such a text. */
bool quantized_config_text(struct str *text, const char *name, const struct str *quantization, struct err *err);

#endif
