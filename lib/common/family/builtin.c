/* The built-in families, in the texts that the Makefile compiles in from families/. */
#include "family/builtin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/nearest.h"

/* --- texts */

/* The memory of a decompression, so that it cannot fail: inflate takes 7 KiB, zlib-ng's 40 KiB. */
static _Alignas(64) unsigned char inflate_room[128 << 10];
static size_t inflate_used;

static void *
take_room(void *of, unsigned n, unsigned size)
{
    size_t need = ((size_t)n * size + 63) & ~(size_t)63;
    (void)of;
    if (need > sizeof inflate_room - inflate_used)
        return NULL;
    inflate_used += need;
    return inflate_room + inflate_used - need;
}

static void
leave_room(void *of, void *p)
{
    (void)of;
    (void)p;
}

static void
unpack_texts(enum family_kind kind)
{
    const struct family_text_stream *from = &family_text_streams[kind];
    z_stream z = { .zalloc = take_room, .zfree = leave_room,
        .next_in = (unsigned char *)from->gzip, .avail_in = (unsigned)from->gzip_n,
        .next_out = (unsigned char *)from->texts, .avail_out = (unsigned)from->n };
    const char *p = from->texts;
    inflate_used = 0;
    if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK || inflate(&z, Z_FINISH) != Z_STREAM_END || z.avail_out != 0)
        abort();        /* the program file is damaged */
    inflateEnd(&z);
    for (size_t i = 0; i < family_text_files_n; i++)
        if (family_text_files[i].kind == kind) {
            family_text_files[i].text = p;
            p += family_text_files[i].n + 1;
        }
}

/* Returns the file with its text. */
static const struct family_text_file *
unpacked(const struct family_text_file *file)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!file->text)
        unpack_texts(file->kind);
    pthread_mutex_unlock(&lock);
    return file;
}

const struct family_text_file *
family_builtin_at(size_t i)
{
    if (i >= family_text_files_n)
        return NULL;
    return unpacked(&family_text_files[i]);
}

static int
compare_texts(const void *name, const void *text)
{
    return strcmp(name, ((const struct family_text_file *)text)->name);
}

static const struct family_text_file *
find_file(const char *name)
{
    return bsearch(name, family_text_files, family_text_files_n, sizeof *family_text_files, compare_texts);
}

const struct family_text_file *
family_builtin_text(const char *name)
{
    const struct family_text_file *found = find_file(name);
    if (!found)
        return NULL;
    return unpacked(found);
}

/* --- families */

/* Provides the built-in fragments. */
static bool
include_builtin(void *of, const char *name, const char **text, size_t *n, struct err *err)
{
    const struct family_text_file *found = family_builtin_text(name);
    (void)of;
    (void)err;
    if (found) {
        *text = found->text;
        *n = found->n;
    } else {
        *text = NULL;
        *n = 0;
    }
    return true;
}

/* Returns the first text from i on that is not a fragment. */
static size_t
next_family(size_t i)
{
    while (i < family_text_files_n && family_text_files[i].name[0] == '_')
        i++;
    return i;
}

const char *
family_name_at(size_t i)
{
    size_t at = next_family(0);
    while (at < family_text_files_n && i-- != 0)
        at = next_family(at + 1);
    if (at < family_text_files_n)
        return family_text_files[at].name;
    return NULL;
}

bool
family_builtin(struct model_family **family, const char *name, struct err *err)
{
    const struct family_text_file *text = NULL;
    if (name[0] != '_')
        text = family_builtin_text(name);
    char file[64];
    *family = NULL;
    if (!text)
        return err_set(err, ERR_BUG, "no built-in family of this name");
    snprintf(file, sizeof file, "%s.family", text->name);
    return family_read(family, file, text->text, text->n, include_builtin, NULL, err);
}

/* Returns the end of the word at p, which ends at a blank or at the end of the line. */
static size_t
word_length(const char *p)
{
    return strcspn(p, " \t\r\n");
}

bool
family_declares(const char *text, const char *statement, const char *word, size_t n)
{
    size_t length = strlen(statement);
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        if (strncmp(p, statement, length) != 0 || (p[length] != ' ' && p[length] != '\t'))
            continue;
        for (p += length; p += strspn(p, " \t"), *p != '\n' && *p != '\0' && *p != '#'; p += word_length(p))
            if (word_length(p) == n && memcmp(p, word, n) == 0)
                return true;
    }
    return false;
}

enum family_kind
family_builtin_kind(const char *name)
{
    const struct family_text_file *found = find_file(name);
    if (found)
        return found->kind;
    return FAMILY_LANGUAGE;
}

bool
family_classes(struct names *classes, struct err *err)
{
    static const char *const statements[] = { "\nclass", "\nouter" };
    for (size_t i = next_family(0); i < family_text_files_n; i = next_family(i + 1))
        for (size_t k = 0; family_text_files[i].kind == FAMILY_LANGUAGE && k < sizeof statements / sizeof *statements; k++) {
            const char *p = strstr(family_builtin_at(i)->text, statements[k]);
            for (p = p ? p + 6 : ""; p += strspn(p, " \t"), *p != '\n' && *p != '\0' && *p != '#'; p += word_length(p))
                if (!names_add(classes, p, word_length(p), err))
                    return false;
        }
    return true;
}

bool
family_nearest_classes(struct str *hint, const char *word, struct err *err)
{
    struct names known = { 0 };
    bool ok = family_classes(&known, err);
    if (ok)
        nearest_hint(hint, "", word, (const char *const *)known.name, known.n);
    names_clear(&known);
    return ok;
}

bool
family_has_class(const char *text, const char *class, size_t n)
{
    return family_declares(text, "class", class, n) || family_declares(text, "outer", class, n);
}

bool
family_is_outer(const char *class, size_t n)
{
    for (size_t i = next_family(0); i < family_text_files_n; i = next_family(i + 1))
        if (family_text_files[i].kind == FAMILY_LANGUAGE && family_declares(family_builtin_at(i)->text, "outer", class, n))
            return true;
    return false;
}

bool
family_has_tower(const char *class, size_t n)
{
    for (size_t i = next_family(0); i < family_text_files_n; i = next_family(i + 1))
        if (family_text_files[i].kind == FAMILY_TOWER && family_has_class(family_builtin_at(i)->text, class, n))
            return true;
    return false;
}

bool
family_of_class(struct model_family **family, enum family_kind kind, const char *class, size_t n, struct err *err)
{
    *family = NULL;
    for (size_t i = next_family(0); i < family_text_files_n; i = next_family(i + 1))
        if (family_text_files[i].kind == kind && family_has_class(family_builtin_at(i)->text, class, n))
            return family_builtin(family, family_text_files[i].name, err);
    return true;
}
