import assert from "node:assert/strict";
import { test } from "node:test";
import { caseView, neighboursOf } from "./build/case_data.js";
import { productWords, sumWords } from "./build/sums.js";
import { LINE, PLANE } from "./geometries.js";
import { madeData } from "./made_data.js";

const grid = (shape, values) => ({ shape, values: Float32Array.from(values) });
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
  const data = madeData(
    [
      { id: "a/b[s=1,d=1]", status: "failed" },
      { id: "a/b[s=2,d=1]", status: "failed" },
      { id: "a/b[s=1,d=2]" },
      { id: "a/b[s=2,d=2]" },
      { id: "a/c[s=1,d=2]" },
      { id: "a/b[s=1,d=3]", run: 1 },
    ],
    ["acme", "other"],
  );
  assert.deepEqual(
    neighboursOf(data.record(0), data).map(({ differs, status }) => [differs, status]),
    [
      ["d: 1 → 2", "passed"],
      ["s: 1 → 2", "failed"],
    ],
  );
});

/** What opened_case.js gives of a record without any detail. */
const opened = (data, more = {}) => ({
  record: data.record(0),
  detail: {},
  answers: data.recordsOf(0).map((record) => ({ record, detail: {} })),
  call: null,
  geometry: null,
  expected: {},
  about: "",
  clause: "",
  artifact: null,
  ...more,
});

test("an answer lies where it was found, or where the readings that it follows put it", () => {
  const data = madeData([{ id: "a/b" }]);
  const expected = {
    disputed: [
      [[["shrink"]], [2], [12]],
      [[["shrink", "floor"]], [1], [12]],
    ],
  };
  const placed = { output: [9], strides: [3], dilations: [2] };
  const readings = [["shrink", "floor"]];
  const { strides, dilations } = LINE;
  for (const [detail, placement] of [
    [{}, null],
    [{ placement: [[9], [3], [2], [[1]]] }, { ...placed, pads_begin: [[1]] }],
    [{ placement: [[9], [3], [2], []] }, { ...placed, pads_begin: [] }],
    [{ readings }, { output: [12], strides, dilations, pads_begin: [[1]] }],
    [{ readings: [["another"]] }, null],
  ]) {
    assert.deepEqual(caseView(opened(data, { detail, expected, geometry: LINE }), data).placement, placement);
  }
});

test("one mistake that gives the output is the reason; of several none is chosen", () => {
  const data = madeData([{ id: "a/b" }]);
  const candidates = [
    ["x", "does x"],
    ["y", "does y"],
  ];
  const one = caseView(opened(data, { detail: { candidates: candidates.slice(1) } }), data).why;
  assert.deepEqual([one.explanation, one.candidates], ["As if does y", []]);
  const both = caseView(opened(data, { detail: { candidates } }), data).why;
  assert.match(both.explanation, /This case alone does not tell/u);
  assert.deepEqual(
    both.candidates.map(({ name }) => name),
    ["x", "y"],
  );
});

test("the rule that a cause is comes before mistakes that give the same output", () => {
  const data = madeData([{ id: "a/b", cause: 3 }]);
  const detail = {
    candidates: [
      ["x", "does x"],
      ["y", "does y"],
    ],
  };
  const { candidates, explanation } = caseView(opened(data, { detail }), data).why;
  assert.deepEqual([explanation, candidates], ["size is 1", []]);
});

test("what the baseline said stands below the answer of now", () => {
  const data = madeData([{ id: "a/b", status: "failed" }]);
  const record = data.record(0);
  const detail = { was: ["acme 0.9", "passed", "agreed", "exact"] };
  const { answers } = caseView({ ...opened(data, { detail }), answers: [{ record, detail }] }, data);
  assert.deepEqual(
    answers.map(({ run, status, was }) => [run, status, was]),
    [
      ["acme 1.0", "failed", false],
      ["acme 0.9, the baseline", "passed", true],
    ],
  );
});

test("marks beyond what the judge counts are explained, and operands that are not there", () => {
  const data = madeData([{ id: "a/b" }]);
  const grids = { expected: grid([3], [1, 2, 3]), actual: grid([3], [1, 0, 0]) };
  const detail = { wrong: 1, artifact: "a.npz" };
  const { notes } = caseView(opened(data, { detail, artifact: { notes: ["cut"], grids } }), data).values;
  assert.equal(notes[0], "cut");
  assert.match(notes[1], /^2 elements are marked, of which 1 count as wrong/u);
  assert.equal(notes[2], "The operands are not on this page. The artifact is a.npz.");
});

test("every run's answer is there, the open one marked", () => {
  const data = madeData(
    [
      { id: "a/b", status: "failed" },
      { id: "a/b", run: 1 },
    ],
    ["acme", "other"],
  );
  const { answers, geometry, values, why } = caseView(
    opened(data, { expected: { refusal: ["c", "pads with auto_pad", true] } }),
    data,
  );
  assert.deepEqual(
    answers.map(({ run, status, current }) => [run, status, current]),
    [
      ["acme 1.0", "failed", true],
      ["other 1.0", "passed", false],
    ],
  );
  assert.deepEqual([geometry, values, why.clause], [null, null, "pads with auto_pad"]);
});

test("a command has the id in its place, quoted for a shell whatever it is", () => {
  for (const [id, word] of [
    ["a/b[s=1]", "'a/b[s=1]'"],
    ["it's/$&", `'it'"'"'s/$&'`],
  ]) {
    const data = madeData([{ id }]);
    assert.deepEqual(caseView(opened(data), data).commands, [["show", `tconv show ${word} --dialect onnx`]]);
  }
});
