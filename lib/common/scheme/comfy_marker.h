/* comfy_marker: what a ComfyUI file declares about its quantized weights, in a tensor P.comfy_quant that holds a JSON object
 * as text, or in a layer of the metadata key _quantization_metadata. A marker is not a hint: it defines the scheme. */
#ifndef SCHEME_COMFY_MARKER_H
#define SCHEME_COMFY_MARKER_H

#include <jansson.h>

#include "scheme/claims.h"

/* The markers of a model. */
struct comfy_markers;

/* Finds all markers: the layers in the metadata that have a weight in this model, and whether any marker tensors exist. The
 * metadata can be as large as a header, so it is not parsed into a tree. Fails with ERR_MALFORMED if it is not JSON, or if
 * `layers` is missing or not an object. Layers without a weight are a warning. The catalog must outlive *markers. */
bool comfy_markers_new(struct comfy_markers **markers, struct claims *c, struct err *err);
void comfy_markers_free(struct comfy_markers *markers);             /* takes NULL */

/* comfy_markers_any returns true if there is any marker; comfy_markers_old, if a tensor scaled_fp8 marks the old form. */
bool comfy_markers_any(const struct comfy_markers *markers);
bool comfy_markers_old(const struct comfy_markers *markers);

/* Returns true if P.weight has a marker. */
bool comfy_marker_is_there(const struct claims *c, const struct tensor *codes);

/* The marker of one weight. */
struct comfy_marker {
    json_t *root;               /* owned; comfy_marker_clear frees it */
    const char *format;         /* borrowed from root, or static */
    const struct tensor *tensor;        /* P.comfy_quant, or NULL */
    bool unread;                /* only the marker tensor exists, and only headers may be read */
};

/* Reads the marker of a weight. Fails with ERR_MALFORMED if it is not a JSON object, has no usable format, or if tensor and
 * layer name different formats; with ERR_LIMIT if it is larger than 64 KiB. */
bool comfy_marker_read(struct comfy_marker *m, const struct claims *c, const struct tensor *codes, struct err *err);
void comfy_marker_clear(struct comfy_marker *m);

/* Returns a parameter from the top level, or else from `params`. NULL if it is absent or null. */
const json_t *comfy_marker_get(const struct comfy_marker *m, const char *key);

/* Sets ERR_MALFORMED: "tensor P.weight: KEY in its ComfyUI marker is FOUND, expected EXPECTED". Returns false. */
bool comfy_marker_wrong(const struct comfy_marker *m, const struct tensor *codes, const char *key,
    const char *expected, struct err *err);

#endif
