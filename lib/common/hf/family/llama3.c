#include "hf/family/llama3.h"

#include <math.h>

#include "base/real.h"

float
llama3_factor(const struct llama3_rope *r, uint64_t i, uint64_t n)
{
    float p = real_pow((float)r->theta, (float)(2 * i) / (float)n);
    float f = 1.0f / p;
    float w = (1.0f / f) * (float)(2 * M_PI);
    if (w < (float)(r->length / r->high))
        return 1;
    if (w > (float)(r->length / r->low))
        return (float)r->factor;
    float s = ((1.0f / w) * (float)r->length - (float)r->low) / (float)(r->high - r->low);
    float t = (1.0f - s) / (float)r->factor + s;
    return 1.0f / t;
}
