/* comfy: ComfyUI's weights: what a marker names must be there, with the dtypes and shapes of its format. FP8 of one
 * scale is then the FP8 scheme's; the other formats are recognised, not decoded. */
#ifndef SCHEME_COMFY_H
#define SCHEME_COMFY_H

#include "scheme/scheme.h"

extern const struct scheme scheme_comfy;

#endif
