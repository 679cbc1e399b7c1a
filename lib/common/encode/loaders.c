#include "encode/loaders.h"

#include <string.h>

static const struct loader_rule {
    const char *scheme;
    bool always, asymmetric;    /* whatever it is like; where it has zero points */
    uint32_t group;             /* or where a group has more elements; 0: no matter */
    const char *why;
} rules[] = {
    { "modelopt-mxfp4", .always = true, .why = "vLLM 0.32 refuses ModelOpt's MXFP4: --scheme mxfp4 is read" },
    { "int8-channel", .asymmetric = true, .why = "vLLM 0.32 refuses INT8 with zero points: it reads --symmetric" },
    { "gptq", .asymmetric = true, .why = "vLLM 0.32 refuses GPTQ with zero points: it reads --symmetric" },
    { "gptq-8bit", .asymmetric = true, .why = "vLLM 0.32 refuses GPTQ with zero points: it reads --symmetric" },
    { "gptq", .group = 128, .why = "vLLM 0.32 refuses groups of more than 128" },
    { "gptq-8bit", .group = 128, .why = "vLLM 0.32 refuses groups of more than 128" },
    { "awq", .group = 128, .why = "vLLM 0.32 refuses groups of more than 128" },
    { "int4-group", .group = 128, .why = "vLLM 0.32 refuses groups of more than 128" },
};

const char *
loaders_refusal(const struct encoding *e, bool asymmetric, uint32_t group)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct loader_rule *r = &rules[i];
        if (strcmp(r->scheme, e->encoder->name) == 0
            && (r->always || (r->asymmetric && asymmetric) || (r->group != 0 && group > r->group)))
            return r->why;
    }
    return NULL;
}
