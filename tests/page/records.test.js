import assert from "node:assert/strict";
import { test } from "node:test";
import { CaseRecord, findRecord, selectRecords } from "../../harness/tconv/reports/page/records.js";

const RUNS = ["acme", "zeta"].map((key) => ({ key, name: key, backend: key, options: [], dialect: "onnx", cases: "" }));
const ROWS = [
  [0, "b/x[n=2]", 1, 0, "exact", 0.5, {}, 1],
  [0, "a/x[n=1]", 1, 0, "exact", null, {}, 0],
  [0, "b/x[n=1]", 0, 1, "2 wrong", 0.25, {}, 1],
  [1, "b/x[n=1]", 1, 0, "exact", 0.75, {}, 1],
];
const DATA = {
  statuses: [
    ["failed", "✗"],
    ["passed", "✓"],
  ],
  kinds: ["agreed", "differed"],
  runs: RUNS,
  waivers: [],
  facts: [{}, { rank: "3" }],
  readings: {},
  rows: ROWS,
};
const RECORDS = ROWS.map((_, number) => new CaseRecord(DATA, number));

const numbers = (state) => selectRecords(RECORDS, state).shown.map(({ number }) => number);

test("without filters everything is shown, what failed first, then by id", () => {
  assert.deepEqual(numbers({}), [2, 1, 3, 0]);
  assert.deepEqual(numbers({ sort: "no such column" }), [2, 1, 3, 0]);
});

test("each filter narrows what the others leave", () => {
  assert.deepEqual(numbers({ topic: "b" }), [2, 3, 0]);
  assert.deepEqual(numbers({ topic: "b", backend: "acme" }), [2, 0]);
  assert.deepEqual(numbers({ verdict: "agreed", q: "n=1" }), [1, 3]);
  assert.deepEqual(numbers({ status: "failed,reported" }), [2]);
  assert.deepEqual(numbers({ backend: "none" }), []);
});

test("conditions hold for the facts that ids do not show, too", () => {
  assert.deepEqual(numbers({ q: "rank=3 n=1" }), [2, 3]);
  assert.deepEqual(numbers({ q: "*[rank=3,n=2]" }), [0]);
  assert.deepEqual(numbers({ q: "rank=2|4" }), []);
  assert.deepEqual(numbers({ q: "constructor=a" }), []);
});

test("the counts by status disregard the status filter", () => {
  const { counts } = selectRecords(RECORDS, { topic: "b", status: "failed" });
  assert.deepEqual([...counts].sort(), [
    ["failed", 1],
    ["passed", 2],
  ]);
});

test("columns sort up and down; equal records stay in the order of ids", () => {
  assert.deepEqual(numbers({ sort: "seconds" }), [1, 2, 0, 3]);
  assert.deepEqual(numbers({ sort: "-seconds" }), [3, 0, 2, 1]);
  assert.deepEqual(numbers({ sort: "-status" }), [1, 3, 0, 2]);
  assert.deepEqual(numbers({ sort: "case" }), [1, 2, 3, 0]);
  assert.deepEqual(numbers({ sort: "kind" }), [1, 3, 0, 2]);
  assert.deepEqual(numbers({ sort: "-backend" }), [3, 1, 2, 0]);
  assert.deepEqual(numbers({ sort: "phrase" }), [2, 1, 3, 0]);
});

test("an address names the record of its run, or the one that asks for attention first", () => {
  assert.equal(findRecord(RECORDS, { case: "b/x[n=1]" })?.number, 2);
  assert.equal(findRecord(RECORDS, { case: "b/x[n=1]", run: "zeta" })?.number, 3);
  assert.equal(findRecord(RECORDS, { case: "b/x[n=1]", run: "gone" })?.number, 2);
  assert.equal(findRecord(RECORDS, { case: "a/x[n=1]", run: "zeta" }), null);
  assert.equal(findRecord(RECORDS, {}), null);
});
