/* panel: input data that all workers share for a piece: its WHOLE parts, and a band of output rows of its STRIP parts, that
 * is, some MiB of columns of the stored matrix. Strips are read with long reads and transposed, so that the units of an
 * output row are contiguous. Each panel is read once, by all workers that need it. */
#ifndef PIPELINE_PANEL_H
#define PIPELINE_PANEL_H

#include "pipeline/pipeline.h"

enum {
    PANELS_BYTES = 8 << 20,             /* total size of the panels, unless a single smallest band is larger */
    PANEL_STAGING = 256 << 10           /* size of the read buffer a caller provides */
};

struct panel {
    uint64_t first, end;                /* range of elements of the piece that it covers */
    uint64_t row, cols;                 /* first output row, counted over all matrices; elements per row */
    struct part_bytes part[SCHEME_PARTS];
    uint32_t unit_rows[SCHEME_PARTS];   /* for STRIP parts; 0: the part is WHOLE */
};

struct panels;

/* Creates the panels of a job. Only the input needed for the job's byte range is read. The pipeline is borrowed and must
 * have its sink. Pieces are identified by address, so every piece passed to panels_take() must live until panels_free().
 * Returns NULL on failure. */
struct panels *panels_new(const struct pipeline *p, struct err *err);
void panels_free(struct panels *panels);                /* accepts NULL */

/* Returns true if a piece needs panels. */
bool panel_is_needed(const struct piece *piece);

/* Returns the loaded panel that contains an element of a piece, or NULL on failure. Valid until panels_release(); a thread
 * must release one panel before it takes another. `staging` is a buffer of PANEL_STAGING bytes for the call. */
const struct panel *panels_take(struct panels *panels, const struct piece *piece, uint64_t element, uint8_t *staging,
    struct err *err);
void panels_release(struct panels *panels, const struct panel *panel);

/* Returns the bytes of part p for decode() of a run that starts at this element. */
struct part_bytes panel_part(const struct panel *panel, unsigned p, uint64_t element);

#endif
