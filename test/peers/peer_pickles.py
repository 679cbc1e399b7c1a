"""peer_pickles.py BIN FOLDER [CASES]: compare random objects saved by torch, in both forms and all protocols, and broken
copies of them, with torch's own reading. The expected tensors are those of the object; for a broken copy that both
torch.load(weights_only=True) and amn accept, the tensors must be equal, and in any case: no crash, at most one line of
error, nothing written on refusal. The seed is fixed: the same torch gives the same cases."""
import collections
import ctypes
import hashlib
import io
import json
import os
import random
import re
import resource
import struct
import subprocess
import sys
import warnings
import zlib

import torch

from peers import Tally, Tools

TAGS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16",
        "int8": "I8", "uint8": "U8", "bool": "BOOL", "complex64": "C64", "uint16": "U16", "uint32": "U32", "uint64": "U64",
        "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
        "float8_e8m0fnu": "F8_E8M0"}
NOT_HELD = ["complex128", "complex32"]
STATUSES = {0, 65, 69, 75, 77}
SOME = 1_300_000                        # more bytes than amn buffers from a pipe
# Objects that amn reads although torch.load(weights_only=True) does not, by torch's message.
MORE = {
    "an opcode that torch reads only without weights_only": r"Unsupported operand \d+",
    "a legacy file of a new dtype": r"UntypedStorage.* has no attribute 'dtype'",
    "damage to a member that says nothing of the tensors": r"UnicodeDecodeError.*utf-8|invalid literal for int\(\)",
}


class Refused(Exception):
    """Returns true if the object cannot be stored in a safetensors file."""


# --- expected results

def raw(t):
    t = t.detach().resolve_conj().resolve_neg().contiguous().clone()
    return ctypes.string_at(t.data_ptr(), t.numel() * t.element_size()) if t.numel() else b""


def described(t):
    if t.layout != torch.strided or t.is_quantized or t.device.type == "meta" or str(t.dtype)[6:] not in TAGS:
        raise Refused(f"{t.layout} {t.dtype} {t.device}")
    forms = [t, t.to(torch.bfloat16)] if "float8_e" in str(t.dtype) and "8m0" not in str(t.dtype) else [t]  # it may be a weight
    return [(TAGS[str(f.dtype)[6:]], list(f.shape), hashlib.sha256(raw(f)).hexdigest()) for f in forms]


def agree(got, want):
    """Returns names whose tensors differ."""
    return [k for k in {**got, **want} if got.get(k) not in want.get(k, [])]


def key_text(key):
    return key.decode() if isinstance(key, bytes) else str(key) if isinstance(key, (str, int)) else None


def walk(value, path, out):
    if isinstance(value, torch.Tensor):
        if None in path:
            raise Refused("a key without a text")
        name = ".".join(path) if path else "tensor"
        if name in out:
            raise Refused("a name twice")
        out[name] = described(value)
    elif isinstance(value, dict):
        for k, v in value.items():
            walk(v, path + [key_text(k)], out)
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        for i, v in enumerate(value):
            walk(v, path + [str(i)], out)


def truth(value):
    """Returns name -> allowed results, [(dtype, shape, digest)]; None if it must be refused."""
    out = {}
    try:
        walk(value, [], out)
    except Refused:
        return None
    return out


# --- random objects

def tensor(rng, kind=None):
    kind = kind or rng.choice(list(TAGS) + NOT_HELD * (rng.random() < 0.05))
    dtype = getattr(torch, kind)
    shape = [rng.choice((0, 1, 1, 2, 3, 5, 17)) if rng.random() < 0.3 else rng.randint(1, 6) for _ in range(rng.randint(0, 5))]
    n = 1
    for d in shape:
        n *= d
    item = torch.empty(0, dtype=dtype).element_size()
    if dtype == torch.bool:
        return torch.tensor([rng.randint(0, 1) for _ in range(n)], dtype=torch.bool).reshape(shape)
    data = bytearray(rng.randbytes(n * item))
    if "float8" in kind:                # no NaN, because as BF16 they are all one
        data = bytearray(b & 0x3f for b in data)
    return (torch.frombuffer(data, dtype=torch.uint8).clone().view(dtype) if n else torch.empty(0, dtype=dtype)).reshape(shape)


def view(rng, t):
    """A view of a view."""
    for _ in range(rng.randint(0, 4)):
        how = rng.randrange(9)
        if t.dim() == 0:
            t = t.expand(rng.randint(1, 4)) if how < 4 else t.unsqueeze(0)
        elif how == 0:
            t = t.permute(rng.sample(range(t.dim()), t.dim()))
        elif how in (1, 2):
            d = rng.randrange(t.dim())
            a = rng.randint(0, t.shape[d])
            t = t[(slice(None),) * d + (slice(a, rng.randint(a, t.shape[d]), rng.randint(1, 3)),)]
        elif how == 3:
            d = rng.randrange(t.dim())
            t = t.select(d, rng.randrange(t.shape[d])) if t.shape[d] else t
        elif how == 4:
            t = t.unsqueeze(rng.randint(0, t.dim()))
        elif how == 5:
            t = t.expand([rng.randint(1, 4) if d == 1 else d for d in t.shape])
        elif how == 6 and t.numel():
            room = t.untyped_storage().nbytes() // t.element_size()
            size = [rng.randint(1, 4) for _ in range(rng.randint(0, 4))]
            stride = [rng.randint(0, 5) for _ in size]
            offset = rng.randint(0, 3)
            if offset + 1 + sum((a - 1) * b for a, b in zip(size, stride)) <= room:
                t = t.as_strided(size, stride, offset)
        elif how == 7 and t.dtype == torch.complex64:
            t = t.conj()
        elif how == 8 and (t.dtype.is_complex or t.dtype in (torch.float32, torch.int32)):
            t = torch._neg_view(t)
    return t


def odd(rng):
    """Objects that safetensors cannot represent."""
    return rng.choice([
        lambda: torch.randn(3, 4).to_sparse(), lambda: torch.eye(3).to_sparse_csr(), lambda: torch.empty(2, 3, device="meta"),
        lambda: torch.quantize_per_tensor(torch.randn(4, 4), 0.1, 3, torch.qint8),
        lambda: torch.quantize_per_channel(torch.randn(4, 4), torch.ones(4), torch.zeros(4), 0, torch.quint8)])()


def key(rng):
    return rng.choice([lambda: rng.choice("abcdefgh") + str(rng.randint(0, 99)), lambda: rng.randint(-5, 10**rng.randint(1, 11)),
                       lambda: rng.choice(["", ".", "a.b", "é", "日本", "\x1b[2J", "a/b", "x y", "__metadata__x", "\n", "'", '"\\']),
                       lambda: rng.random() < 0.5, lambda: None if rng.random() < 0.1 else "n",
                       lambda: 1.5 if rng.random() < 0.1 else "f"])()


def plain(rng):
    return rng.choice([None, True, 3, 2**70, -1.5, "text", "é" * 300, torch.Size([2, 3]), torch.float16, b"bytes", {1, 2}, 1 + 2j,
                       torch.device("cpu"), (), [], {}])


def value(rng, seen, depth=0):
    r = rng.random()
    if depth == 0 and r < 0.95 or depth < 4 and r < 0.35:
        kind = rng.randrange(5)
        n = rng.randint(0, 5)
        if kind < 3:
            v = [dict, collections.OrderedDict, dict][kind]()
            seen.append(v)
            for _ in range(n):
                v[key(rng)] = value(rng, seen, depth + 1)
        else:
            v = [value(rng, seen, depth + 1) for _ in range(n)]
            v = v if kind == 3 else tuple(v)
    elif r < 0.5:
        return plain(rng)
    elif r < 0.56:
        finished = [s for s in seen if isinstance(s, torch.Tensor)]
        return rng.choice(finished) if finished else 0
    elif r < 0.72 and any(isinstance(s, torch.Tensor) for s in seen):
        return view(rng, rng.choice([s for s in seen if isinstance(s, torch.Tensor)]))
    elif r < 0.73:
        return odd(rng)
    elif r < 0.8:
        v = torch.nn.Parameter(tensor(rng, "float32"), requires_grad=rng.random() < 0.5)
        if rng.random() < 0.3:
            v.note = "kept"
    else:
        v = tensor(rng)
        seen.append(v)
        v = view(rng, v)
    if isinstance(v, torch.Tensor) and v.layout == torch.strided:
        seen.append(v)
    elif isinstance(v, (list, tuple, dict)) and depth and rng.random() < 0.1:
        return [v, v]                   # a shared container
    return v


# --- running

def run(tools, path, pipe, tool="amn-remember"):
    argv = [os.path.join(tools.bin, tool), "-q"] + ([] if pipe else [path])
    with open(path if pipe else os.devnull, "rb") as f:
        if not pipe:
            return subprocess.run(argv, stdin=f, capture_output=True, check=False, timeout=60)
        with subprocess.Popen(["cat"], stdin=f, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as cat:
            return subprocess.run(argv, stdin=cat.stdout, capture_output=True, check=False, timeout=60)


def tensors_of(data):
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], hashlib.sha256(data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]])
                   .hexdigest()) for name, t in header.items()}


def behaves(tally, done, what):
    """Checks that hold for every run."""
    error = done.stderr.decode("utf-8", "backslashreplace")
    tally.check(done.returncode in STATUSES, f"{what}: status {done.returncode} {error[:300]}")
    tally.check(error.count("\n") == (done.returncode != 0) and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", error),
                f"{what}: error line {error[:300]!r}")
    late = re.search(r"CRC|directory|descriptor|local header|header or data overlap|before the next|version|serialization", error)
    tally.check(done.returncode == 0 or not done.stdout or late, f"{what}: output of {len(done.stdout)} bytes, then {error[:200]}")


# --- objects

def objects(tally, tools, cases):
    for seed in range(cases):
        rng = random.Random(seed)
        torch.manual_seed(seed)
        new, protocol = seed % 3 != 0, rng.randint(2, 5)
        made = value(rng, [])
        if seed % 8 == 1:
            made = {"o": made, "pad": torch.zeros(SOME, dtype=torch.uint8)}
        want = truth(made)
        path = tools.path("object.pt")
        what = f"object {seed} ({'zip' if new else 'legacy'}, protocol {protocol})"
        try:
            torch.save(made, path, pickle_protocol=protocol, _use_new_zipfile_serialization=new)
        except Exception as error:              # objects that torch cannot write are skipped
            tally.skipped[str(error).splitlines()[0][:60]] += 1
            continue
        for pipe in False, True:
            done = run(tools, path, pipe)
            how = what + (", pipe" if pipe else ", file")
            behaves(tally, done, how)
            error = done.stderr.decode().strip()
            if want is None:
                tally.check(done.returncode == 69, f"{how}: status {done.returncode}, expected 69: {error[:300]}")
            elif done.returncode == 77 and re.search(r"builtins?.(frozenset|bytes|set|complex)|_get_dtype|memory_format|_rebuild_sparse_csr", error):
                tally.skipped["a global: " + error[-80:]] += 1
            elif tally.check(done.returncode == 0, f"{how}: refused: {error[:300]}"):
                got = tensors_of(done.stdout)
                other = agree(got, want)
                tally.check(not other, f"{how}: other tensors: {[(k, got.get(k), want.get(k)) for k in other][:5]}")


# --- broken copies

def oracle(path):
    """Reads a file with torch, in a child: ('tensors', dict) or ('refused', text)."""
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(r)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        warnings.simplefilter("ignore")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            loaded = torch.load(path, map_location="cpu", weights_only=True)
            answer = ["none"]
            try:
                answer = ["tensors", truth(loaded)]
            except RecursionError:
                pass
        except BaseException as error:
            answer = ["refused", f"{type(error).__name__}: {error}"]
        with os.fdopen(w, "w") as f:
            json.dump(answer, f)
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        text = f.read()
    os.waitpid(child, 0)
    answer = json.loads(text) if text else ["refused", "crash"]
    if answer[0] == "tensors" and answer[1] is not None:
        answer[1] = {k: [tuple(form) for form in v] for k, v in answer[1].items()}
    return answer


def bases():
    """Small objects with the important forms, of 2.x and of protocol 2, which torch reads back."""
    torch.manual_seed(3)
    a = torch.randn(6, 7)
    state = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).state_dict()
    yield {"a": a, "t": a.t(), "part": a[2:4], "half": torch.randn(3, 3).half(), "i": torch.arange(5)}
    yield state
    yield {"p": torch.nn.Parameter(torch.randn(2, 3)), "n": {"x": [torch.ones(2), (torch.zeros(1), 3)], "lr": 0.1, "s": "text"}}
    yield {"f8": torch.randn(4, 4).to(torch.float8_e4m3fn), "u": torch.arange(4).to(torch.uint16), "c": torch.randn(3, dtype=torch.complex64).conj()}
    yield {"w": a, "pad": torch.zeros(SOME, dtype=torch.uint8)}


def harmed(rng, data, low, high):
    """Changes bytes in one to three places of a range, keeping its length."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(low, high)
        how = rng.randrange(5)
        if how == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            out[at] = rng.randrange(256)
        elif how == 2:
            out[at] = rng.choice(b"(.)0123NQRX]abcehijqrstu}\x80\x81\x85\x86\x87\x88\x89\x8a\x93\x94\x95")
        elif how == 3:
            n = min(rng.randint(1, 8), high - at)
            other = rng.randrange(low, high - n + 1)
            out[at:at + n] = out[other:other + n]
        else:
            out[at] = (out[at] + rng.choice((1, 255))) % 256
    return bytes(out)


def members(data):
    """Returns (name, header at, data at, size, entry at) from the directory of torch's own archive."""
    end = data.rindex(b"PK\5\6")
    n, _, at = struct.unpack_from("<HII", data, end + 10)
    for _ in range(n):
        size, = struct.unpack_from("<I", data, at + 24)
        name_len, extra, comment = struct.unpack_from("<3H", data, at + 28)
        header, = struct.unpack_from("<I", data, at + 42)
        a, b = struct.unpack_from("<2H", data, header + 26)
        yield data[at + 46:at + 46 + name_len].decode(), header, header + 30 + a + b, size, at
        at += 46 + name_len + extra + comment


def broken_pickle(rng, data):
    """Changes data.pkl and corrects its checksum."""
    name, _, at, size, entry = next(m for m in members(data) if m[0].endswith("/data.pkl"))
    out = bytearray(harmed(rng, data, at, at + size))
    crc = struct.pack("<I", zlib.crc32(out[at:at + size]))
    out[at + size + 4:at + size + 8] = crc
    out[entry + 16:entry + 20] = crc
    return bytes(out)


def broken_headers(rng, data):
    """Changes any part of the archive except storages."""
    spans = [(0, 0)]
    for name, header, at, size, _ in members(data):
        spans.append((header, at))
        spans.append((at + size, at + size + 16) if "/data/" in name else (at, at + size + 16))
    spans.append((data.rindex(b"PK\6\6") - sum(46 + len(m[0]) for m in members(data)), len(data)))
    low, high = rng.choice(spans[1:])
    return harmed(rng, data, low, min(high, len(data)))


def broken_legacy(rng, data):
    return harmed(rng, data, 0, min(len(data), 3000))


def broken(tally, tools, cases):
    made = []
    for v in bases():
        for new in True, False:
            f = io.BytesIO()
            torch.save(v, f, _use_new_zipfile_serialization=new)
            made += [(new, f.getvalue())]
    path = tools.path("broken.pt")
    for seed in range(cases):
        rng = random.Random(10**6 + seed)
        new, data = rng.choice(made)
        kind = rng.choice((broken_pickle, broken_pickle, broken_headers)) if new else broken_legacy
        what = f"{kind.__name__} {seed}"
        with open(path, "wb") as f:
            f.write(kind(rng, data))
        how, theirs = oracle(path)
        ours = [run(tools, path, pipe) for pipe in (False, True)]
        for done, way in zip(ours, ("file", "pipe")):
            behaves(tally, done, f"{what}, {way}")
        one, two = ours
        tally.check(one.returncode == two.returncode and (one.returncode != 0 or one.stdout == two.stdout) or b"give a file name" in
                    two.stderr, f"{what}: file {one.returncode} {one.stderr[:200]}, pipe {two.returncode} {two.stderr[:200]}")
        judge(tally, what, how, theirs, one)


def judge(tally, what, how, theirs, done):
    error = done.stderr.decode("utf-8", "replace").strip()
    if how == "tensors" and done.returncode == 0:
        tally.both += 1
        got = tensors_of(done.stdout)
        tally.check(theirs is not None and not agree(got, theirs), f"{what}: torch has other tensors: {theirs} and {got}")
    elif how == "refused" and done.returncode == 0:
        why = [k for k, v in MORE.items() if re.search(v, theirs)]
        tally.check(why, f"{what}: torch refuses it: {theirs[:300]}")
        tally.more[(why or ["?"])[0]] += 1
    elif how == "tensors":
        text = re.sub(r"\d+", "N", re.sub(r".*?: ", "", error, count=2))[:110]
        tally.less[text] += 1
        tally.shown.setdefault(text, what)


# --- the allowlist

def names(tally, tools):
    """Compares the table of names with the list of the installed torch, by the verdicts of a scan."""
    from torch._weights_only_unpickler import _get_allowed_globals
    for name in _get_allowed_globals():
        module, _, last = name.rpartition(".")
        path = tools.path("name.pkl")
        with open(path, "wb") as f:
            f.write(b"\x80\x02c%s\n%s\n." % (module.encode(), last.encode()))
        done = tools.run("amn-inspect", "--scan", path)
        tally.check(done.returncode == 0, f"torch allows {name}: scan ends with {done.returncode}")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib/common/container/torch/pickle_globals.h")) as f:
        count = int(re.search(r"PICKLE_GLOBALS = (\d+)", f.read()).group(1))
    tally.check(count == len(_get_allowed_globals()), f"torch has {len(_get_allowed_globals())} names, amn {count}")


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tally, tools = Tally(), Tools()
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    tally.both, tally.more, tally.less, tally.skipped, tally.shown = 0, *(collections.Counter() for _ in range(3)), {}
    names(tally, tools)
    objects(tally, tools, cases)
    broken(tally, tools, cases)
    print(f"broken copies that both read: {tally.both}")
    for title, counter in ("only amn reads", tally.more), ("only torch reads", tally.less), ("skipped", tally.skipped):
        for text, n in counter.most_common():
            print(f"{title}: {n} x {text} [{tally.shown.get(text, '')}]")
    tally.finish()


main()
