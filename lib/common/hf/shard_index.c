/* Format: json.dumps(index, indent=2, sort_keys=True) and a line feed (save_pretrained in transformers' modeling_utils.py). */
#include "hf/shard_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* WEIGHTS_NAME of diffusers and SAFETENSORS_WEIGHTS_NAME of PEFT, which load no other names. */
const char *
hf_shard_stem(const char *path)
{
    static const char *const stems[] = { "diffusion_pytorch_model", "adapter_model" };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        size_t n = strlen(stems[i]);
        if (strncmp(name, stems[i], n) == 0 && (name[n] == '.' || name[n] == '-'))
            return stems[i];
    }
    return "model";
}

const char *
hf_shard_name(char buf[HF_SHARD_NAME], const struct shards *s, size_t i)
{
    if (s->n == 1)
        snprintf(buf, HF_SHARD_NAME, "%s.safetensors", s->stem);
    else
        snprintf(buf, HF_SHARD_NAME, "%s-%05u-of-%05u.safetensors", s->stem, (unsigned)i + 1, (unsigned)s->n);
    return buf;
}

const char *
hf_shard_index_name(char buf[HF_SHARD_NAME], const struct shards *s)
{
    snprintf(buf, HF_SHARD_NAME, "%s.safetensors.index.json", s->stem);
    return buf;
}

/* A tensor and the index of its file. */
struct shard_index_line {
    const char *name;
    size_t len, shard;
};

static int
shard_index_compare(const void *pa, const void *pb)
{
    const struct shard_index_line *a = pa, *b = pb;
    return str_compare(a->name, a->len, b->name, b->len);
}

static struct shard_index_line *
sorted(const struct choice *choice, const struct shards *shards, struct err *err)
{
    struct shard_index_line *list = calloc(choice->n + 1, sizeof *list);
    if (!list) {
        err_memory(err, (choice->n + 1) * sizeof *list);
        return NULL;
    }
    for (size_t s = 0; s < shards->n; s++)
        for (size_t i = shards->list[s].first; i < shards->list[s].first + shards->list[s].n; i++) {
            const struct tensor t = chosen_tensor(&choice->list[i]);
            list[i] = (struct shard_index_line){ t.name, t.name_len, s };
        }
    qsort(list, choice->n, sizeof *list, shard_index_compare);
    return list;
}

bool
hf_shard_index_text(struct str *out, const struct choice *choice, const struct shards *shards, struct err *err)
{
    char file[HF_SHARD_NAME];
    struct shard_index_line *list = sorted(choice, shards, err);
    if (!list)
        return false;
    str_format(out, "{\n  \"metadata\": {\n    \"total_size\": %" PRIu64 "\n  },\n  \"weight_map\": {", shards->nbytes);
    for (size_t i = 0; i < choice->n; i++) {
        str_format(out, "%s\n    \"", i ? "," : "");
        str_add_json(out, list[i].name, list[i].len, true);
        str_format(out, "\": \"%s\"", hf_shard_name(file, shards, list[i].shard));
    }
    str_text(out, choice->n ? "\n  }\n}\n" : "}\n}\n");
    free(list);
    return !out->failed || err_memory(err, out->room);
}
