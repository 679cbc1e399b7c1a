#include "base/hash.h"

#include <sys/random.h>
#include <unistd.h>

#include "base/bytes.h"

struct hash_state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t
rotate(uint64_t v, unsigned by)
{
    return v << by | v >> (64 - by);
}

static void
mix(struct hash_state *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 = rotate(s->v2, 32);
}

static void
take(struct hash_state *s, uint64_t word)
{
    s->v3 ^= word;
    mix(s);
    s->v0 ^= word;
}

struct hash_key
hash_new_key(void)
{
    struct hash_key key;
    if (getentropy(&key, sizeof key) != 0)
        key = (struct hash_key){ 0x0706050403020100, 0x0f0e0d0c0b0a0908 };     /* no random source: any key is correct */
    return key;
}

uint64_t
hash_bytes(struct hash_key key, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    struct hash_state s = {
        key.k0 ^ 0x736f6d6570736575, key.k1 ^ 0x646f72616e646f6d,
        key.k0 ^ 0x6c7967656e657261, key.k1 ^ 0x7465646279746573,
    };
    uint64_t last = (uint64_t)n << 56;
    for (; n >= 8; n -= 8, p += 8)
        take(&s, load_le64(p));
    for (size_t i = 0; i < n; i++)
        last |= (uint64_t)p[i] << 8 * i;
    take(&s, last);
    s.v2 ^= 0xff;
    mix(&s);
    mix(&s);
    mix(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
