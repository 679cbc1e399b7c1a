#include "container/foreign.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "container/torch/pickle_ops.h"

#define ELSEWHERE ", which is not supported: look for the same model in safetensors or GGUF format"
#define NO_MODEL ", not a model: give a .safetensors or .gguf file, or a directory that contains one"

/* A file format with a magic: `len` bytes at offset `at`. */
struct magic {
    const char *bytes;
    uint16_t len, at;
    enum err_kind kind;
    const char *text;
};

static const char old_ggml[] = "this is a GGML file from before GGUF, which is not supported: look for a GGUF file of the "
    "same model, or convert this one with llama.cpp's convert_llama_ggml_to_gguf.py";
static const char pickle[] = "this is a pickle without the storages of a PyTorch checkpoint, which is not supported: load it "
    "in Python and save its tensors with torch.save";
static const char old_pickle[] = "this PyTorch checkpoint uses pickle protocol 0 or 1, which is not supported, and which "
    "torch itself may not load: save it again with torch.save's default protocol";
static const char old_torch[] = "this is a PyTorch archive from before the first release of PyTorch, which is not supported, "
    "not even by torch itself";
static const char hdf5[] = "this is an HDF5 file, probably a Keras model" ELSEWHERE;
static const char tflite[] = "this is a TensorFlow Lite model" ELSEWHERE;
static const char onnx[] = "this is an ONNX model" ELSEWHERE;
static const char llamafile[] = "this is a llamafile, a program that contains a GGUF file: extract it with unzip FILE '*.gguf'";
static const char tar[] = "this is a tar archive, which is not supported: extract it with 'tar -xf FILE' and give the model "
    "in it";
static const char tokenizer[] = "this is a SentencePiece tokenizer (tokenizer.model)" NO_MODEL;
static const char parquet[] = "this is a Parquet file, a dataset" NO_MODEL;
static const char program[] = "this is a program or a library (ELF)" NO_MODEL;
static const char pdf[] = "this is a PDF document" NO_MODEL;
static const char image[] = "this is an image" NO_MODEL;
static const char zeros[] = "file begins with zeros only (incomplete download or copy?): download it again";

static const struct magic magics[] = {
    { "GGML", 4, 0, ERR_UNSUPPORTED, old_ggml },
    { "GGMF", 4, 0, ERR_UNSUPPORTED, old_ggml },
    { "GGJT", 4, 0, ERR_UNSUPPORTED, old_ggml },
    { "lmgg", 4, 0, ERR_UNSUPPORTED, old_ggml },
    { "fmgg", 4, 0, ERR_UNSUPPORTED, old_ggml },
    { "tjgg", 4, 0, ERR_UNSUPPORTED, old_ggml },
    { "L119547037146038801333356L", 26, 0, ERR_UNSUPPORTED, old_pickle },     /* torch's magic number */
    { "PYTORCH1", 8, 0, ERR_UNSUPPORTED, old_torch },
    { "\x89HDF\r\n\x1a\n", 8, 0, ERR_UNSUPPORTED, hdf5 },
    { "TFL3", 4, 4, ERR_UNSUPPORTED, tflite },
    { "MZqFpD", 6, 0, ERR_UNSUPPORTED, llamafile },
    { "ustar", 5, 257, ERR_UNSUPPORTED, tar },
    { "\n\5<unk>", 7, 2, ERR_MALFORMED, tokenizer },      /* the first piece of a ModelProto */
    { "\n\5<pad>", 7, 2, ERR_MALFORMED, tokenizer },
    { "PAR1", 4, 0, ERR_MALFORMED, parquet },
    { "\x7f" "ELF", 4, 0, ERR_MALFORMED, program },
    { "%PDF-", 5, 0, ERR_MALFORMED, pdf },
    { "\x89PNG", 4, 0, ERR_MALFORMED, image },
    { "\xff\xd8\xff", 3, 0, ERR_MALFORMED, image },
};

static bool
refuse(struct err *err, enum err_kind kind, const char *text)
{
    return err_set(err, kind, ERR_NO_OFFSET, "%s", text);
}

static bool
holds(const uint8_t *p, size_t n, const char *word)
{
    return memmem(p, n, word, strlen(word)) != NULL;
}

static bool
starts(const uint8_t *p, size_t n, const char *with)
{
    size_t len = strlen(with);
    return n >= len && memcmp(p, with, len) == 0;
}

/* --- text ------------------------------------------------------------------------------------------------ */

/*      version https://git-lfs.github.com/spec/v1
 *      oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
 *      size 12345                                                                      */
bool
foreign_check_pointer(const uint8_t *head, size_t n, struct err *err)
{
    static const char key[] = "\nsize ";
    char size[STR_SIZE] = "unknown size", digits[24] = "";
    uint64_t nbytes;
    n = (size_t)num_min(n, FOREIGN_PROBE);
    if (!starts(head, n, "version https://git-lfs.") && !starts(head, n, "version https://hawser."))
        return true;
    const uint8_t *p = memmem(head, n, key, sizeof key - 1), *end = head + n;
    if (p)
        p += sizeof key - 1;
    for (size_t i = 0; p && p < end && isdigit(*p) && i + 1 < sizeof digits; i++)
        digits[i] = (char)*p++;
    if (str_to_u64(&nbytes, digits))
        str_size(size, nbytes);
    return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "this is a Git LFS pointer to a file of %s, not the file itself: run "
        "'git lfs pull' in its directory, or use a download link with /resolve/ instead of /raw/",
        size);
}

/* Returns true if all bytes are text that a terminal can show; the last character may be cut off. */
static bool
is_text(const uint8_t *p, size_t n)
{
    uint32_t code;
    for (size_t i = 0, len; i < n; i += len) {
        len = str_utf8_char((const char *)p + i, n - i, &code);
        if (len == 0)
            return n - i < 4 && p[i] >= 0xC2;
        if ((code < 0x20 && !memchr("\t\n\f\r\b\033", (int)code, 6)) || code == 0x7F)
            return false;
    }
    return true;
}

/* Formats the start of a text as one line, for a message. Returns buf. */
static const char *
beginning(char buf[STR_SHOWN], const uint8_t *p, size_t n)
{
    enum { MOST = 60, CHARACTER = 4 };
    char line[MOST + 1 + CHARACTER];
    uint32_t code;
    size_t used = 0;
    bool gap = false;
    for (size_t i = 0, len = 1; i < n && used < MOST; i += len) {
        bool space = isspace(p[i]);
        len = space ? 1 : str_utf8_char((const char *)p + i, n - i, &code);
        if (len == 0)                   /* cut off */
            break;
        if (!space && gap)
            line[used++] = ' ';
        if (!space) {
            memcpy(line + used, p + i, len);
            used += len;
        }
        gap = space && used != 0;
    }
    return str_shown(buf, line, used);
}

static bool
is_html(const uint8_t *p, size_t n)
{
    static const char *const tags[] = { "<!doctype", "<html", "<head", "<body", "<script", "<!--" };
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (n >= strlen(tags[i]) && strncasecmp((const char *)p, tags[i], strlen(tags[i])) == 0)
            return true;
    return false;
}

static bool
refuse_json(const uint8_t *p, size_t n, struct err *err)
{
    static const char *const config[] = { "\"model_type\"", "\"architectures\"", "\"quantization_config\"",
        "\"_class_name\"" };
    char shown[STR_SHOWN];
    if (holds(p, n, "\"weight_map\""))
        return refuse(err, ERR_MALFORMED, "this is the index of a sharded model: give its path, ending in .index.json, with "
            "the shards in the same directory, or give that directory");
    for (size_t i = 0; i < sizeof config / sizeof *config; i++)
        if (holds(p, n, config[i]))
            return refuse(err, ERR_MALFORMED, "this is a config.json, which only describes a model: give its directory, or "
                "the model's .safetensors file");
    return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "this is JSON" NO_MODEL "; it begins: %s",
        beginning(shown, p, n));
}

static bool
refuse_text(const uint8_t *p, size_t n, struct err *err)
{
    char shown[STR_SHOWN];
    size_t mark = starts(p, n, "\xef\xbb\xbf") ? 3 : 0;
    for (p += mark, n -= mark; n != 0 && isspace(*p); p++, n--)
        ;
    if (!foreign_check_pointer(p, n, err))
        return false;
    if (is_html(p, n))
        return refuse(err, ERR_MALFORMED, "this is a web page (HTML), not a model: log in or accept the model's terms before "
            "downloading, or use the link of the file, not of its page (on Hugging Face, /resolve/ instead of /blob/)");
    if (n >= 2 && p[0] == '{' && (p[1] == '"' || p[1] == '}' || isspace(p[1])))
        return refuse_json(p, n, err);
    return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "this is text" NO_MODEL "; it begins: %s",
        beginning(shown, p, n));
}

/* --- other formats --------------------------------------------------------------------------------------- */

/* Recognizes PROTO, a version, and an opcode that can come first. A truncated safetensors file may begin the same way, but
 * then the rest of its header length is zeros, and its header follows. The length of a short FRAME has zeros there, too, but
 * more of them. */
static bool
is_pickle(const uint8_t *head, size_t n)
{
    enum { FRAME = 3 };         /* offset of its length */
    static const char first[] = "()]}cCGJKMNTUX\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x95\x96";
    bool length = n >= 5;
    for (size_t i = 4; i < n && i < 8; i++)
        length = length && head[i] == 0;
    if (n > FRAME + 8 && head[2] == OP_FRAME)
        length = length && load_le64(head + FRAME) >> 32 != 0;
    return n >= 3 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 && memchr(first, head[2], sizeof first - 1)
        && !length;
}

/* Recognizes a ModelProto: field 1 is the format version, field 2 the name of the producer. */
static bool
is_onnx(const uint8_t *head, size_t n)
{
    size_t len = n > 4 ? head[3] : 0;
    for (size_t i = 4; i < n && i < 4 + len; i++)
        if (head[i] < 0x20 || head[i] > 0x7E)
            return false;
    return len != 0 && head[0] == 0x08 && head[1] >= 1 && head[1] < 32 && head[2] == 0x12;
}

static bool
is_zeros(const uint8_t *head, size_t n)
{
    static const uint8_t none[FOREIGN_PROBE];
    return n >= 64 && memcmp(head, none, n) == 0;
}

bool
foreign_check(const uint8_t *head, size_t n, struct err *err)
{
    n = (size_t)num_min(n, FOREIGN_PROBE);
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const struct magic *m = &magics[i];
        if (n >= (size_t)m->at + m->len && memcmp(head + m->at, m->bytes, m->len) == 0)
            return refuse(err, m->kind, m->text);
    }
    if (is_pickle(head, n))
        return refuse(err, ERR_UNSUPPORTED, pickle);
    if (is_onnx(head, n))
        return refuse(err, ERR_UNSUPPORTED, onnx);
    if (is_zeros(head, n))
        return refuse(err, ERR_MALFORMED, zeros);
    return n < 8 || !is_text(head, n) || refuse_text(head, n, err);
}
