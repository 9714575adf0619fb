import assert from "node:assert/strict";
import { test } from "node:test";
import table from "../patterns.json" with { type: "json" };
import { labelsOf, matches, parsePattern } from "./build/patterns.js";

for (const { id, facts, matched_by, not_matched_by } of table.cases) {
  const values = new Map(Object.entries(facts));
  const target = { id, fact: (key) => values.get(key) };
  for (const text of [...matched_by, ...not_matched_by]) {
    test(`${text} and ${id}`, () => {
      assert.equal(matches(parsePattern(text), target), matched_by.includes(text));
    });
  }
}

for (const text of table.invalid) {
  test(`${text} is no pattern`, () => assert.equal(parsePattern(text), null));
}

test("an id has its labels", () => {
  assert.deepEqual(
    [...labelsOf("a/b[x=1,y=2=3]")],
    [
      ["x", "1"],
      ["y", "2=3"],
    ],
  );
  assert.deepEqual([...labelsOf("a/b")], []);
});
