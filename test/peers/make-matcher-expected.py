#!/usr/bin/env python3
"""Print test/unit/matcher_expected.h: the results of Python's re and fnmatch for expressions and globs. Standard library only.

    python3 test/peers/make-matcher-expected.py > test/unit/matcher_expected.h
"""
import fnmatch
import random
import re

rnd = random.Random(7)
ATOMS = ["a", "b", "mlp", ".", r"\.", r"\d", r"\d+", r"\w", r"\S", "[ab]", "[^.]", "[a-m_]", "[0-9]+", "x", "_", "^", "$",
         "(a|b)", "(?:mlp|gate)", "(ab)*", "(a?b)+", "(|a)", "[]a]", "[a-]", r"[\d.]", "1"]
GLOBS = ["a", "b", ".", "*", "?", "[ab]", "[!a]", "mlp", "1", "[0-9]", "]", "[]a]"]
NAMES = ["a", "b", "a.b", "mlp", "model.layers.1.mlp.gate", "lm_head", "1", "a.1.b", "abab", "aab.mlp", "x_1", "gate", "",
         "model.visual.blocks.12.attn", "ab.ab", "]", "-"]


def c_string(s):
    return '"%s"' % s.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")


def bits(answers):
    return sum(1 << i for i, yes in enumerate(answers) if yes)


print("/* matcher_expected: for each pattern, one bit for each name that it matches, according to Python's re.match for an\n"
      " * expression and fnmatchcase for a glob. Made by test/peers/make-matcher-expected.py. */")
print("#ifndef MATCHER_EXPECTED_H\n#define MATCHER_EXPECTED_H\n\n#include <stdint.h>\n")
print("static const char *const expected_names[] = {\n%s};\n" % "".join("    %s,\n" % c_string(n) for n in NAMES))
print("static const struct { const char *pattern; uint32_t names; int glob; } expected_matches[] = {")
seen = set()
while len(seen) < 500:
    glob = len(seen) % 4 == 3
    parts = [rnd.choice(GLOBS if glob else ATOMS) for _ in range(rnd.randrange(1, 6))]
    if not glob:
        parts = [p + rnd.choice(["", "", "", "*", "+", "?", "*?"]) if p[-1] not in "+*^$" else p for p in parts]
        if rnd.randrange(5) == 0:
            parts.insert(rnd.randrange(len(parts)), "|")
    text = "".join(parts)
    if (text, glob) in seen:
        continue
    seen.add((text, glob))
    if glob:
        answers = [fnmatch.fnmatchcase(n, text) for n in NAMES]
    else:
        answers = [re.match(text, n) is not None for n in NAMES]
    print("    { %s, 0x%05x, %d }," % (c_string(text), bits(answers), glob))
print("};\n\n#endif")
