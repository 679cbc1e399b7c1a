/* sha256: SHA-256 by libcrypto, which is loaded on first use. Its functions SHA256_Init() and the like are
 * called directly: they read no configuration, cannot fail, and take 2 MiB of memory; EVP's functions take 4. SHA-1, by which git
 * names files, is computed by the same functions here. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

#include "base/err.h"

enum { SHA256_BYTES = 32, SHA256_HEX = 2 * SHA256_BYTES + 1, SHA1_BYTES = 20 };

/* libcrypto, while it is loaded. */
struct sha256_library {
    void *handle;                       /* NULL: not loaded */
    int (*init)(void *state);
    int (*update)(void *state, const void *p, size_t n);
    int (*final)(unsigned char *digest, void *state);
};

/* A digest that is being computed. Zeroed members are not a digest of no bytes: call sha256_begin(). */
struct sha256 {
    const struct sha256_library *library;       /* borrowed */
    _Alignas(16) unsigned char state[256];      /* SHA256_CTX: 112 bytes in libcrypto 1.1 and 3 */
};

/* Loads libcrypto. Fails with ERR_UNSUPPORTED if it cannot be loaded, with ERR_LIMIT if memory is exhausted. */
bool sha256_open(struct sha256_library *library, struct err *err);

/* The same for SHA-1: digests that begin with this library have SHA1_BYTES. */
bool sha1_open(struct sha256_library *library, struct err *err);

void sha256_close(struct sha256_library *library);                      /* accepts a zeroed one */

void sha256_begin(struct sha256 *s, const struct sha256_library *library);
void sha256_add(struct sha256 *s, const void *p, size_t n);
void sha256_end(struct sha256 *s, uint8_t digest[SHA256_BYTES]);

/* Writes a digest as hexadecimal digits in lower case. Returns buf. */
const char *sha256_hex(char buf[SHA256_HEX], const uint8_t digest[SHA256_BYTES]);

/* Reads 64 hexadecimal digits. Returns false for any other text. */
bool sha256_from_hex(uint8_t digest[SHA256_BYTES], const char *text, size_t n);

#endif
