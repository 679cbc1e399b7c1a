#!/usr/bin/env python3
"""Write test/corpus/hf-titles.json: general.name according to gguf-py, from the files of a model directory.

usage: make-hf-titles.py LLAMA_CPP OUTPUT

LLAMA_CPP is the folder with gguf-py/ (the source archive of llama-cpp-python has it as vendor/llama.cpp). Each row has
README.md and _name_or_path of config.json, null for none, and the name, null if it would be that of the directory.
"left": ours supports less YAML, and has another name or none.
"""
import json, os, sys, tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(sys.argv[1], "gguf-py"))
from gguf.metadata import Metadata

IDS = ["meta-llama/Llama-3.2-1B-Instruct", "Qwen2.5-0.5B", "qwen2-7b-chat-v0.3", "mistralai/Mistral-7B-v0.1", "a name with-spaces x",
       "/home/me/models/x", "/x", "./out", "../out", "out/", "", "  padded-name ", "--a--b--", "checkpoint-1200", "v2", "v2.", "v.2", "v1.2.3x",
       "v2b-3b", "my_llama's-model", "tiny_3b2c-x9y", "gemma-3-4b-it", "org/some/deep", "a\tb-c", "iter3", "DeepSeek-r1-distill", "Caf\u00e9-v1-x"]
CARDS = ["---\nname: Given Name\n---\n# x\n", "---\nlicense: mit\nmodel_name: the-other  # so\n---\n", "name: no front matter\n",
         "---\nname: 'it''s'\n---\n", '---\nname: "quoted # name"  # x\n---\n', "---\nname:\nmodel_name: m\n---\n", "---\nname: null\n---\n",
         "---\nname: a\nname: b\n---\n", "---\r\nname: crlf name\r\n---\r\n", "", "---\n", "---\nname: unclosed\n", "--- \nname: x\n---\n",
         "---\nmodel:\n  name: inner\n---\n", "---\nname: one\n  two\n---\n", "---\nname: >\n  folded\n---\n", '---\nname: "a\\tb"\n---\n',
         "---\nname: a#b\n---\n", "---\nnames: x\n---\n", "---\nname:x\nlicense: mit\n---\n", "---\nname: caf\u00e9 1.5b\n---\n",
         "---\nname: 7b model\n---\n"]
LEFT = {"---\nname: one\n  two\n---\n", "---\nname: >\n  folded\n---\n", '---\nname: "a\\tb"\n---\n', "---\nname: 'it''s'\n---\n",
        "---\nname:x\nlicense: mit\n---\n"}


def row(card, name_or_path):
    with tempfile.TemporaryDirectory() as work:
        at = Path(work) / "zz-directory"
        at.mkdir()
        config = {} if name_or_path is None else {"_name_or_path": name_or_path}
        (at / "config.json").write_text(json.dumps(config))
        if card is not None:
            (at / "README.md").write_bytes(card.encode())
        try:
            name = Metadata.load(None, at, None, 0).name
        except Exception:
            name = "Zz Directory"
    out = {"card": card, "id": name_or_path, "name": None if name == "Zz Directory" else name}
    return {**out, "left": True} if card in LEFT else out


def main():
    rows = [row(None, i) for i in IDS] + [row(card, "org/by-config") for card in CARDS] + [row(CARDS[0], None), row(None, None)]
    text = "[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n"
    Path(sys.argv[2]).write_text(text)


main()
