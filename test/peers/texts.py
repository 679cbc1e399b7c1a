"""texts: a page of mixed text, on which tokenizers are compared; and texts with the special tokens of test tokenizers."""

TEXTS = [
    "Hello world", " the ship", "  two spaces and   three    four     five", "the ship\u00a0left\u2003the harbour", "trailing space ",
    "trailing spaces   ", " ", "  ", "    ", "I'm sure they've said it's ours; WE'LL see, THEY'RE gone, I'D say 'tis DON'T don’t he's'",
    "1 22 333 4444 55555 666666 7777777 3.14159 1,000,000 0x1F", "½ ² Ⅷ ٣٤٥ ４５６", "12345678901234567890", "1a2b3c 4d5 6e7 b22 c333 d4444",
    "café naïve über CAFÉ ÉTÉ Éa éA straße İstanbul ǅ ß ẞ ŉ ſ", "cafe\u0301 n\u0303 a\u0308\u0323", "Москва 東京 ひらがな カタカナ 한국어 中文，标点。「」",
    "أين ذهبت السفينة، مرحبا שלום בית", "हिन्दी में बच्चे ने पूछा தமிழ் ไทยไม่มีช่องว่าง", "🙂🙃 👩‍👩‍👧 🇩🇪 👍🏽 ❤️ ☃ ∑∫√ → ← ♞",
    "camelCase PascalCase snake_case SCREAMING_CASE HTTPServer iPhone mRNA x86_64", "for (int i = 0; i < n; i++) { a[i] += b->c[i]; } // done!!!",
    "def f(x):\n    return x**2\n\n\n    # comment\n", "if (a&&b||!c) x=~y^z; /* ??? */ \"quoted\" 'single' `tick` <tag/> #hash @at $5 100%",
    "\n", "\n\n\n", "\r\n windows\r\n\r\n lines\r mac", " \n \n  \n x", "\t\ttabs\tand  \t mixed \t", "a\u200bb\u200dc\ufeffd soft\u00adhyphen",
    "... .. . ,,, ;; !? ?! -- --- — – … “quotes” ‘single’", "https://example.org/a/b?c=d&e=f#g user@example.com /usr/bin/env C:\\x\\y",
    "x  y   z    w     v", "aaaaaaaa aaaaaaaaaaaaaaaaaaaaa abababab thethethe", "THE THe ThE tHE the", "\u0001\u007f\u0080x",
    "the ship left the harbour in the morning and came back at night, the rain fell on the sea", "a\u3000b\u2028c\u2029d\u0085e",
    "mixedабв中文123abc", "'sword 'Twas 're 'RE 'Ve", " 'hello' (paren) [bracket] {brace}", "end.\n\nNext  paragraph", "a/b//c///d /\n/\n", "\ud7ff\ue000\ufffd",
    "η θάλασσα ήταν γκρίζα ΘΑΛΑΣΣΑ", "x\n  y\n\t z\n", "____ ---- ==== ++++ ~~~~", "ab12cd34 !!x !!\n ??\n\n",
]
TAGGED = [
    "<|start|>hello<|end|>", "<|start|> hello <|end|> \n x", "a<tool>b <tool> c", "<|start|><|end|><|start|>", "<|end|>\n\nthe ship", "the<|start|>ship  <|end|>  left",
    "<|start", "< |start|>", "<tool", "<|start|>\tx", "the <|end|>",
]
