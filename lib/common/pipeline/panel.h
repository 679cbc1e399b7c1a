/* panel: what workers share of the piece at hand: the parts that are needed WHOLE, and of the STRIP parts a band of output
 * rows, some MiB of columns of the stored matrix. These are read with long reads and turned as they come, so that the
 * units of an output row lie one behind the other. A panel is read once, by all workers that wait for it.
 */
#ifndef PIPELINE_PANEL_H
#define PIPELINE_PANEL_H

#include "pipeline/pipeline.h"

enum {
    PANELS_BYTES = 8 << 20,             /* of all panels, where the least band takes no more */
    PANEL_STAGING = 256 << 10           /* bytes a caller lends for reading */
};

struct panel {
    uint64_t first, end;                /* elements of the piece that it is good for */
    uint64_t row, cols;                 /* first output row, counted over all matrices; elements a row */
    struct part_bytes part[SCHEME_PARTS];
    uint32_t unit_rows[SCHEME_PARTS];   /* of STRIP parts; 0: the part is WHOLE */
};

struct panels;

/* The panels of a job: no more is read than the bytes need that it makes. The pipeline is borrowed, and its sink chosen.
 * A piece is recognised by its address: every piece given to panels_take() must live until panels_free(). NULL on
 * failure. */
struct panels *panels_new(const struct pipeline *p, struct err *err);
void panels_free(struct panels *panels);                /* takes NULL */

/* Whether a piece is made of panels at all. */
bool panel_is_needed(const struct piece *piece);

/* The panel with this element of a piece, read by then; NULL on failure. Good until panels_release(); who holds one takes
 * no other. `staging`: PANEL_STAGING bytes for the call. */
const struct panel *panels_take(struct panels *panels, const struct piece *piece, uint64_t element, uint8_t *staging,
    struct err *err);
void panels_release(struct panels *panels, const struct panel *panel);

/* What decode() gets of part p for a run that begins with this element. */
struct part_bytes panel_part(const struct panel *panel, unsigned p, uint64_t element);

#endif
