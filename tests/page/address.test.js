import assert from "node:assert/strict";
import { test } from "node:test";
import { formatFragment, parseFragment } from "./build/address.js";

test("a state can be read back from its fragment", () => {
  for (const value of ["full+2", "a/b[c=1,d=2|3]", "100 %&#=", "größe 😀", "%41"]) {
    assert.deepEqual(parseFragment(formatFragment({ q: value, case: value })), { q: value, case: value });
  }
});

test("a fragment is readable, in a fixed order, and leaves out what is empty", () => {
  const state = { run: "acme-2.1:onnx/ConvTranspose-22", case: "a/b[c=1,d=2+]", sort: "", q: "", view: "matrix" };
  assert.equal(formatFragment(state), "#view=matrix&case=a/b%5Bc=1,d=2+%5D&run=acme-2.1:onnx/ConvTranspose-22");
  assert.equal(formatFragment({}), "#");
});

test("names that are no part of the state are words of the query", () => {
  assert.deepEqual(parseFragment("#backend=acme-2.1:onnx&status=failed,crashed&q=crop"), {
    q: "backend=acme-2.1:onnx status=failed|crashed crop",
  });
});

test("what is no fragment of the page does no harm", () => {
  assert.deepEqual(parseFragment("#records"), {});
  assert.deepEqual(parseFragment("#=x&q=%E0%A4%A&case=a=b"), { q: "%E0%A4%A", case: "a=b" });
});
