import assert from "node:assert/strict";
import { test } from "node:test";
import { chosenValues, parseQuery, toggled } from "./build/query.js";
import { madeData } from "./made_data.js";

const ID = "padding/output-shape/grow[auto_pad=same_upper,strides=2x3]";

function finds(query, { id = ID, phrase = "2 of 9 elements differ, [1, 2] first" } = {}) {
  const terms = parseQuery(query, madeData([{ id, phrase }]));
  return terms.every(({ holds }) => holds[0] === 1);
}

test("a query without words finds everything", () => {
  assert.ok(finds(""));
  assert.ok(finds("  "));
});

test("words are looked for in id and phrase, in any case, and all of them must be there", () => {
  assert.ok(finds("grow SAME_UPPER differ"));
  assert.ok(!finds("grow missing"));
  assert.ok(finds("shape/grow[auto"), "a part of an id is a word");
  assert.ok(finds("[1, 2]"), "brackets hold a word together");
});

test("a word is also a pattern", () => {
  for (const query of ["padding/*/grow", "**/gro?", "padding/**[strides=2x3]", "padding[ strides = 1 | 2x3 ] differ"]) {
    assert.ok(finds(query), query);
  }
  for (const query of ["padding/*", "**/grow"]) assert.ok(finds(query) && !finds(`-${query}`), query);
  for (const query of ["*/grow", "PADDING/*", "padding[strides=2]"]) assert.ok(!finds(query), query);
});

test("conditions alone hold for facts, and are no words", () => {
  assert.ok(finds("strides=2x3"));
  assert.ok(finds("strides=1|2x3,auto_pad=same_upper"));
  assert.ok(!finds("strides=2"));
  assert.ok(!finds("strides=2*"));
  assert.ok(!finds("constructor=a"));
});

test("a minus excludes; alone it is a word", () => {
  assert.ok(finds("grow -crop"));
  assert.ok(!finds("-strides=2x3"));
  assert.ok(finds("-"));
});

test("the whole query may be a pattern with spaces in its path", () => {
  assert.ok(finds("my c*/a", { id: "my cases/a/b" }));
  assert.ok(!finds("my c*/a", { id: "my/cases/a/b" }));
});

const BOTH = madeData(
  [
    { id: "a/x[n=1]", status: "failed", kind: "crashed", cause: 2 },
    { id: "a/x[n=2]" },
    { id: "a/x[n=1]", run: 1 },
    { id: "a/x[n=2]", run: 1, status: "failed", kind: "differed", cause: 1 },
  ],
  ["acme", "zeta"],
);
const found = (query) => {
  const terms = parseQuery(query, BOTH);
  return [0, 1, 2, 3].filter((record) => terms.every(({ holds }) => holds[record] === 1));
};

test("a record's status, verdict, backend and cause are conditions like a case's facts", () => {
  assert.deepEqual(found("status=failed"), [0, 3]);
  assert.deepEqual(found("verdict=crashed|differed backend=zeta-1.0:onnx"), [3]);
  assert.deepEqual(found("cause=2"), [0]);
  assert.deepEqual(found("-status=failed n=2"), [1]);
});

test("a backend and an answer leave the cases that it answered so, with all their records", () => {
  assert.deepEqual(found("acme:crashed"), [0, 2]);
  assert.deepEqual(found("zeta:failed acme:passed"), [1, 3]);
  assert.deepEqual(found("zeta-1.0:crashed"), []);
  assert.deepEqual(found("-acme:crashed"), [1, 3]);
});

test("a value of a facet is added to its word, and taken from it", () => {
  assert.equal(toggled("", "strides", "2"), "strides=2");
  assert.equal(toggled("crop strides=2 grow", "strides", "3"), "crop strides=2|3 grow");
  assert.equal(toggled("crop strides=2|3", "strides", "2"), "crop strides=3");
  assert.equal(toggled("strides=2 crop", "strides", "2"), "crop");
  assert.deepEqual(chosenValues("crop strides=2|3", "strides"), ["2", "3"]);
  assert.deepEqual(chosenValues("crop", "strides"), []);
});
