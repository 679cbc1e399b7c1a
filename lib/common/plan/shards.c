#include "plan/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"

static bool
tensor_nbytes(uint64_t *nbytes, const struct chosen *chosen, uint64_t align, struct err *err)
{
    struct chosen one = *chosen;
    const struct choice alone = { .list = &one, .n = 1 };
    return choice_nbytes(&alone, nbytes, err) && num_align(nbytes, *nbytes, align);
}

static struct shard *
add(struct shards *s, size_t *room, size_t first, struct err *err)
{
    struct shard *list = array_grow(s->list, s->n, room, sizeof *list, err);
    if (!list)
        return NULL;
    s->list = list;
    if (s->n == SHARDS_MAX) {
        err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "the model would have more than %d files: a larger size of one is needed",
            SHARDS_MAX);
        return NULL;
    }
    list[s->n] = (struct shard){ .first = first };
    return &list[s->n++];
}

bool
shards_cut(struct shards *s, const struct choice *choice, uint64_t most, uint64_t align, struct err *err)
{
    size_t room = 0;
    *s = (struct shards){ .stem = "model" };
    struct shard *shard = add(s, &room, 0, err);
    for (size_t i = 0; shard && i < choice->n; i++) {
        uint64_t nbytes, sum;
        if (!tensor_nbytes(&nbytes, &choice->list[i], align, err))
            return false;
        if (shard->n != 0 && (!num_add(&sum, shard->nbytes, nbytes) || sum > most)
            && !(shard = add(s, &room, i, err)))
            return false;
        shard->n++;
        shard->nbytes += nbytes;
        s->nbytes += nbytes;
    }
    return shard != NULL;
}

void
shards_clear(struct shards *s)
{
    free(s->list);
    *s = (struct shards){ 0 };
}

/* WEIGHTS_NAME of diffusers, SAFETENSORS_WEIGHTS_NAME of PEFT: other names are not loaded. */
void
shards_keep_stem(struct shards *s, const char *path)
{
    static const char *const stems[] = { "diffusion_pytorch_model", "adapter_model" };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        size_t n = strlen(stems[i]);
        if (strncmp(name, stems[i], n) == 0 && (name[n] == '.' || name[n] == '-'))
            s->stem = stems[i];
    }
}

const char *
shard_name(char buf[SHARD_NAME], const struct shards *s, size_t i)
{
    if (s->n == 1)
        snprintf(buf, SHARD_NAME, "%s.safetensors", s->stem);
    else
        snprintf(buf, SHARD_NAME, "%s-%05u-of-%05u.safetensors", s->stem, (unsigned)i + 1, (unsigned)s->n);
    return buf;
}

const char *
shard_index_name(char buf[SHARD_NAME], const struct shards *s)
{
    snprintf(buf, SHARD_NAME, "%s.safetensors.index.json", s->stem);
    return buf;
}

bool
shard_split_name(struct str *name, const char *path, size_t i, size_t n, struct err *err)
{
    static const char suffix[] = ".gguf";
    size_t stem = strlen(path) - (str_ends(path, suffix) ? strlen(suffix) : 0);
    str_add(name, path, stem);
    str_format(name, "-%05u-of-%05u%s", (unsigned)i + 1, (unsigned)n, suffix);
    return !name->failed || err_memory(err, name->room);
}
