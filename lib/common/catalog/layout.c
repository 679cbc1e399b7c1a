#include "catalog/layout.h"

#include <stddef.h>

#include "base/num.h"

void
layout_make(struct layout *layout, const uint64_t *size, const uint64_t *stride, uint32_t rank)
{
    uint32_t n = 0;
    layout->rank = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (size[i] == 0)
            return;
    for (uint32_t i = 0; i < rank; i++) {
        const struct layout_dim dim = { size[i], stride[i] };
        struct layout_dim *outer = NULL;
        if (n != 0)
            outer = &layout->dim[n - 1];
        uint64_t run;
        if (dim.n == 1)
            continue;
        /* This dimension fills exactly one step of the outer one, so merge them. */
        if (outer && num_mul(&run, dim.n, dim.stride) && run == outer->stride)
            *outer = (struct layout_dim){ outer->n * dim.n, dim.stride };
        else
            layout->dim[n++] = dim;
    }
    layout->rank = n;
}

bool
layout_is_plain(const struct layout *layout)
{
    return layout->rank == 0 || (layout->rank == 1 && layout->dim[0].stride == 1);
}

bool
layout_extent(const struct layout *layout, uint64_t *elements)
{
    *elements = 1;
    for (uint32_t i = 0; i < layout->rank; i++) {
        uint64_t span;
        if (!num_mul(&span, layout->dim[i].n - 1, layout->dim[i].stride) || !num_add(elements, *elements, span))
            return false;
    }
    return true;
}

uint64_t
layout_at(const struct layout *layout, uint64_t i)
{
    uint64_t at = 0;
    for (uint32_t d = layout->rank; d-- > 0; i /= layout->dim[d].n)
        at += i % layout->dim[d].n * layout->dim[d].stride;
    return at;
}

void
layout_bounds(const struct layout *layout, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to)
{
    uint64_t inner = 1, last = first + count - 1;
    bool apart = false;                 /* first and last element differ in the index of an outer dimension */
    for (uint32_t d = 0; d < layout->rank; d++)
        inner *= layout->dim[d].n;
    *from = *to = 0;
    for (uint32_t d = 0; d < layout->rank; d++) {
        inner /= layout->dim[d].n;
        uint64_t a = 0;
        if (!apart)
            a = first / inner % layout->dim[d].n;
        uint64_t b;
        if (apart)
            b = layout->dim[d].n - 1;
        else
            b = last / inner % layout->dim[d].n;
        *from += a * layout->dim[d].stride;
        *to += b * layout->dim[d].stride;
        apart = apart || a != b;
    }
    ++*to;
}

size_t
layout_size(const struct layout *layout)
{
    return offsetof(struct layout, dim) + layout->rank * sizeof *layout->dim;
}
