#include "base/sha256.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LIBRARY_ROOM = 4 << 20 };        /* loading it takes 2 MiB */

#ifdef LIBCRYPTO_LINKED                 /* a static program, which has no loader */

int SHA256_Init(void *);
int SHA256_Update(void *, const void *, size_t);
int SHA256_Final(uint8_t *, void *);

int SHA1_Init(void *);
int SHA1_Update(void *, const void *, size_t);
int SHA1_Final(uint8_t *, void *);

static bool
sha256_load(struct sha256_library *library, bool sha1, struct err *err)
{
    (void)err;
    *library = (struct sha256_library){ .init = SHA256_Init, .update = SHA256_Update, .final = SHA256_Final };
    if (sha1)
        *library = (struct sha256_library){ .init = SHA1_Init, .update = SHA1_Update, .final = SHA1_Final };
    return true;
}

#else

/* The versions whose SHA256_CTX fits into struct sha256, newest first. */
static const char *const file_names[] = {
#ifdef __APPLE__
    "libcrypto.3.dylib",
#else
    "libcrypto.so.3", "libcrypto.so.1.1",
#endif
};

/* Loads a function. Returns false if the library lacks it. */
static bool
sha256_find(void *function, const struct sha256_library *library, const char *name)
{
    void *found = dlsym(library->handle, name);
    memcpy(function, &found, sizeof found);
    return found;
}

/* The loader reports the reason only as text. errno was set to 0 before, and malloc() sets it to ENOMEM. */
static bool
sha256_failed(struct err *err)
{
    int sys = errno;
    const char *why = dlerror();
    if (sys == ENOMEM)
        return err_set(err, ERR_LIMIT, "out of memory while loading libcrypto");
    return err_set(err, ERR_UNSUPPORTED, "SHA-256 needs libcrypto, which cannot be loaded (%s); install it "
        "(Debian: apt-get install libssl3)", str_or(why, file_names[0]));
}

static bool
sha256_load(struct sha256_library *library, bool sha1, struct err *err)
{
    static const char *const of_sha256[] = { "SHA256_Init", "SHA256_Update", "SHA256_Final" };
    static const char *const of_sha1[] = { "SHA1_Init", "SHA1_Update", "SHA1_Final" };
    const char *const *names = sha1 ? of_sha1 : of_sha256;
    errno = 0;
    for (size_t i = 0; !library->handle && i < sizeof file_names / sizeof *file_names; i++)
        library->handle = dlopen(file_names[i], RTLD_LAZY | RTLD_LOCAL);
    return (library->handle && sha256_find(&library->init, library, names[0]) && sha256_find(&library->update, library, names[1])
        && sha256_find(&library->final, library, names[2])) || sha256_failed(err);
}

#endif

static bool
open_library(struct sha256_library *library, bool sha1, struct err *err)
{
    void *volatile room = malloc(LIBRARY_ROOM);         /* volatile keeps the pair from being optimised away */
    free(room);
    *library = (struct sha256_library){ 0 };
    if (room)
        return sha256_load(library, sha1, err);
    return err_memory(err, LIBRARY_ROOM);
}

bool
sha256_open(struct sha256_library *library, struct err *err)
{
    return open_library(library, false, err);
}

bool
sha1_open(struct sha256_library *library, struct err *err)
{
    return open_library(library, true, err);
}

void
sha256_close(struct sha256_library *library)
{
    if (library->handle)
        dlclose(library->handle);
    library->handle = NULL;
}

void
sha256_begin(struct sha256 *s, const struct sha256_library *library)
{
    s->library = library;
    library->init(s->state);
}

void
sha256_add(struct sha256 *s, const void *p, size_t n)
{
    s->library->update(s->state, p, n);
}

void
sha256_end(struct sha256 *s, uint8_t digest[SHA256_BYTES])
{
    s->library->final(digest, s->state);
}

static const char digits[] = "0123456789abcdef";

const char *
sha256_hex(char buf[SHA256_HEX], const uint8_t digest[SHA256_BYTES])
{
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        buf[2 * i] = digits[digest[i] >> 4];
        buf[2 * i + 1] = digits[digest[i] & 15];
    }
    buf[SHA256_HEX - 1] = '\0';
    return buf;
}

bool
sha256_from_hex(uint8_t digest[SHA256_BYTES], const char *text, size_t n)
{
    if (n != SHA256_HEX - 1)
        return false;
    for (size_t i = 0; i < n; i++) {
        char lower = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] + ('a' - 'A')) : text[i];
        const char *at = NULL;
        if (lower != '\0')
            at = strchr(digits, lower);
        if (!at)
            return false;
        digest[i / 2] = (uint8_t)(digest[i / 2] << 4 | (at - digits));
    }
    return true;
}
