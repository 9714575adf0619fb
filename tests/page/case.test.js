import assert from "node:assert/strict";
import { test } from "node:test";
import { neighboursOf } from "../../harness/tconv/reports/page/case_data.js";
import { issueText } from "../../harness/tconv/reports/page/issue_text.js";
import { productWords, sumWords } from "../../harness/tconv/reports/page/sums.js";
import { LINE, PLANE } from "./geometries.js";

const grid = (shape, values) => ({ shape, values: Float32Array.from(values) });
const RUN = { key: "acme" };

const record = (id, status, run = RUN) => ({
  id,
  status,
  symbol: "",
  kind: "",
  run,
  labels: new Map([...id.matchAll(/(\w+)=(\w+)/gu)].map(([, key, value]) => [key, value])),
});

test("an element is told by its products, in the channels of its group", () => {
  assert.equal(
    productWords(LINE, [0, 4, 1]),
    "y[0, 4, 1]: 1 product in each of the input channels ic = 2 to 3: x[0, ic, 1]·w[ic, 1, 0]",
  );
  assert.match(productWords(LINE, [0, 0, -1]), /no product reaches it/u);
  assert.match(productWords(PLANE, [0, 0, 0, 1]), /4 products: x\[0, 0, 0, 0\]·w\[0, 0, 2, 2\] \+ /u);
});

test("a short sum is told in numbers, with the bias; a long one, or one without operands, is not", () => {
  const x = grid(
    [1, 1, 4, 6],
    Array.from({ length: 24 }, (_, k) => k),
  );
  const w = grid([1, 1, 3, 3], [1, 2, 3, 4, 5, 6, 7, 8, -9]);
  const index = [0, 0, 0, 1];
  assert.equal(sumWords(PLANE, index, { x, w, b: grid([1], [-2]) }), "0·(-9) + 1·7 + 6·3 + 7·1 + (-2) (bias) = 30");
  assert.equal(sumWords(PLANE, index, {}), "");
  assert.equal(sumWords({ ...PLANE, channels: 100 }, index, { x, w }), "");
});

test("neighbours differ in one label, are of the same run and sweep, and those that pass come first", () => {
  const own = record("a/b[s=1,d=1]", "failed");
  const records = [
    own,
    record("a/b[s=2,d=1]", "failed"),
    record("a/b[s=1,d=2]", "passed"),
    record("a/b[s=2,d=2]", "passed"),
    record("a/c[s=1,d=2]", "passed"),
    record("a/b[s=1,d=3]", "passed", { key: "other" }),
  ];
  assert.deepEqual(
    neighboursOf(own, records).map(({ differs, status }) => [differs, status]),
    [
      ["d: 1 → 2", "passed"],
      ["s: 1 → 2", "failed"],
    ],
  );
});

test("the bug report has what a reader needs, and no empty chapter", () => {
  const text = issueText({
    id: "a/b",
    dialect: "onnx/ConvTranspose-22",
    backend: "acme 2.1",
    why: { sentence: "failed: differed", explanation: "as if pads-exchanged", clause: "", candidates: [] },
    answers: [{ run: "zeta 1", dialect: "d", status: "passed", kind: "agreed", said: "exact", current: false }],
    geometry: LINE,
    call: { attributes: [["strides", "[3]"]], inputs: [["X", "[2, 4, 5]", "f32"]], layouts: ["NCX", "IOX"] },
    figures: [["wrong", "3 of 9"]],
    commands: [
      ["run", "tconv run a/b"],
      ["bug report", "tconv export --issue"],
    ],
    versions: [["backend", "acme 2.1"]],
  });
  assert.match(
    text,
    /^# acme 2\.1: failed: differed\n\nCase `a\/b` of onnx\/ConvTranspose-22\.\n\nas if pads-exchanged\n/u,
  );
  for (const part of ["- strides: [3]", "- wrong: 3 of 9", "zeta 1, d: passed, agreed. exact", "tconv run a/b\n```"]) {
    assert.ok(text.includes(part), part);
  }
  assert.ok(!text.includes("What the text says"));
  assert.ok(!text.includes("--issue"));
});
