/* The checkpoint of a training job: a directory with files of these names, its tensors, and where their pieces lie. An input is a
 * row of files, each after a line --N, where N is the index of its name. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/sharded/sharded.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const char *const names[] = { ".metadata", "__0_0.distcp", "model_world_size_2_rank_0.pt", "model_world_size_2_rank_1.pt",
    "mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_pp_rank_0_mp_rank_00_model_states.pt",
    "consolidated.00.pth", "shard-00001-model-00001-of-00001.safetensors" };
enum { NAMES = sizeof names / sizeof *names, MARK = 5, MOST = 1 << 20 };

static char folder[] = "/tmp/fuzz-sharded-XXXXXX";
static int folder_fd = -1;

static void
remove_files(void)
{
    for (size_t i = 0; i < NAMES; i++)
        unlinkat(folder_fd, names[i], 0);
}

static void
remove_folder(void)
{
    remove_files();
    rmdir(folder);
}

static void
write_file(const char *name, const uint8_t *p, size_t n)
{
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    close(fd);
}

/* Returns the next mark in p[0..n), or NULL. */
static const uint8_t *
find_mark(const uint8_t *p, size_t n)
{
    for (const uint8_t *at; n >= MARK && (at = memmem(p, n, "\n--", 3)) != NULL; n -= (size_t)(at + 1 - p), p = at + 1)
        if ((size_t)(at - p) + MARK <= n && at[3] >= '0' && at[3] < '0' + NAMES && at[4] == '\n')
            return at;
    return NULL;
}

static void
write_files(const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n, *at = find_mark(p, n);
    while (at) {
        const uint8_t *from = at + MARK, *next = find_mark(from, (size_t)(end - from));
        write_file(names[at[3] - '0'], from, (size_t)((next ? next : end) - from));
        at = next;
    }
}

/* Checks that the pieces of a tensor are as large as it is, and reads some of it. */
static void
check_tensor(const struct catalog *catalog, const struct tensor *t, struct source *made)
{
    struct catalog_tile tile;
    struct err err;
    uint64_t nbytes = 0;
    err_init(&err);
    for (size_t i = 0; catalog_next_tile(catalog, t, 0, t->extent.nbytes, &i, &tile); nbytes += tile.nbytes) {
        uint64_t run;
        assert(catalog_place(catalog, t, i - 1, 0, &run) < t->extent.nbytes && run != 0);
    }
    assert(nbytes == t->extent.nbytes);
    size_t n = nbytes < MOST ? (size_t)nbytes : MOST;
    uint8_t *bytes = malloc(n + 1);
    assert(!bytes || source_read(made, t->extent.at, bytes, n, &err) || err.kind != ERR_BUG);
    free(bytes);
}

static void
read_folder(const struct container_options *how)
{
    struct err err;
    err_init(&err);
    struct sharded *s = NULL;
    struct source *made = NULL;
    struct inputs inputs = { 0 };
    struct catalog *catalog = catalog_new(how->limits, &err);
    bool ok = catalog && sharded_find(&s, folder, &inputs, &err) && s && sharded_read(s, &made, catalog, how, &err)
        && catalog_seal(catalog, &err);
    assert(err.kind != ERR_BUG && (!ok || err.kind == ERR_NONE));
    for (size_t i = 0; ok && i < catalog_count(catalog); i++)
        check_tensor(catalog, catalog_at(catalog, i), made);
    source_close(made);
    sharded_free(s);
    inputs_clear(&inputs);
    catalog_free(catalog);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char *const states[] = { NULL, "all", "master" };
    if (folder_fd < 0) {
        assert(mkdtemp(folder));
        folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
        atexit(remove_folder);
    }
    remove_files();
    write_files(p, n);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        read_folder(&(const struct container_options){ .limits = &limits_default, .state = states[i], .hf = i == 0 });
    return 0;
}
