import assert from "node:assert/strict";
import { test } from "node:test";
import { hintOf } from "./build/query_hint.js";
import { madeData } from "./made_data.js";

const DATA = madeData([{ id: "padding/grow[auto_pad=same_upper,strides=2x3]" }]);

test("a fact that no case has is named, with those that begin like it", () => {
  assert.equal(hintOf("statuss=failed", DATA), "No case has the fact statuss; there is status.");
  assert.equal(hintOf("grow -quantum=1", DATA), "No case has the fact quantum.");
});

test("a value that no record has is named, with those that there are", () => {
  assert.equal(hintOf("strides=99", DATA), "No record has strides=99; strides is 2x3.");
  assert.equal(hintOf("**[strides=2x3,cause=crashed]", DATA), "No record has cause=crashed; cause is 1, 2, 3.");
});

test("what is no pattern is named", () => {
  const hint = "A pattern is PATH or PATH[key=value,...]; this is none: padding/**[nope";
  assert.equal(hintOf("padding/**[nope", DATA), hint);
});

test("words that may find something have no hint", () => {
  for (const query of ["", "crop grow", "status=waived strides=2x3", "padding/**[strides=1|2x3]", "-status=failed"]) {
    assert.equal(hintOf(query, DATA), "", query);
  }
});
