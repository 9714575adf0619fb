import assert from "node:assert/strict";
import { test } from "node:test";
import { ranksOf, select } from "./build/selection.js";
import { madeData } from "./made_data.js";

const DATA = madeData(
  [
    { id: "b/x[n=2]", seconds: 0.5, facts: { rank: "3" } },
    { id: "a/x[n=1]" },
    { id: "b/x[n=1]", status: "failed", kind: "differed", phrase: "2 wrong", seconds: 0.25, facts: { rank: "3" } },
    { id: "b/x[n=1]", run: 1, seconds: 0.75 },
  ],
  ["acme", "zeta"],
);

const numbers = (query, order = "status") => [...select(DATA, query, order).shown];
const counts = (query, facet) => {
  const { values } = DATA.facets.get(facet);
  const found = select(DATA, query, "status").counts.get(facet);
  return Object.fromEntries(values.map((value, number) => [value, found[number]]));
};

test("without words everything is shown, what failed first, then by id", () => {
  assert.deepEqual(numbers(""), [2, 1, 3, 0]);
  assert.deepEqual(numbers("", "no such column"), [2, 1, 3, 0]);
});

test("each word narrows what the others leave", () => {
  assert.deepEqual(numbers("topic=b"), [2, 3, 0]);
  assert.deepEqual(numbers("topic=b backend=acme-1.0:onnx"), [2, 0]);
  assert.deepEqual(numbers("verdict=agreed n=1"), [1, 3]);
  assert.deepEqual(numbers("backend=none"), []);
});

test("conditions hold for the facts that ids do not show, too", () => {
  assert.deepEqual(numbers("rank=3 n=1"), [2, 3]);
  assert.deepEqual(numbers("*[rank=3,n=2]"), [0]);
});

test("the counts of a facet disregard its own word, and no other", () => {
  assert.deepEqual(counts("topic=b status=failed", "status"), { failed: 1, waived: 0, passed: 2 });
  assert.deepEqual(counts("topic=b status=failed", "topic"), { a: 0, b: 1 });
  assert.deepEqual(counts("topic=b status=failed", "n"), { 1: 1, 2: 0 });
  assert.deepEqual(counts("", "n"), { 1: 3, 2: 1 });
  assert.deepEqual(counts("missing", "topic"), { a: 0, b: 0 });
});

test("columns sort up and down; equal records stay in the order of status and id", () => {
  assert.deepEqual(numbers("", "seconds"), [1, 2, 0, 3]);
  assert.deepEqual(numbers("", "-seconds"), [3, 0, 2, 1]);
  assert.deepEqual(numbers("", "-status"), [1, 3, 0, 2]);
  assert.deepEqual(numbers("", "case"), [1, 2, 3, 0]);
  assert.deepEqual(numbers("", "verdict"), [1, 3, 0, 2]);
  assert.deepEqual(numbers("", "-backend"), [3, 2, 1, 0]);
  assert.deepEqual(numbers("", "phrase"), [2, 1, 3, 0]);
  assert.deepEqual(numbers("", "backend acme-1.0:onnx"), [2, 3, 1, 0]);
});

test("values are sorted by their numbers", () => {
  assert.deepEqual([...ranksOf(["10", "9", "2x3", "2x10"])], [3, 2, 0, 1]);
});

test("a case and a run name a record; without a run it is the one that asks for attention first", () => {
  assert.equal(DATA.find("b/x[n=1]", "")?.number, 2);
  assert.equal(DATA.find("b/x[n=1]", "zeta-1.0:onnx")?.number, 3);
  assert.equal(DATA.find("b/x[n=1]", "gone")?.number, 2);
  assert.equal(DATA.find("a/x[n=1]", "zeta-1.0:onnx"), null);
  assert.equal(DATA.find("none", ""), null);
});
