/* The tables combine the lists of picklescan 1.0.5 and fickling (August 2026), by name; the Python 3 names of Python 2 modules
 * are from CPython, Lib/_compat_pickle.py. */
#include "container/torch/dangerous.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "container/torch/pickle_globals.h"

#define LENGTH(a) (sizeof (a) / sizeof *(a))

/* Limit for module and name, each as spelled: no real one is longer. */
enum { PATH_MAX_BYTES = 1024 };

struct path {
    char p[2 * PATH_MAX_BYTES + 1];
    size_t n, name;             /* offset of the name */
};

/* Modules that are dangerous with everything in them, at any position in a path; in strcmp order. */
static const char *const modules[] = {
    "__builtin__", "__builtins__", "_aix_support", "_ctypes", "_frozen_importlib", "_frozen_importlib_external", "_imp",
    "_interpreters", "_operator", "_osx_support", "_pickle", "_posixsubprocess", "_pyrepl", "_signal", "_sqlite3", "_thread",
    "_xxsubinterpreters", "aiohttp", "asyncio", "atexit", "bdb", "builtins", "cProfile", "cloudpickle", "code", "codeop",
    "commands", "compileall", "ctypes", "difflib", "dill", "distutils", "doctest", "ensurepip", "fickling", "filecmp",
    "fileinput", "ftplib", "functools", "gc", "glob", "http", "httplib", "idlelib", "imaplib", "imp", "importlib",
    "inspect", "joblib", "lib2to3", "linecache", "logging", "marshal", "mmap", "model_unpickler", "modelaudit",
    "modelscan", "multiprocessing", "nntplib", "nt", "operator", "os", "pdb", "pexpect", "pickle", "picklescan", "pip",
    "pipes", "pkgutil", "platform", "poplib", "posix", "profile", "pty", "py_compile", "pydoc", "requests", "runpy",
    "saferpickle", "select", "selectors", "shelve", "shutil", "signal", "site", "smtplib", "socket", "socketserver",
    "sqlite3", "ssl", "subprocess", "sys", "syslog", "tarfile", "telnetlib", "tempfile", "test", "threading", "timeit",
    "trace", "types", "unittest", "urllib", "urllib2", "uuid", "venv", "webbrowser", "xmlrpc", "zipfile", "zipimport",
};

/* Like `modules`, for longer paths and for single names. */
static const char *const paths[] = {
    "numpy.distutils", "numpy.f2py", "numpy.testing._private.utils",
    "torch._dynamo", "torch._inductor", "torch.hub", "torch.jit",
    "_io.FileIO", "_io.open", "io.FileIO", "io.open",
    "torch.compile", "torch.load", "torch.serialization.load", "torch.storage._load_from_bytes",
    "torch.distributed.elastic.rendezvous.api.basichandlers",
    "torch.fx.experimental.symbolic_shapes.ShapeEnv.evaluate_guards_expression",
    "torch.utils._config_module.ConfigModule", "torch.utils._config_module.load_config",
    "torch.utils.bottleneck.__main__.run_autograd_prof", "torch.utils.bottleneck.__main__.run_cprofile",
    "torch.utils.collect_env.run", "torch.utils.data.datapipes.utils.decoder.basichandlers",
};

/* The harmless ones of Python's builtins; all others are dangerous. */
static const char *const builtins[] = {
    "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex", "dict", "divmod",
    "enumerate", "filter", "float", "format", "frozenset", "hash", "hex", "id", "int", "isinstance", "issubclass",
    "iter", "len", "list", "long", "map", "max", "min", "next", "object", "oct", "ord", "pow", "range", "repr",
    "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "unicode", "xrange", "zip",
};

/* Attributes through which everything can be reached. */
static const char *const inside[] = {
    "__builtins__", "__call__", "__class__", "__closure__", "__code__", "__dict__", "__getattribute__", "__globals__",
    "__import__", "__init__", "__loader__", "__mro__", "__reduce__", "__reduce_ex__", "__self__", "__spec__",
    "__subclasses__",
};

/* Python 2 modules, or single names in them, and where Python 3 looks for them in pickles of protocol 0 to 2. Only those
 * that are easier to judge by the new name; in strcmp order. */
static const char *const old[][2] = {
    { "BaseHTTPServer", "http.server" }, { "CGIHTTPServer", "http.server" }, { "Cookie", "http.cookies" },
    { "DocXMLRPCServer", "xmlrpc.server" }, { "SimpleHTTPServer", "http.server" },
    { "SimpleXMLRPCServer", "xmlrpc.server" }, { "SocketServer", "socketserver" }, { "__builtin__", "builtins" },
    { "_multiprocessing", "multiprocessing.connection" }, { "cPickle", "pickle" }, { "cStringIO", "io" },
    { "commands", "subprocess" }, { "cookielib", "http.cookiejar" }, { "copy_reg", "copyreg" },
    { "dummy_thread", "_thread" }, { "exceptions", "builtins" }, { "httplib", "http.client" },
    { "robotparser", "urllib.robotparser" }, { "test.test_support", "test.support" }, { "thread", "_thread" },
    { "urllib2", "urllib.request" }, { "urlparse", "urllib.parse" }, { "xmlrpclib", "xmlrpc.client" },
};

const char *
verdict_name(enum verdict verdict)
{
    static const char *const names[VERDICTS] = { "allowed", "suspicious", "dangerous" };
    return names[verdict];
}

const char *
dangerous_module(size_t i)
{
    if (i < LENGTH(modules))
        return modules[i];
    return NULL;
}

const char *
dangerous_old_module(size_t i)
{
    if (i < LENGTH(old))
        return old[i][0];
    return NULL;
}

/* Returns true if p[0..n) is in a sorted list. */
static bool
listed(const char *const *list, size_t count, const char *p, size_t n)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int order = str_compare(list[mid], strlen(list[mid]), p, n);
        if (order == 0)
            return true;
        *(order < 0 ? &from : &to) = order < 0 ? mid + 1 : mid;
    }
    return false;
}

/* Returns the bytes of the first part of the path p[0..n). */
static size_t
part_len(const char *p, size_t n)
{
    const char *dot = memchr(p, '.', n);
    if (dot)
        return (size_t)(dot - p);
    return n;
}

/* Returns true if p[0..n) is this path, or something inside it. */
static bool
below(const char *path, const char *p, size_t n)
{
    size_t len = strlen(path);
    return n >= len && memcmp(p, path, len) == 0 && (n == len || p[len] == '.');
}

static void
dangerous_join(struct path *path, const char *module, size_t module_len, const uint8_t *name, size_t name_len)
{
    memcpy(path->p, module, module_len);
    path->p[module_len] = '.';
    path->name = module_len + 1;
    memcpy(path->p + path->name, name, name_len);
    path->n = path->name + name_len;
}

/* Returns true if the rest of a path after "builtins." is a harmless name, with nothing inside it. */
static bool
harmless_builtin(const char *p, size_t n)
{
    return listed(builtins, LENGTH(builtins), p, n);
}

static bool
is_builtins(const char *p, size_t n)
{
    return str_is(p, n, "builtins") || str_is(p, n, "__builtin__");
}

/* Returns why a path is dangerous, or NULL. */
static const char *
danger(const struct path *path)
{
    for (size_t at = 0, len; at < path->n; at += len + 1) {
        const char *p = path->p + at;
        size_t left = path->n - at;
        len = part_len(p, left);
        if (at == 0 && is_builtins(p, len)) {
            if (!harmless_builtin(p + len + 1, left - len - 1))
                return "a builtin that is not known to be harmless";
            continue;
        }
        if (listed(modules, LENGTH(modules), p, len))
            return at == 0 ? "a module that can execute code or access files, processes or the network"
                : "leads to a module that can execute code or access files, processes or the network";
        if (at > path->name && listed(inside, LENGTH(inside), p, len))
            return "reaches Python internals through attributes";
        for (size_t i = 0; i < LENGTH(paths); i++)
            if (below(paths[i], p, left))
                return "executes code, or loads data that can execute code";
    }
    return NULL;
}

/* Returns why a text cannot be a real name, or NULL. */
static const char *
disguise(const uint8_t *p, size_t n)
{
    if (n == 0)
        return "empty name";
    if (n > PATH_MAX_BYTES)
        return "name is longer than any real one";
    if (!str_is_utf8((const char *)p, n))
        return "name is not valid UTF-8";
    for (size_t i = 0; i < n; i++)
        if (p[i] < 0x20 || p[i] == 0x7F || (p[i] == 0xC2 && p[i + 1] < 0xA0))       /* UTF-8: another byte follows */
            return "name contains control characters";
    return NULL;
}

/* Returns the Python 3 name of a Python 2 module, or at least of its first part. */
static const char *
module_today(const char *module, size_t *n)
{
    for (size_t i = 0; i < LENGTH(old); i++)
        if (strlen(old[i][0]) == *n && memcmp(old[i][0], module, *n) == 0) {
            *n = strlen(old[i][1]);
            return old[i][1];
        }
    return module;
}

enum verdict
dangerous_verdict(const char **why, const uint8_t *module, size_t module_len, const uint8_t *name, size_t name_len)
{
    struct pickle_global global;
    struct path path;
    *why = disguise(module, module_len);
    if (!*why)
        *why = disguise(name, name_len);
    if (*why)
        return VERDICT_DANGEROUS;
    if (pickle_global_find(&global, module, module_len, name, name_len) && global.role != GLOBAL_NESTED)
        return VERDICT_ALLOWED;
    dangerous_join(&path, (const char *)module, module_len, name, name_len);
    *why = danger(&path);
    if (!*why) {
        const char *today = module_today((const char *)module, &module_len);
        dangerous_join(&path, today, module_len, name, name_len);
        *why = danger(&path);
    }
    if (*why)
        return VERDICT_DANGEROUS;
    *why = "unknown, could do anything";
    return VERDICT_SUSPICIOUS;
}
