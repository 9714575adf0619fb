import assert from "node:assert/strict";
import { test } from "node:test";
import { labelsOf } from "../../harness/tconv/reports/page/patterns.js";
import { parseQuery } from "../../harness/tconv/reports/page/search.js";

const ID = "padding/output-shape/grow[auto_pad=same_upper,strides=2x3]";

function finds(query, { id = ID, phrase = "2 of 9 elements differ, [1, 2] first" } = {}) {
  const labels = labelsOf(id);
  return parseQuery(query)({ id, text: `${id}\n${phrase}`.toLowerCase(), fact: (key) => labels.get(key) });
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
