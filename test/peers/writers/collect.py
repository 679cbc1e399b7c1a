"""collect.py MANIFEST <LINES: writes the manifest of the files that the programs in this folder wrote.

FILE <tab> writer <tab> note <tab> message <tab> arguments
<tab> tensor <tab> type <tab> dimensions, by commas <tab> its bytes, row-major and little-endian, in hexadecimal
"""

import hashlib
import json
import sys


def main():
    entries = []
    for line in sys.stdin:
        fields = line.rstrip("\n").split("\t")
        if fields[0]:
            name, by, note, says, args = fields
            entry = {"file": "writers/" + name, "tensors": [], "by": by, "note": note, "says": says}
            if "-of-" in name:
                entry["only"] = "file"
            if args:
                entry["args"] = args.split()
            entries.append(entry)
        else:
            _, name, dtype, dims, raw = fields
            digest = hashlib.sha256(bytes.fromhex(raw)).hexdigest()
            shape = [int(n) for n in dims.split(",") if n]
            entries[-1]["tensors"].append({"name": name, "dtype": dtype, "shape": shape, "sha256": digest})
    for entry in entries:
        if not entry["tensors"] and entry["says"]:
            del entry["tensors"]
            entry["class"] = "unsupported"
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.writelines(json.dumps(entry) + "\n" for entry in sorted(entries, key=lambda e: e["file"]))


main()
