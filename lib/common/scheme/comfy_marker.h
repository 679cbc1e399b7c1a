/* comfy_marker: what a ComfyUI file says about its quantized weights: a tensor P.comfy_quant with the text of a JSON
 * object, or a layer in the metadata key _quantization_metadata. A marker is no hint: it defines the scheme. */
#ifndef SCHEME_COMFY_MARKER_H
#define SCHEME_COMFY_MARKER_H

#include <jansson.h>

#include "scheme/claims.h"

/* The markers of a model. */
struct comfy_markers;

/* Find all markers: of the metadata the layers that have a weight here, of the tensors whether there are any. The
 * metadata can be as large as a header, so no tree is made of them. Not JSON, or `layers` missing or no object:
 * ERR_MALFORMED; layers without a weight: a warning. The catalog outlives *markers. */
bool comfy_markers_new(struct comfy_markers **markers, struct claims *c, struct err *err);
void comfy_markers_free(struct comfy_markers *markers);             /* takes NULL */

/* Whether there is any marker, and whether a tensor scaled_fp8 marks the old form (schemes.md 10A.2). */
bool comfy_markers_any(const struct comfy_markers *markers);
bool comfy_markers_old(const struct comfy_markers *markers);

/* Whether P.weight has a marker. */
bool comfy_marker_is_there(const struct claims *c, const struct tensor *codes);

/* What the marker of one weight says. */
struct comfy_marker {
    json_t *root;               /* owned; comfy_marker_clear */
    const char *format;         /* borrowed from root, or static */
    const struct tensor *tensor;        /* P.comfy_quant, or NULL */
    bool unread;                /* there is only the tensor, and only headers may be read */
};

/* Read it. A marker that is no JSON object, without a usable format, or a tensor and a layer that name two formats:
 * ERR_MALFORMED; more than 64 KiB: ERR_LIMIT. */
bool comfy_marker_read(struct comfy_marker *m, const struct claims *c, const struct tensor *codes, struct err *err);
void comfy_marker_clear(struct comfy_marker *m);

/* A parameter, from the top level or else from `params`; NULL when absent or null. */
const json_t *comfy_marker_get(const struct comfy_marker *m, const char *key);

/* ERR_MALFORMED: "tensor P.weight: KEY of its ComfyUI marker is FOUND, expected EXPECTED". */
bool comfy_marker_wrong(const struct comfy_marker *m, const struct tensor *codes, const char *key,
    const char *expected, struct err *err);

#endif
