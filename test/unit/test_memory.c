/* Out of memory at every allocation in turn: a report is complete, or it fails and its output is a prefix of the complete
 * one. If jansson runs out of memory, the process exits. The linker redirects the library's allocations to the functions
 * below (the Makefile: --wrap). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/tree.h"
#include "check.h"
#include "container/container.h"
#include "report/inspect.h"
#include "report/parse.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static long left = -1;          /* allocations until the one that fails; -1: none fails */
static bool failed;

static bool
fails(void)
{
    bool now = left == 0;
    failed |= now;
    left -= left >= 0;
    return now;
}

void *
__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

static uint8_t file[64 << 10];
static size_t nfile;

static void
put(uint64_t v, size_t size)
{
    for (size_t i = 0; i < size; i++)
        file[nfile++] = (uint8_t)(v >> 8 * i);
}

static void
put_text(const char *text, size_t n)
{
    put(n, 8);
    memcpy(file + nfile, text, n);
    nfile += n;
}

/* A GGUF file with long metadata, odd names, an array, and tensors in the wrong order, which produce notes. */
static void
make_file(void)
{
    static char large[20000];
    memset(large, 'x', sizeof large);
    memcpy(file, "GGUF", 4);
    nfile = 4;
    put(3, 4);
    put(2, 8);
    put(4, 8);
    put_text("general.architecture", 20);
    put(8, 4);
    put_text("llama\x1b[2K", 9);
    put_text("general.name", 12);
    put(8, 4);
    put_text(large, sizeof large);
    put_text("llama.context_length", 20);
    put(4, 4);
    put(4096, 4);
    put_text("Odd key", 7);
    put(9, 4);
    put(8, 4);
    put(1, 8);
    put_text("a", 1);
    for (uint64_t i = 0; i < 2; i++) {
        put_text(i ? "\xe2\x80\x8b" "b" : "a", i ? 4 : 1);
        put(1, 4);
        put(32, 8);
        put(2, 4);          /* Q4_0 */
        put(i ? 0 : 32, 8);
    }
    nfile = (nfile + 31) / 32 * 32 + 64;
}

enum { REPORTS = 4, TEXT = 64 << 10 };

/* Writes one report on the file to text[0..*n). */
static bool
report(int which, const char *path, char text[TEXT], size_t *n, struct err *err)
{
    struct source *src = NULL;
    struct roles *roles = NULL;
    struct page page;
    page_init(&page, NULL);
    const struct container_options how = { .limits = &limits_default };
    err_init(err);
    struct catalog *c = catalog_new(&limits_default, err);
    bool ok = c && source_open(&src, path, false, NULL, err) && container_gguf.read(c, src, 0, &how, err)
        && catalog_seal(c, err) && roles_assign(&roles, c, NULL, NULL, err);
    const struct inspect in = { .file = "f", .nfiles = 1, .catalog = c, .roles = roles, .metadata = true };
    const char *files[] = { "f" };
    const struct parse list = { .catalog = c, .roles = roles, .files = files, .nfiles = 1 };
    if (which < 2)
        ok = ok && (which == 0 ? inspect_json : inspect_text)(&page, &in, err);
    else if (which == 2 && ok)
        parse_json(&page, &list);
    else
        ok = ok && parse_text(&page, &list, err);
    ok = ok && (!page.text.failed || err_memory(err, page.text.room));
    *n = page.text.len;
    memcpy(text, page.text.p ? page.text.p : "", *n);
    str_clear(&page.text);
    roles_free(roles);
    catalog_free(c);
    source_close(src);
    left = -1;
    return ok;
}

static void
test_report(int which, const char *path)
{
    static char whole[TEXT], part[TEXT];
    size_t nwhole, npart;
    struct err err;
    CHECK(report(which, path, whole, &nwhole, &err) && nwhole > 50);
    long i = 0;
    do {
        failed = false;
        left = i++;
        bool ok = report(which, path, part, &npart, &err);
        CHECK(ok == (err.kind == ERR_NONE) && (ok || (failed && err.kind == ERR_MEMORY)));
        CHECK(npart <= nwhole && memcmp(part, whole, npart) == 0 && (!ok || npart == nwhole));
    } while (failed && i < 10000);
    CHECK(i > 20 && !failed);
}

enum { NO_MEMORY = 75 };

static void
end_without_memory(size_t n)
{
    (void)n;
    signals_end(NO_MEMORY);
}

/* Returns the exit status of a child that reads the text while allocation `at` of jansson fails, or -1 after a signal. 0: the
 * text needs fewer allocations. */
static int
read_without(const char *text, long at)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        json_t *root = NULL;
        struct err err;
        err_init(&err);
        left = at;
        bool ok = tree_read(&root, text, strlen(text), "it", &err);
        _exit(ok && !failed && json_string_length(json_object_get(root, "key")) > 64 ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The last token outgrows the first buffer, which jansson does not notice if it cannot grow. */
static void
test_tree(void)
{
    static const char text[] = "{\"key\":\"a string of more than the sixty-four bytes that the buffer of a token may have had\","
        "\"a\":[1,2.5,null,{}],\"b\":\"a string of more than the sixty-four bytes that the buffer of a token has\"}";
    long n = 0;
    tree_no_memory = end_without_memory;
    for (int status; n < 1000 && (status = read_without(text, n)) != 0; n++)
        CHECK(status == NO_MEMORY);
    CHECK(n > 16 && n < 1000);
}

static bool
reads_list(size_t n, enum err_kind kind)
{
    static char text[4 << 20];
    json_t *root = NULL;
    struct err err;
    size_t len = (size_t)sprintf(text, "{\"a\":[");
    err_init(&err);
    for (; n != 0; n--, len += 3)
        memcpy(text + len, "{},", 3);
    memcpy(text + len, "{}]}", 5);
    bool ok = tree_read(&root, text, len + 4, "it", &err);
    json_decref(root);
    return ok == (root != NULL) && err.kind == kind;
}

int
main(void)
{
    char path[64];
    make_file();
    int fd = memfd_create("test", 0);
    CHECK(fd >= 0 && write(fd, file, nfile) == (ssize_t)nfile);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int which = 0; which < REPORTS; which++)
        test_report(which, path);
    close(fd);
    CHECK(reads_list(213000, ERR_NONE) && reads_list(214000, ERR_LIMIT));      /* 315 bytes of TREE_BUDGET each */
    test_tree();
    return check_done("test_memory");
}
