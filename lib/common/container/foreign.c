#include "container/foreign.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "container/proto.h"
#include "container/torch/pickle_ops.h"

#define ELSEWHERE ", which is not supported: look for the same model in safetensors or GGUF format"
#define NO_MODEL ", not a model: give a .safetensors or .gguf file, or a directory that contains one"

static bool
foreign_refuse(struct err *err, enum err_kind kind, const char *text)
{
    return err_set(err, kind, "%s", text);
}

static bool
holds(const uint8_t *p, size_t n, const char *word)
{
    return memmem(p, n, word, strlen(word)) != NULL;
}

/* --- protobuf messages ---------------------------------------------------------------------------------- */

/* A field that a message may have, or must have; and one that holds messages. */
#define MAY(number_, kind_) { .number = number_, .kind = PROTO_##kind_ }
#define MUST(number_, kind_) { .number = number_, .kind = PROTO_##kind_, .needed = true }
#define MAY_HOLD(number_, fields) { .number = number_, .kind = PROTO_MESSAGE, .of = fields }
#define MUST_HOLD(number_, fields) { .number = number_, .kind = PROTO_MESSAGE, .needed = true, .of = fields }
#define END { .kind = PROTO_END }

/* onnx.proto: ModelProto, GraphProto, NodeProto */
static const struct proto_field onnx_node[] = {
    MAY(1, TEXT), MAY(2, TEXT), MAY(3, TEXT), MUST(4, TEXT), MAY(5, BYTES), MAY(6, TEXT), MAY(7, TEXT), MAY(8, TEXT),
    MAY(9, BYTES), MAY(10, BYTES), END
};
static const struct proto_field onnx_graph[] = {
    MAY_HOLD(1, onnx_node), MAY(2, TEXT), MAY(5, BYTES), MAY(10, TEXT), MAY(11, BYTES), MAY(12, BYTES), MAY(13, BYTES),
    MAY(14, BYTES), MAY(15, BYTES), MAY(16, BYTES), END
};
static const struct proto_field onnx_model[] = {
    MAY(1, NUMBER), MAY(2, TEXT), MAY(3, TEXT), MAY(4, TEXT), MAY(5, NUMBER), MAY(6, TEXT), MUST_HOLD(7, onnx_graph),
    MAY(8, BYTES), MAY(14, BYTES), MAY(20, BYTES), MAY(25, BYTES), MAY(26, BYTES), END
};

/* tensorflow: GraphDef, NodeDef; SavedModel. A SavedModel begins with its version, always 1. */
static const struct proto_field graph_node[] = {
    MUST(1, TEXT), MUST(2, TEXT), MAY(3, TEXT), MAY(4, TEXT), MAY(5, BYTES), MAY(6, BYTES), MAY(7, BYTES), END
};
static const struct proto_field graph_def[] = {
    MUST_HOLD(1, graph_node), MAY(2, BYTES), MAY(3, NUMBER), MAY(4, BYTES), MAY(5, BYTES), END
};
static const struct proto_field saved_model[] = {
    MUST(1, NUMBER), MUST(2, BYTES), END
};

/* coremltools, Model.proto: Model, ModelDescription, FeatureDescription. The kinds of models have numbers from 200 on. */
static const struct proto_field coreml_feature[] = {
    MUST(1, TEXT), MAY(2, TEXT), MAY(3, BYTES), END
};
static const struct proto_field coreml_description[] = {
    MUST_HOLD(1, coreml_feature), MAY_HOLD(10, coreml_feature), MAY(11, TEXT), MAY(12, TEXT), MAY(13, BYTES),
    MAY(50, BYTES), MAY(100, BYTES), END
};
static const struct proto_field coreml_model[] = {
    MUST(1, NUMBER), MUST_HOLD(2, coreml_description), MAY(10, NUMBER), MAY(202, BYTES), MAY(303, BYTES),
    MAY(403, BYTES), MAY(500, BYTES), MAY(502, BYTES), END
};

/* sentencepiece_model.proto: ModelProto, SentencePiece */
static const struct proto_field piece[] = {
    MUST(1, TEXT), MUST(2, FIXED), MAY(3, NUMBER), END
};
static const struct proto_field pieces_model[] = {
    MUST_HOLD(1, piece), MAY(2, BYTES), MAY(3, BYTES), MAY(4, BYTES), MAY(5, BYTES), END
};

/* --- other structures ----------------------------------------------------------------------------------- */

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

static bool
is_zeros(const uint8_t *head, size_t n)
{
    static const uint8_t none[FOREIGN_PROBE];
    return n >= 64 && memcmp(head, none, n) == 0;
}

/* Recognizes the header of whisper.cpp after the magic: the vocabulary of Whisper, or the name of the voice detector. */
static bool
is_whisper(const uint8_t *head, size_t n)
{
    return (n >= 8 && load_le32(head + 4) >= 51864 && load_le32(head + 4) <= 51866)
        || (n >= 18 && memcmp(head + 8, "silero-16k", 10) == 0);
}

/* Returns the size of the head of a MessagePack map, or 0. */
static size_t
map_head(const uint8_t *head, size_t n)
{
    if (n < 4)
        return 0;
    if (head[0] > 0x80 && head[0] <= 0x8F)
        return 1;
    if (head[0] == 0xDE)
        return 3;
    if (head[0] == 0xDF)
        return 5;
    return 0;
}

/* Recognizes a map whose first key is text and whose first value is a map, a tensor (an extension) or an array: what
 * flax.serialization and burn write. */
static bool
is_msgpack(const uint8_t *head, size_t n)
{
    size_t at = map_head(head, n);
    if (at == 0 || at + 2 >= n)
        return false;
    size_t len = 0;
    if (head[at] >= 0xA1 && head[at] <= 0xBF)
        len = head[at] & 0x1F;
    else if (head[at] == 0xD9)
        len = head[at + 1];
    at += head[at] == 0xD9 ? 2 : 1;
    if (len == 0 || len >= n - at)
        return false;
    for (size_t i = 0; i < len; i++)
        if (head[at + i] < 0x20 || head[at + i] == 0x7F)
            return false;
    uint8_t value = head[at + len];
    return str_is_utf8((const char *)head + at, len) && ((value >= 0x80 && value <= 0x9F) || (value >= 0xC7 && value <= 0xC9)
        || (value >= 0xD4 && value <= 0xD8) || (value >= 0xDC && value <= 0xDF));
}

/* Recognizes CTranslate2: a version, then the name of a model class, "...Spec", with its NUL. */
static bool
is_ctranslate2(const uint8_t *head, size_t n)
{
    size_t len = 0;
    if (n >= 6 && load_le32(head) >= 2 && load_le32(head) <= 6)
        len = load_le16(head + 4);
    return len > 5 && len < 64 && n >= 6 + len && memcmp(head + 6 + len - 5, "Spec", 5) == 0;
}

/* Recognizes an importance matrix before GGUF: the number of entries, then the length and the name of the first, a weight. */
static bool
is_imatrix(const uint8_t *head, size_t n)
{
    static const char end[] = ".weight";
    size_t len = n >= 8 && load_le32(head) > 0 && load_le32(head) < 1 << 20 ? load_le32(head + 4) : 0;
    return len > sizeof end && len < 128 && n >= 8 + len && memcmp(head + 8 + len - (sizeof end - 1), end, sizeof end - 1) == 0;
}

/* Recognizes the XML of OpenVINO, whose first element after declarations and comments is <net name="..." version="...">. */
static bool
is_openvino(const uint8_t *head, size_t n)
{
    const uint8_t *p = head, *end = head + n;
    while (p && end - p > 1 && (isspace(*p) || (p[0] == '<' && (p[1] == '?' || p[1] == '!'))))
        p = isspace(*p) ? p + 1 : memchr(p + 1, '<', (size_t)(end - p) - 1);
    return p && str_prefixed(p, (size_t)(end - p), "<net ") && holds(p, (size_t)(end - p), "version=");
}

static bool is_onnx(const uint8_t *head, size_t n) { return proto_is(head, n, onnx_model); }
static bool is_coreml(const uint8_t *head, size_t n) { return proto_is(head, n, coreml_model); }
static bool is_saved_model(const uint8_t *head, size_t n) { return proto_is(head, n, saved_model); }
static bool is_graph_def(const uint8_t *head, size_t n) { return proto_is(head, n, graph_def); }
static bool is_pieces_model(const uint8_t *head, size_t n) { return proto_is(head, n, pieces_model); }

/* --- the table ------------------------------------------------------------------------------------------ */

/* A file format: a magic of `len` bytes at offset `at`, if `len` is not 0, and a structure, if `is` is not NULL. */
struct foreign {
    const char *magic;
    uint16_t len, at;
    enum err_kind kind;
    bool (*is)(const uint8_t *head, size_t n);
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
static const char coreml[] = "this is a Core ML model" ELSEWHERE;
static const char executorch[] = "this is an ExecuTorch program" ELSEWHERE;
static const char orbax[] = "this is an Orbax checkpoint of JAX, which is not supported: restore it in JAX and write its arrays with "
    "safetensors.flax.save_file, or look for the same model in safetensors or GGUF format";
static const char tensorflow[] = "this is a TensorFlow model" ELSEWHERE;
static const char tensorrt[] = "this is a TensorRT engine, built for one GPU, which is not supported: give the model that it was "
    "built from";
static const char ncnn[] = "this is an ncnn model" ELSEWHERE;
static const char hdf5[] = "this is an HDF5 file, probably a Keras model" ELSEWHERE;
static const char tflite[] = "this is a TensorFlow Lite model" ELSEWHERE;
static const char llamafile[] = "this is a llamafile, a program that contains a GGUF file: extract it with unzip FILE '*.gguf'";
static const char tar[] = "this is a tar archive without a model, compressed, or from a pipe: extract it with 'tar -xf FILE' and give the model "
    "in it; a directory on another machine is read with --fetch (amn(7))";
static const char config[] = "this is a config.json, which only describes a model: give its directory, or the model's .safetensors "
    "file";
static const char tokenizer[] = "this is a SentencePiece tokenizer (tokenizer.model)" NO_MODEL;
static const char parquet[] = "this is a Parquet file, a dataset" NO_MODEL;
static const char program[] = "this is a program or a library (ELF)" NO_MODEL;
static const char pdf[] = "this is a PDF document" NO_MODEL;
static const char image[] = "this is an image" NO_MODEL;
static const char zeros[] = "file begins with zeros only (incomplete download or copy?): download it again";

static const struct foreign table[] = {
    { "GGML", 4, 0, ERR_UNSUPPORTED, NULL, old_ggml },
    { "GGMF", 4, 0, ERR_UNSUPPORTED, NULL, old_ggml },
    { "GGJT", 4, 0, ERR_UNSUPPORTED, NULL, old_ggml },
    { "lmgg", 4, 0, ERR_MALFORMED, is_whisper, "the header of this ggml model of whisper.cpp is truncated or damaged: its mel filters do "
        "not fit its n_mels" },
    { "lmgg", 4, 0, ERR_UNSUPPORTED, NULL, old_ggml },
    { "fmgg", 4, 0, ERR_UNSUPPORTED, NULL, old_ggml },
    { "tjgg", 4, 0, ERR_UNSUPPORTED, NULL, old_ggml },
    { "L119547037146038801333356L", 26, 0, ERR_UNSUPPORTED, NULL, old_pickle },     /* torch's magic number */
    { "PYTORCH1", 8, 0, ERR_UNSUPPORTED, NULL, old_torch },
    { "PTMF", 4, 4, ERR_UNSUPPORTED, NULL, "this is a PyTorch Mobile model (.ptl)" ELSEWHERE },
    { "\x89HDF\r\n\x1a\n", 8, 0, ERR_UNSUPPORTED, NULL, hdf5 },
    { "TFL3", 4, 4, ERR_UNSUPPORTED, NULL, tflite },
    { "LITERTLM", 8, 0, ERR_UNSUPPORTED, NULL, "this is a LiteRT-LM model" ELSEWHERE },
    { "ORTM", 4, 4, ERR_UNSUPPORTED, NULL, "this is a model of ONNX Runtime (ORT format)" ELSEWHERE },
    { "ET12", 4, 4, ERR_UNSUPPORTED, NULL, executorch },
    { "eh00", 4, 8, ERR_UNSUPPORTED, NULL, executorch },
    { "FT01", 4, 4, ERR_UNSUPPORTED, NULL, executorch },
    { "NRUB", 4, 0, ERR_UNSUPPORTED, NULL, "this is a model of Burn (burnpack)" ELSEWHERE },
    { "7767517\n", 8, 0, ERR_UNSUPPORTED, NULL, ncnn },
    { "\x47\x6b\x30\x01", 4, 0, ERR_UNSUPPORTED, NULL, ncnn },                       /* weights in F16 */
    { "MSL", 3, 4, ERR_UNSUPPORTED, NULL, "this is a MindSpore Lite model" ELSEWHERE },
    { "ptrt", 4, 0, ERR_UNSUPPORTED, NULL, tensorrt },
    { "ftrt", 4, 0, ERR_UNSUPPORTED, NULL, tensorrt },
    { "RKNN", 4, 0, ERR_UNSUPPORTED, NULL, "this is an RKNN model" ELSEWHERE },
    { "SBS\n", 4, 0, ERR_UNSUPPORTED, NULL, "this is a model of gemma.cpp" ELSEWHERE },
    { "\x12\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, 0, ERR_UNSUPPORTED, NULL, "this is an MXNet model" ELSEWHERE },
    { "\x0c\xdb\x3a\x2a", 4, 0, ERR_UNSUPPORTED, NULL, orbax },                      /* manifest.ocdbt */
    { "\xef\xbe\xad\xde", 4, 64, ERR_UNSUPPORTED, NULL, coreml },                    /* weight.bin */
    { "model_checkpoint_path:", 22, 0, ERR_UNSUPPORTED, NULL, tensorflow },
    { "MZqFpD", 6, 0, ERR_UNSUPPORTED, NULL, llamafile },
    { "jartsr=", 7, 0, ERR_UNSUPPORTED, NULL, llamafile },
    { "APEDBG=", 7, 0, ERR_UNSUPPORTED, NULL, llamafile },
    { "Rar!\x1a\x07", 6, 0, ERR_UNSUPPORTED, NULL, "this is a RAR archive, which is not supported: extract it with 'unrar x FILE' and "
        "give the model in it" },
    { "ustar", 5, 257, ERR_UNSUPPORTED, NULL, tar },
    { "PAR1", 4, 0, ERR_MALFORMED, NULL, parquet },
    { "\x7f" "ELF", 4, 0, ERR_MALFORMED, NULL, program },
    { "%PDF-", 5, 0, ERR_MALFORMED, NULL, pdf },
    { "\x89PNG", 4, 0, ERR_MALFORMED, NULL, image },
    { "\xff\xd8\xff", 3, 0, ERR_MALFORMED, NULL, image },
    { NULL, 0, 0, ERR_UNSUPPORTED, is_pickle, pickle },
    { NULL, 0, 0, ERR_UNSUPPORTED, is_onnx, "this is an ONNX model" ELSEWHERE },
    { NULL, 0, 0, ERR_UNSUPPORTED, is_coreml, coreml },
    { "\x08\1\x12", 3, 0, ERR_UNSUPPORTED, is_saved_model, tensorflow },
    { "\n", 1, 0, ERR_UNSUPPORTED, is_graph_def, tensorflow },
    { "\n", 1, 0, ERR_MALFORMED, is_pieces_model, tokenizer },
    { NULL, 0, 0, ERR_MALFORMED, is_imatrix, "this is an importance matrix of llama-imatrix, not a model: give it to amn quantize with "
        "--imatrix FILE" },
    { NULL, 0, 0, ERR_UNSUPPORTED, is_ctranslate2, "this is a CTranslate2 model, which is not supported: look for the model that it "
        "was converted from, in safetensors format" },
    { NULL, 0, 0, ERR_UNSUPPORTED, is_msgpack, "this is a MessagePack file, as Flax writes it, which is not supported: load it with "
        "flax.serialization and write its arrays with safetensors.flax.save_file, or look for the same model in safetensors format" },
    { NULL, 0, 0, ERR_UNSUPPORTED, is_openvino, "this is an OpenVINO model (its weights are in a .bin file)" ELSEWHERE },
    { NULL, 0, 0, ERR_MALFORMED, is_zeros, zeros },
};

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
    if (!str_prefixed(head, n, "version https://git-lfs.") && !str_prefixed(head, n, "version https://hawser."))
        return true;
    const uint8_t *p = memmem(head, n, key, sizeof key - 1), *end = head + n;
    if (p)
        p += sizeof key - 1;
    for (size_t i = 0; p && p < end && isdigit(*p) && i + 1 < sizeof digits; i++)
        digits[i] = (char)*p++;
    if (str_to_u64(&nbytes, digits))
        str_size(size, nbytes);
    return err_set(err, ERR_MALFORMED, "this is a Git LFS pointer to a file of %s, not the file itself: run "
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
        if (space)
            len = 1;
        else
            len = str_utf8_char((const char *)p + i, n - i, &code);
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

/* JSON files of known kinds, by a key. */
static const struct {
    const char *key;
    enum err_kind kind;
    const char *text;
} json_files[] = {
    { "\"weight_map\"", ERR_MALFORMED, "this is the index of a sharded model: give its path, ending in .index.json, with the shards "
        "in the same directory, or give that directory" },
    { "\"model_type\"", ERR_MALFORMED, config },
    { "\"architectures\"", ERR_MALFORMED, config },
    { "\"quantization_config\"", ERR_MALFORMED, config },
    { "\"_class_name\"", ERR_MALFORMED, config },
    { "\"itemInfoEntries\"", ERR_UNSUPPORTED, coreml },         /* Manifest.json of an .mlpackage */
    { "\"item_handlers\"", ERR_UNSUPPORTED, orbax },            /* _CHECKPOINT_METADATA */
    { "\"tree_metadata\"", ERR_UNSUPPORTED, orbax },            /* _METADATA */
    { "\"ParamBytes\"", ERR_UNSUPPORTED, "this is an MLC-LLM model" ELSEWHERE },       /* tensor-cache.json */
};

static bool
refuse_json(const uint8_t *p, size_t n, struct err *err)
{
    char shown[STR_SHOWN];
    for (size_t i = 0; i < sizeof json_files / sizeof *json_files; i++)
        if (holds(p, n, json_files[i].key))
            return foreign_refuse(err, json_files[i].kind, json_files[i].text);
    return err_set(err, ERR_MALFORMED, "this is JSON" NO_MODEL "; it begins: %s",
        beginning(shown, p, n));
}

static bool
refuse_text(const uint8_t *p, size_t n, struct err *err)
{
    char shown[STR_SHOWN];
    size_t mark = 0;
    if (str_prefixed(p, n, "\xef\xbb\xbf"))
        mark = 3;
    for (p += mark, n -= mark; n != 0 && isspace(*p); p++, n--)
        ;
    if (!foreign_check_pointer(p, n, err))
        return false;
    if (is_html(p, n))
        return foreign_refuse(err, ERR_MALFORMED, "this is a web page (HTML), not a model: log in or accept the model's terms before "
            "downloading, or use the link of the file, not of its page (on Hugging Face, /resolve/ instead of /blob/)");
    if (n >= 2 && p[0] == '{' && (p[1] == '"' || p[1] == '}' || isspace(p[1])))
        return refuse_json(p, n, err);
    return err_set(err, ERR_MALFORMED, "this is text" NO_MODEL "; it begins: %s",
        beginning(shown, p, n));
}

/* --- all of them ---------------------------------------------------------------------------------------- */

static bool
matches(const struct foreign *f, const uint8_t *head, size_t n)
{
    return n >= (size_t)f->at + f->len && (f->len == 0 || memcmp(head + f->at, f->magic, f->len) == 0)
        && (!f->is || f->is(head, n));
}

bool
foreign_check(const uint8_t *head, size_t n, struct err *err)
{
    n = (size_t)num_min(n, FOREIGN_PROBE);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (matches(&table[i], head, n))
            return foreign_refuse(err, table[i].kind, table[i].text);
    return n < 8 || !is_text(head, n) || refuse_text(head, n, err);
}
