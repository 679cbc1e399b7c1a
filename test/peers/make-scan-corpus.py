#!/usr/bin/env python3
r"""make-scan-corpus.py CORPUS: write CORPUS/scan/*, files that try to pass `amn-inspect --scan`, and CORPUS/scan/expected.ndjson.

A payload does no more than `echo >ran` in an empty folder. Each file is loaded there by the library that it is made for,
in a process of its own, so that "runs" is what happened: true when the file ran has appeared. A file whose "runs" is true is
never expected to be clean. Run by hand when a case is added, in the environment of requirements.txt with joblib:

    python test/peers/make-scan-corpus.py test/corpus

The tricks are those of the advisories and issues of picklescan, fickling and modelscan, and of what follows from how torch,
NumPy, joblib, zipfile and tarfile find the first byte that they unpickle. names.txt lists the globals that were reported
there; the test makes a pickle of each.
"""
import bz2, concurrent.futures, gzip, io, json, lzma, os, random, shutil, struct, subprocess, sys, tarfile, tempfile, zipfile, zlib

corpus = os.path.join(sys.argv[1], "scan")
entries = []
COMMAND = b"echo >ran"
P0 = b"cos\nsystem\n(S'" + COMMAND + b"'\ntR."
P2 = b"\x80\x02cos\nsystem\nX\x09\0\0\0" + COMMAND + b"\x85R."
GOOD = b"\x80\x02ccollections\nOrderedDict\n)R."
PLAIN = b"\x80\x02}."


def text(s):
    return b"\x8c" + bytes([len(s)]) + s.encode()


P4 = b"\x80\x04" + text("os") + text("system") + b"\x93" + text(COMMAND.decode()) + b"\x85R."
BARE4 = P4[2:]                          # the same without a PROTO

LOADERS = {
    "pickle": "import pickle; pickle.load(open(f, 'rb'))",
    "pickles": "import pickle; h = open(f, 'rb')\nwhile True: pickle.load(h)",
    "torch": "import torch; torch.load(f, weights_only=False)",
    "numpy": "import numpy; a = numpy.load(f, allow_pickle=True)\nif hasattr(a, 'files'): [a[k] for k in a.files]",
    "joblib": "import joblib; joblib.load(f)",
    "zipfile": "import zipfile, pickle\nfor n in (z := zipfile.ZipFile(f)).namelist():\n try: pickle.loads(z.read(n))\n except Exception: pass",
    "tarfile": "import tarfile, pickle\nfor m in (t := tarfile.open(f)): pickle.load(t.extractfile(m))",
    "unzip, torch": "import zipfile, torch, io; z = zipfile.ZipFile(f)\nfor n in z.namelist(): open('m', 'wb').write(z.read(n)); torch.load('m', weights_only=False)",
    "untar, torch": "import tarfile, torch, io; t = tarfile.open(f)\nfor m in t: open('m', 'wb').write(t.extractfile(m).read()); torch.load('m', weights_only=False)",
    "unzip, joblib": "import zipfile, joblib, io; z = zipfile.ZipFile(f)\nfor n in z.namelist(): joblib.load(io.BytesIO(z.read(n)))",
    "persistent": "import pickle\nclass U(pickle.Unpickler):\n def persistent_load(self, i): return i\nU(open(f, 'rb')).load()",
    "buffers": "import pickle; pickle.load(open(f, 'rb'), buffers=[b'x'] * 9)",
    "extension": "import copyreg, pickle, os; copyreg.add_extension('os', 'system', 1); pickle.load(open(f, 'rb'))",
}


def runs(path, loader):
    folder = tempfile.mkdtemp()
    code = "f = %r\n%s" % (os.path.abspath(path), LOADERS[loader])
    subprocess.run([sys.executable, "-c", code], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    ran = os.path.exists(os.path.join(folder, "ran"))
    shutil.rmtree(folder)
    return ran


def put(name, data, verdict, status, why, loader=None, want=None):
    """Writes a case. `want`: the required value of "runs"; without it, true if a loader is given."""
    path = os.path.join(corpus, name)
    with open(path, "wb") as f:
        f.write(data)
    entry = {"file": name, "verdict": verdict, "status": status, "why": why}
    if loader:
        entry["loader"], entry["runs"] = loader, True if want is None else want
    entries.append(entry)


def found(name, data, why, loader=None, want=None):
    put(name, data, "found", 1, why, loader, want)


def zipped(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members:
            z.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def pth(pickle, *more, method=zipfile.ZIP_STORED):
    return zipped([("a/data.pkl", pickle), ("a/version", b"3\n"), ("a/byteorder", b"little"), *more], method)


def header(name, n, kind=b"0", magic=b"ustar\x0000", link=b""):
    h = bytearray(512)
    h[:len(name)] = name
    h[100:108], h[108:116], h[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
    h[124:136], h[136:148], h[156:157] = b"%011o\0" % n, b"%011o\0" % 0, kind
    h[157:157 + len(link)] = link
    h[257:257 + len(magic)] = magic
    h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)


def member(name, data, **how):
    return header(name, len(data), **how) + data + bytes(-len(data) % 512)


END = bytes(1024)


def tars():
    others = member(b"tensors", b"K\0.") + member(b"pickle", PLAIN) + END
    for label, payload in (("p0", P0), ("p1", b"cos\nsystem\nU\x09" + COMMAND + b"\x85R."), ("bare4", BARE4), ("p2", P2)):
        found("tar-torch-%s.pt" % label, member(b"storages", payload) + others, "torch's own member names, a pickle of %s" % label,
              "torch")
        found("tar-%s.tar" % label, member(b"x", payload) + END, "a member that is a pickle of %s" % label, "tarfile")
    found("tar-tensors-p0.pt", member(b"storages", b"K\0.].") + member(b"tensors", P0) + END, "protocol 0 in tensors", "torch")
    found("tar-object-p0.pt", member(b"storages", b"K\0.].") + member(b"tensors", b"K\0.") + member(b"pickle", P0) + END,
          "protocol 0 as the object", "torch")
    found("tar-v7.pt", member(b"storages", P0, magic=b"") + others, "a tar archive without a magic", "torch")
    found("tar-link.pt", member(b"x", P0) + header(b"storages", 0, kind=b"1", link=b"x") + others,
          "storages is a link to another member", "torch")
    pax = b"17 path=storages\n"
    found("tar-pax.pt", member(b"h", pax, kind=b"x") + member(b"x", P0) + others, "storages is named by an extended header",
          "torch")
    gap = (b"\x80\x02K\x01." + b"\x80\x02K\0X\3\0\0\0cpuctorch\nFloatStorage\n\x87." + struct.pack("<q", 3) + bytes(range(1, 13)) + P0)
    found("tar-gap-p0.pt", member(b"storages", gap) + others, "protocol 0 after the elements of a storage", "torch")
    found("tar-after-end.tar", member(b"x", b"text") + END + P2, "a pickle after the end of a tar archive")
    both = bytearray(header(P0, 0))
    found("tar-and-pickle.pkl", bytes(both) + END, "the name of the first member is a pickle", "pickle")
    body = b"\x80\x02U\xff" + bytes(253)
    body = body[:257] + b"ustar" + bytes(2) + b"0"
    assert body[257:262] == b"ustar"
    body = b"\x80\x02X" + struct.pack("<I", len(body) - 7) + body[7:] + b"0" + P2[2:]
    found("ustar-at-257.pkl", body, "ustar at byte 257 of a pickle", "pickle")
    found("ustar-at-257.pt", body, "ustar at byte 257 of a pickle", "torch")
    inner = pth(P2)
    found("tar-with-zip.nemo", member(b"weights.ckpt", inner) + END, "a checkpoint in a tar archive", "untar, torch")
    put("tar-clean.tar", member(b"readme", b"a model\n") + member(b"weights.ckpt", pth(GOOD)) + END, "clean", 0,
        "a tar archive of a text and a clean checkpoint")


def polyglots():
    gguf = b"GGUF\3\0\0\0\0" + b"0" + P0
    found("gguf-p0.pkl", gguf, "GGUF is BINFLOAT and its argument", "pickle")
    found("gguf-p0.pt", gguf, "GGUF is BINFLOAT and its argument", "torch")
    found("gguf-4.pkl", b"GGUF\3\0\0\0\0" + b"0" + BARE4, "the same with STACK_GLOBAL", "pickle")
    found("fugg.pkl", b"FUGG\n0" + P0, "FUGG is FLOAT and a line", "pickle", False)
    head = b'{"__metadata__":{"x":"\n0cos\nsystem\n(S\'' + COMMAND + b'\'\ntR."}}'
    found("safetensors-line.pkl", b"V" + struct.pack("<Q", len(head))[1:] + head, "a length of safetensors that is UNICODE", "pickle")
    head = b"{" + b" " * (0x58 - 1)
    head = b'{"__metadata__":{"x":"' + b" " * 100 + P0.replace(b"\n", b"\n") + b'"}}'
    n = b"U" + bytes([len(b"\0\0\0\0\0\0" + head[:22 + 100])])      # SHORT_BINSTRING over the rest of the length and the JSON
    found("safetensors-string.pkl", n + bytes(6) + head.replace(P0, b"0" + P0), "a length of safetensors that is SHORT_BINSTRING",
          "pickle")
    polyglot_tar()
    found("zip-p0.pkl", b"PK\x05\x06" + b"\n" + P0, "PK is PERSID", "persistent")


def polyglot_tar():
    """Writes a file that safetensors accepts, whose header is also that of a tar archive."""
    size = 1024                                         # of the safetensors header with its length: two blocks
    fields = {100: b"0000644 ", 108: b"0000000 ", 116: b"0000000 ", 124: b"%011o " % (size - 512), 136: b"00000000000 ",
              156: b"0", 257: b"ustar  ", 329: b"0000000 ", 337: b"0000000 "}
    tar = member(b"storages", P0) + member(b"tensors", b"K\0.") + member(b"pickle", PLAIN) + END
    start = b'{"__metadata__":{"a":"'
    end = b'"},"t":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (len(tar), len(tar))
    head = bytearray(struct.pack("<Q", size - 8) + start + b"x" * (size - 8 - len(start) - len(end)) + end)
    for at, field in fields.items():
        head[at:at + len(field)] = field
    head[148:156] = b" " * 8
    head[148:156] = b"%07o " % sum(head[:512])
    data = bytes(head) + tar
    from safetensors import safe_open
    found("safetensors-tar.pt", data, "a safetensors file that is a tar archive of torch's too", "torch")
    with safe_open(os.path.join(corpus, "safetensors-tar.pt"), "numpy") as f:
        assert f.keys() == ["t"]


def npy(descr, payload, shape="(1,)", version=1, pad=0):
    head = ("{'descr': %s, 'fortran_order': False, 'shape': %s, }" % (descr, shape)).encode() + b" " * pad
    fixed = 10 if version == 1 else 12
    head += b" " * (-(len(head) + fixed + 1) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(head))
    return b"\x93NUMPY" + bytes([version, 0]) + length + head + payload


def arrays():
    ways = {
        "object": "'object'", "object_": "'object_'", "escape": r"'|\x4f'", "octal": r"'\117'", "unicode": r"'\u004f'",
        "named": r"'\N{LATIN CAPITAL LETTER O}'", "joined": "'|' 'O'", "prefix": "u'O'", "raw": "r'O'", "triple": "'''O'''", "size": "'O8'",
        "fields": "[('a', '<f4'), ('b', 'object')]", "titles": "[(('t', 'b'), 'O')]", "subarray": "('O', (1,))",
        "nested": "[('a', [('b', '|\\x4f')])]", "equal": "'=O'", "word": "'object0'", "dict": "{'names': ['a'], 'formats': ['O']}",
        "commas": "'f4,O'", "title": "'Object'",
    }
    payload = P2.replace(b"\x80\x02", b"\x80\x03")
    for label, descr in ways.items():
        data = npy(descr, payload)
        probe = os.path.join(tempfile.gettempdir(), "probe.npy")
        with open(probe, "wb") as f:
            f.write(data)
        if not runs(probe, "numpy"):
            print("not a way of NumPy %s: %s" % (label, descr))
            continue
        found("npy-%s.npy" % label, data, "descr: %s" % descr, "numpy")
        found("npz-%s.npz" % label, zipped([("a.npy", data)]), "descr: %s" % descr, "numpy")
    found("npz-blanks.npz", zipped([("a.npy", npy("'|O'", payload, version=2, pad=1 << 20))], zipfile.ZIP_DEFLATED),
          "'|O', a megabyte of blanks and the pickle", "numpy")
    found("npz-blanks-before.npz", zipped([("a.npy", npy(" " * (1 << 20) + "'|O'", payload, version=2))], zipfile.ZIP_DEFLATED),
          "a megabyte of blanks, '|O' and the pickle", "numpy")
    found("npy-p0.npy", npy("'O'", P0), "an object array by protocol 0", "numpy")
    put("npy-words.npy", npy("'object'", GOOD), "unknown", 69, "descr: 'object', and a clean pickle")
    put("npy-bytes.npy", npy("'<f4'", bytes(4) + P2), "unknown", 65, "bytes after the elements", "numpy", False)
    put("npz-clean.npz", zipped([("a.npy", npy("'<f4'", bytes(4))), ("b.npy", npy("[('a', '<f4')]", bytes(4)))]), "clean", 0,
        "arrays without objects")
    found("npz-not-npy.npz", zipped([("a", P0), ("b.npy", npy("'<f4'", bytes(4)))]), "a member that is a pickle", "zipfile")


def archives():
    clean = pth(GOOD)
    shifted = io.BytesIO(GOOD)
    shifted.seek(0, 2)
    with zipfile.ZipFile(shifted, "a") as z:
        z.writestr(zipfile.ZipInfo("x"), P0)
    found("pickle-then-zip.pkl", shifted.getvalue(), "a clean pickle, then a ZIP archive with right offsets", "zipfile")
    put("pickle-then-clean-zip.pkl", GOOD + clean, "unknown", 65, "a clean pickle, then a clean ZIP archive")
    found("zip-then-zip.pt", clean + pth(P2), "two archives, each with its directory", "zipfile")
    found("zip-in-zip.zip", zipped([("m.pt", pth(P2))]), "an archive in an archive", "unzip, torch")
    found("zip-in-zip-deflated.zip", zipped([("m.pt", pth(P2))], zipfile.ZIP_DEFLATED), "the same, deflated", "unzip, torch")
    found("zip-in-zip-p0.zip", zipped([("m", zipped([("n", P0)]))]), "an archive in an archive, without an extension")
    found("zip-in-zip-junk.zip", zipped([("m.pt", b"junk" * 9 + zipped([("n", P0)]))]), "an archive after other bytes in an archive")
    found("tar-in-zip.zip", zipped([("m.tar", member(b"storages", P0) + member(b"tensors", b"K\0.") + END)]), "a tar archive in an archive",
          "unzip, torch")
    found("gzip-in-zip.zip", zipped([("m.gz", gzip.compress(P2, mtime=0))]), "a gzip stream in an archive", "unzip, joblib")
    put("bzip2-in-zip.zip", zipped([("m.bz2", bz2.compress(P2))]), "unknown", 69, "a bzip2 stream in an archive", "unzip, joblib")
    put("zlib-in-zip.zip", zipped([("m.z", zlib.compress(P2))]), "unknown", 69, "a zlib stream in an archive", "unzip, joblib")
    put("lzma-in-zip.zip", zipped([("m.lzma", lzma.compress(P2, lzma.FORMAT_ALONE))]), "unknown", 69, "an LZMA stream in an archive",
        "unzip, joblib")
    deep = P2
    for i in range(8):
        deep = zipped([("m", deep)])
    found("zip-deep.zip", deep, "an archive in an archive, eight times")
    found("padding-p0.pkl", GOOD + bytes(1000) + P0, "protocol 0 after padding", "pickle", False)
    found("padding-p2.pkl", GOOD + bytes(1000) + P2, "protocol 2 after padding")
    put("padding.pkl", GOOD + bytes(1000), "unknown", 65, "padding after a pickle")
    found("second-p0.pkl", GOOD + P0, "a second pickle by protocol 0", "pickles")
    found("second-bare4.pkl", GOOD + BARE4, "a second pickle without a PROTO", "pickles")
    found("zip-member-p0.pt", pth(GOOD, ("a/data/evil", P0)), "protocol 0 under the name of a storage", "zipfile")
    cut = clean.index(b"PK\1\2")
    end = clean[cut:]
    gap = bytearray(clean[:cut] + P0 + end)
    gap[-6:-2] = struct.pack("<I", cut + len(P0))
    put("zip-gap-p0.pt", bytes(gap), "unknown", 65, "protocol 0 between the last member and the directory", "torch", False)
    found("zip-suffix.txt", zipped([("a/data.txt", P2), ("a/readme.txt", P0)]), "pickles under names of texts", "zipfile")
    head = struct.pack("<Q", 88) + b'{"t":{"dtype":"U8","shape":[%04d],"data_offsets":[0,%04d]}}'
    inner = io.BytesIO(bytes(96))
    inner.seek(0, 2)
    with zipfile.ZipFile(inner, "a") as z:
        z.writestr(zipfile.ZipInfo("x"), P0)
    tail = inner.getvalue()[96:]
    st = (head % (len(tail), len(tail))).ljust(96) + tail
    found("safetensors-zip.safetensors", st, "the last tensor of a safetensors file is a ZIP archive", "zipfile")
    put("code.pt", pth(GOOD, ("a/code/__torch__.py", b"op_version_set = 1\n")), "unknown", 69, "TorchScript's code")
    put("package.zip", zipped([("p/.data/version", b"1"), ("p/m/evil.py", b"import os; os.system('echo >ran')\n")]), "unknown", 69,
        "a program in an archive")
    found("flag-local.pt", patch(pth(P2), 6, 1), "the local header alone says encrypted (GHSA-w8jq-xcqf-f792)", "torch")
    at = pth(P2).index(b"PK\1\2")
    found("flag-both.pt", patch(patch(pth(P2), 6, 1), at + 8, 1), "both headers say encrypted", "torch", False)
    found("crc.pt", pth(P2).replace(struct.pack("<I", zlib.crc32(P2)), b"\1\2\3\4"), "a wrong checksum (CVE-2025-10156)", "zipfile", False)
    found("name-local.pt", pth(P2).replace(b"a/data.pkl", b"a/data.txt", 1), "another name in the local header (GHSA-7q5r-7gvp-wc82)",
          "torch")
    found("name-directory.pt", pth(P2)[:at] + pth(P2)[at:].replace(b"a/version", b"a/VERSION"), "another name in the directory alone")
    found("comment.pt", pth(P2)[:-2] + b"\5\0" + b"PK\5\6!", "a comment that looks like an end record", "torch")
    found("extension.bin", P2, "a pickle with another extension (CVE-2025-1889)", "pickle")
    put("7zip.pt", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(24) + P2, "unknown", 69, "a 7-Zip archive as .pt (nullifAI)")
    put("method-bzip2.zip", zipped([("x.pkl", P2)], zipfile.ZIP_BZIP2), "unknown", 69, "a member by bzip2", "zipfile")
    put("method-lzma.zip", zipped([("x.pkl", P2)], zipfile.ZIP_LZMA), "unknown", 69, "a member by LZMA", "zipfile")
    broken = bytearray(zipped([("x", GOOD * 40 + P2)], zipfile.ZIP_DEFLATED))
    broken[45] ^= 0xFF
    put("deflate-broken.zip", bytes(broken), "unknown", 65, "a deflated member that is damaged")


def patch(data, at, byte):
    return data[:at] + bytes([byte]) + data[at + 1:]


def compressed():
    found("joblib.gz", gzip.compress(P2, mtime=0), "joblib's gzip", "joblib")
    found("joblib.xz", lzma.compress(P2), "joblib's xz", "joblib")
    put("joblib.bz2", bz2.compress(P2), "unknown", 69, "joblib's bzip2", "joblib")
    put("joblib.z", zlib.compress(P2), "unknown", 69, "joblib's zlib", "joblib")
    put("joblib.lzma", lzma.compress(P2, lzma.FORMAT_ALONE), "unknown", 69, "joblib's lzma", "joblib")
    put("twice.gz", gzip.compress(gzip.compress(P2, mtime=0), mtime=0), "unknown", 69, "gzip in gzip")
    inside = zipped([("x", P0)])
    plain = gzip.compress(GOOD, mtime=0)
    put("gzip-extra.gz", plain[:3] + b"\4" + plain[4:10] + struct.pack("<H", len(inside)) + inside + plain[10:], "unknown", 69,
        "an archive in the header of a gzip stream", "zipfile")
    frame = b"\x28\xb5\x2f\xfd\0\x38" + struct.pack("<I", len(GOOD) << 3 | 1)[:3] + GOOD
    put("zstd-skipped.zst", frame + struct.pack("<II", 0x184D2A50, len(inside)) + inside, "unknown", 69,
        "an archive in a skippable frame of zstd", "zipfile")
    put("cut.gz", gzip.compress(GOOD, mtime=0)[:-6], "unknown", 65, "a gzip stream that is cut")
    put("tail.gz", gzip.compress(P2, mtime=0) + P0, "unknown", 65, "bytes after a gzip stream")


def pickles():
    """Ways for pickles to be overlooked."""
    found("broken-off.pkl", P2[:-1], "no STOP after the payload", "pickle")
    found("garbage.pkl", P2[:-1] + b"\xff\xff", "no opcode after the payload (broken on purpose)", "pickle")
    found("inst.pkl", b"(S'" + COMMAND + b"'\nios\nsystem\n.", "INST", "pickle")
    found("obj.pkl", b"(cos\nsystem\nS'" + COMMAND + b"'\no.", "OBJ", "pickle")
    found("newobj-pty.pkl", b"(cpty\nspawn\n(lS'sh'\naS'-c'\naS'" + COMMAND + b"'\nao.", "pty.spawn by OBJ (fickling 108)", "pickle")
    found("memo.pkl", b"\x80\x04" + text("system") + b"\x940" + text("os") + b"\x940h\1h\0\x93" + text(COMMAND.decode()) + b"\x85R.",
          "names by way of the memo (picklescan 22)", "pickle")
    found("memo-negative.pkl", b"Vos\np-0\n0g-0\nVsystem\n\x93V" + COMMAND + b"\n\x85R.", "a memo by -0", "pickle")
    found("dup.pkl", b"\x80\x04" + text("os") + b"2" + b"0" + text("system") + b"\x93" + text(COMMAND.decode()) + b"\x85R.", "DUP", "pickle")
    found("extension.pkl", b"\x80\x02\x82\1X\x09\0\0\0" + COMMAND + b"\x85R.", "EXT1", "extension")
    found("next-buffer.pkl", b"\x80\x05\x970" + P2[2:], "NEXT_BUFFER", "buffers")
    found("persid.pkl", b"Pos\n0" + P0, "PERSID", "persistent")
    found("persid-name.pkl", b"Pos\nPsystem\n\x93V" + COMMAND + b"\n\x85R.", "names that are persistent ids", "persistent")
    found("frame.pkl", b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + P4[2:], "a FRAME beyond the file", "pickle", False)
    found("numpy-prod.pkl", b"\x80\x05cnumpy\nprod\nN(Va\nVos\nd\x86bN(Vb\nVsystem\nd\x86b0cnumpy\nprod.a\np0\ncnumpy\nprod.b\np1\n"
          b"00g0\ng1\n\x93V" + COMMAND + b"\n\x85R.", "names that are attributes (modelscan 85)", "pickle")
    nested = b"cpickle\nloads\n(B" + struct.pack("<I", len(P2)) + P2 + b"tR."
    found("nested-loads.pkl", b"\x80\x03" + nested, "pickle.loads of a string (modelscan 267)", "pickle")
    resolve = b"\x80\x02cpkgutil\nresolve_name\nX\x09\0\0\0os.system\x85RX\x09\0\0\0" + COMMAND + b"\x85R."
    found("resolve-name.pkl", resolve, "pkgutil.resolve_name (GHSA-vvpj-8cmc-gx39)", "pickle")
    found("import-module.pkl", b"\x80\x02cbuiltins\ngetattr\ncimportlib\nimport_module\nX\2\0\0\0os\x85RX\6\0\0\0system\x86RX\x09\0\0\0"
          + COMMAND + b"\x85R.", "importlib.import_module and getattr (modelscan 331)", "pickle")
    found("methodcaller.pkl", b"\x80\x02coperator\nmethodcaller\nX\6\0\0\0systemX\x09\0\0\0" + COMMAND + b"\x86Rcimportlib\nimport_module\n"
          b"X\2\0\0\0os\x85R\x85R.", "operator.methodcaller (GHSA-955r-x9j8-7rhh)", "pickle")
    found("partial.pkl", b"\x80\x02cfunctools\npartial\ncos\nsystem\nX\x09\0\0\0" + COMMAND + b"\x86R)R.", "functools.partial", "pickle")
    found("pipe-pager.pkl", b"\x80\x02cpydoc\npipepager\nX\0\0\0\0X\x09\0\0\0" + COMMAND + b"\x86R.", "pydoc.pipepager", "pickle")
    found("timeit.pkl", b"\x80\x02ctimeit\ntimeit\nU\x04passU\x24__import__('os').system('echo >ran')\x86R.", "timeit.timeit", "pickle")
    found("cprofile.pkl", b"\x80\x02ccProfile\nrun\nU\x24__import__('os').system('echo >ran')\x85R.", "cProfile.run", "pickle")
    found("runstring.pkl", b"\x80\x02cnumpy.testing._private.utils\nrunstring\nU\x24__import__('os').system('echo >ran')}\x86R.",
          "numpy.testing", "pickle")
    found("collect-env.pkl", b"\x80\x02ctorch.utils.collect_env\nrun\nX\x09\0\0\0" + COMMAND + b"\x85R.", "torch.utils.collect_env.run",
          "pickle")
    put("unknown-name.pkl", b"\x80\x02cmy.model\nNet\n)R.", "unknown", 77, "a global that nobody knows")
    put("numpy-object.npy", npy("'|O'", b"\x80\x03cnumpy\nndarray\n0cnumpy\ndtype\n0N."), "clean", 0, "what an array of objects names")


def clean():
    rng = random.Random(22)
    head = b'{"t":{"dtype":"U8","shape":[4096],"data_offsets":[0,4096]}}'
    for first in (b"c", b"V", b"\x80", b"X", b"\x8d", b"p", b"i", b"("):
        n = first[0] + (256 if first[0] < len(head) else 0)
        put("clean-%02x.safetensors" % first[0], struct.pack("<Q", n) + head.ljust(n) + rng.randbytes(4096), "clean", 0,
            "a header whose length begins with this opcode")
    put("clean.pkl", GOOD, "clean", 0, "a pickle of what tensors need")
    put("clean-two.pkl", PLAIN + PLAIN, "clean", 0, "two pickles")
    put("clean.pt", pth(GOOD, ("a/data/0", b"c" + rng.randbytes(4000)), ("a/data/1", b"\x80\x02" + rng.randbytes(4000)),
                        ("a/data/2", b"P" + rng.randbytes(4000))), "clean", 0, "storages of random bytes")
    put("clean-cut.pt", pth(GOOD)[:-9], "unknown", 65, "a clean checkpoint that is cut")
    put("text", b"import os\nimport sys\nconfig\nthe end.\n", "unknown", 65, "a text")


NAMES = """
asyncio.unix_events._UnixSubprocessTransport._start _aix_support._read_cmd_output _osx_support._read_output _io.FileIO
_operator.attrgetter _operator.methodcaller _pyrepl.pager.pipe_pager aiohttp.ClientSession bdb.Bdb.run builtins.__import__
builtins.breakpoint builtins.compile builtins.delattr builtins.eval builtins.exec builtins.getattr builtins.open builtins.setattr
cProfile.run cProfile.runctx cloudpickle.loads code.InteractiveInterpreter.runcode codeop.compile_command commands.getoutput
ctypes.CDLL dill.loads distutils.file_util.write_file doctest.debug_script ensurepip._run_pip ensurepip.bootstrap
fickling.fickle.Pickled filecmp.cmp fileinput.input functools.partial functools.reduce gc.get_objects glob.glob
http.client.HTTPSConnection idlelib.autocomplete.AutoComplete.fetch_completions idlelib.autocomplete.AutoComplete.get_entity
idlelib.calltip.Calltip.fetch_tip idlelib.calltip.get_entity idlelib.debugobj.ObjectTreeItem.SetText
idlelib.pyshell.ModifiedInterpreter.runcode idlelib.pyshell.ModifiedInterpreter.runcommand idlelib.run.Executive.runcode
imaplib.IMAP4_stream importlib.import_module importlib.machinery.SourceFileLoader inspect.getsource io.FileIO io.open joblib.load
lib2to3.pgen2.grammar.Grammar.loads lib2to3.pgen2.pgen.ParserGenerator.make_label linecache.getlines logging.FileHandler
logging.config._resolve marshal.loads multiprocessing.util.spawnv_passfds nt.system numpy.distutils.exec_command.exec_command
numpy.f2py.crackfortran._eval_length numpy.f2py.crackfortran.getlincoef numpy.f2py.crackfortran.myeval
numpy.testing._private.utils.runstring operator.attrgetter operator.itemgetter operator.methodcaller os.execv os.popen os.system
pdb.run pickle.load pickle.loads picklescan.scanner.scan_file_path pip._internal.cli.main.main pip.main pkgutil.resolve_name
platform.popen platform.subprocess posix.system profile.Profile.run profile.Profile.runctx profile.run pty.spawn pydoc.locate
pydoc.pipepager requests.api.get requests.get runpy._run_code runpy.run_path shelve.open shutil.move shutil.rmtree
smtplib.SMTP socket.create_connection sqlite3.connect ssl.get_server_certificate subprocess.Popen subprocess.check_output sys.exit
tarfile.open tempfile.mkstemp test.support.script_helper.assert_python_ok threading.Timer timeit.main timeit.timeit torch._dynamo.guards.GuardBuilder.get
torch._inductor.codecache.compile_file torch.compile torch.fx.experimental.symbolic_shapes.ShapeEnv.evaluate_guards_expression
torch.hub.load torch.jit.unsupported_tensor_ops.execWrapper torch.load torch.serialization.load torch.storage._load_from_bytes
torch.utils._config_module.ConfigModule.load_config torch.utils.bottleneck.__main__.run_autograd_prof
torch.utils.bottleneck.__main__.run_cprofile torch.utils.collect_env.run torch.utils.data.datapipes.utils.decoder.basichandlers
torch.distributed.elastic.rendezvous.api.basichandlers trace.Trace.run trace.Trace.runctx types.CodeType types.FunctionType
unittest.mock._importer urllib.request.urlopen urllib.request.urlretrieve uuid._get_command_stdout venv.create webbrowser.open xmlrpc.client.ServerProxy
zipfile.ZipFile zipimport.zipimporter
"""
# No list is complete: an unknown name makes the verdict unknown.
UNKNOWN = """
mlflow.projects.backend.local._run_entry_point numpy.load numpy.prod numpy.size numpy.testing.rundocs nltk.data.load
pandas.eval pandas.io.parsers.readers.read_csv pandas.read_pickle sklearn.utils._joblib.load tensorflow.io.gfile.copy
torch.nn.modules.container.Sequential torch.utils.cpp_extension.load_inline transformers.dynamic_module_utils.get_class_in_module
"""


def names():
    with open(os.path.join(corpus, "names.txt"), "w") as f:
        for verdict, names in (("found", NAMES), ("unknown", UNKNOWN)):
            for name in sorted(names.split()):
                f.write("%s %s\n" % (verdict, name))


shutil.rmtree(corpus, ignore_errors=True)
os.makedirs(corpus)
for make in (tars, polyglots, arrays, archives, compressed, pickles, clean, names):
    make()

with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    loaded = [e for e in entries if "loader" in e]
    proofs = pool.map(lambda e: runs(os.path.join(corpus, e["file"]), e["loader"]), loaded)
    wrong = ["%s: runs is %s by %s" % (e["file"], ran, e["loader"]) for e, ran in zip(loaded, proofs) if ran != e["runs"]]
if wrong:
    print(*wrong, sep="\n")

with open(os.path.join(corpus, "expected.ndjson"), "w") as f:
    for entry in sorted(entries, key=lambda e: e["file"]):
        f.write(json.dumps(entry) + "\n")
sys.exit(1 if wrong else 0)
