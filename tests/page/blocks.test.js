import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { openBlock, rowOf } from "./build/blocks.js";

/** How many bytes are missing to a multiple of eight. */
const missing = (length) => (8 - (length % 8)) % 8;

/** A block as blocks.py writes it. */
function packed(values, arrays) {
  const places = {};
  const parts = [];
  let at = 0;
  for (const [name, [type, array]] of Object.entries(arrays)) {
    const bytes = Buffer.from(array.buffer);
    places[name] = [type, at, array.length];
    parts.push(bytes, Buffer.alloc(missing(bytes.length)));
    at += bytes.length + missing(bytes.length);
  }
  const json = Buffer.from(JSON.stringify({ values, arrays: places }));
  const text = Buffer.concat([json, Buffer.alloc(missing(json.length + 4), " ")]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return deflateSync(Buffer.concat([length, text, ...parts])).toString("base64");
}

test("a block has its values and its arrays, each of its type", async () => {
  const { values, arrays } = await openBlock(
    packed({ text: "größe" }, { a: ["u1", Uint8Array.of(1, 2, 255)], b: ["f8", Float64Array.of(0.1, Number.NaN)] }),
  );
  assert.deepEqual(values, { text: "größe" });
  assert.deepEqual(arrays, { a: Uint8Array.of(1, 2, 255), b: Float64Array.of(0.1, Number.NaN) });
});

test("a row has the values of its columns, and no others", () => {
  const table = { values: { a: ["x", "y"], b: [[1, 2]] }, arrays: { a: Uint8Array.of(2, 0), b: Uint8Array.of(0, 1) } };
  assert.deepEqual([rowOf(table, 0), rowOf(table, 1)], [{ a: "y" }, { b: [1, 2] }]);
});
