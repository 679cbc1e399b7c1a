// main.mjs FOLDER: files of npyjs, which collect.py describes.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { dump } from "npyjs";

const out = process.argv[2];

function write(name, note, values, shape, type, raw) {
    writeFileSync(join(out, name), new Uint8Array(dump(values, shape)));
    console.log([name, "npyjs 1.2.0", note, "", ""].join("\t"));
    console.log(["", "arr_0", type, shape.join(","), Buffer.from(raw.buffer).toString("hex")].join("\t"));
}

const matrix = new Float32Array([-2.25, -1.25, -0.25, 0.75, 1.75, 2.75]);
write("npyjs.npy", "dump of a typed array", matrix, [2, 3], "F32", matrix);
const note = "dump of a list: the narrowest type that holds its numbers";
write("npyjs-list.npy", note, [1, 2, 3], [3], "U8", new Uint8Array([1, 2, 3]));
