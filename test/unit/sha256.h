/* sha256: digests of kernel outputs, for tests. Source: FIPS 180-4, section 6.2. */
#ifndef SHA256_H
#define SHA256_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdio.h>

static inline uint32_t
sha256_rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static inline void
sha256_block(uint32_t state[8], const uint8_t *p)
{
    static const uint32_t round_constant[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
    };
    uint32_t w[64], v[8];

    for (int t = 0; t < 64; t++) {
        if (t < 16) {
            w[t] = load_be32(p + 4 * t);
            continue;
        }
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = (sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ b >> 10) + w[t - 7]
            + (sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ a >> 3) + w[t - 16];
    }
    memcpy(v, state, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (sha256_rotate(e, 6) ^ sha256_rotate(e, 11) ^ sha256_rotate(e, 25))
            + ((e & v[5]) ^ (~e & v[6])) + round_constant[t] + w[t];
        uint32_t t2 = (sha256_rotate(a, 2) ^ sha256_rotate(a, 13) ^ sha256_rotate(a, 22))
            + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

/* Writes the digest of n bytes as 64 hexadecimal digits. */
static inline void
sha256_hex(char hex[65], const void *bytes, size_t n)
{
    uint32_t state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    const uint8_t *p = bytes;
    uint8_t tail[128] = { 0 };
    size_t left = n % 64, tail_size = left < 56 ? 64 : 128;

    for (size_t i = 0; i < n / 64; i++, p += 64)
        sha256_block(state, p);
    memcpy(tail, p, left);
    tail[left] = 0x80;
    for (int i = 0; i < 8; i++)
        tail[tail_size - 1 - (size_t)i] = (uint8_t)((uint64_t)n * 8 >> 8 * i);
    for (size_t i = 0; i < tail_size; i += 64)
        sha256_block(state, tail + i);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)state[i]);
}

/* Returns true if the digest starts with these hexadecimal digits. */
static inline bool
sha256_starts(const char *hex, const void *bytes, size_t n)
{
    char digest[65];

    sha256_hex(digest, bytes, n);
    return strncmp(hex, digest, strlen(hex)) == 0;
}

#endif
