/* convrot: the definition, a fast Hadamard transform of integers that computes the four sums of a digit at a time. */
#include "kernel/convrot.h"

#include "kernel/ref/put.h"

/* Transforms n sums in place, in groups no larger than a tile. */
static void
transform(int32_t *s, size_t n, size_t group)
{
    for (size_t step = 1; step < group && step < CONVROT_TILE; step *= 4)
        for (size_t i = 0; i < n; i++) {
            if (i / step % 4 != 0)
                continue;
            int32_t a = s[i], b = s[i + step], c = s[i + 2 * step], d = s[i + 3 * step];

            s[i] = a + b + c - d;
            s[i + step] = a + b - c + d;
            s[i + 2 * step] = a - b + c + d;
            s[i + 3 * step] = b + c + d - a;
        }
}

/* Computes the sums of a tile. A group of several tiles is folded first: H_g = H_tiles (x) H_tile, and the tile is one
 * column of the former. */
static void
sums(int32_t *s, const uint8_t *x, const struct convrot_tile *t, size_t group)
{
    size_t base = t->at / group * group, tiles = group / CONVROT_TILE;

    for (size_t i = 0; i < t->len; i++) {
        if (tiles < 2)
            s[i] = (int8_t)x[t->at + i];
        else
            s[i] = 0;
        for (size_t k = 0; tiles >= 2 && k < tiles; k++) {
            int8_t code = (int8_t)x[base + k * CONVROT_TILE + i];

            s[i] += convrot_is_minus(k, (t->at - base) / CONVROT_TILE) ? -code : code;
        }
    }
    transform(s, t->len, group);
}

static ALWAYS_INLINE void
row(void *restrict y, const bool bf16, const uint8_t *restrict x, size_t first, size_t n, size_t group, float scale,
    struct convrot_room *room)
{
    float shrink = convrot_shrink(group);
    struct convrot_tile t;
    const int32_t *s = room->sums;

    for (size_t at = first % group, done = 0; done < n; at += t.n, done += t.n) {
        t = convrot_tile(at, n - done, group);
        sums(room->sums, x, &t, group);
        for (size_t i = 0; i < t.n; i++) {
            int32_t sum = s[t.skip + i];
            float v = (float)sum * scale;

            put(y, done + i, (v + (sum == 0 ? 0.0f : -0.0f)) * shrink, bf16);
        }
    }
}

void
convrot_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group, float scale,
    struct convrot_room *room)
{
    row(y, false, x, first, n, group, scale, room);
}

void
convrot_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group, float scale,
    struct convrot_room *room)
{
    row(y, true, x, first, n, group, scale, room);
}
