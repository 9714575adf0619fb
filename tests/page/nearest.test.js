import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestCases } from "./build/nearest.js";
import { madeData } from "./made_data.js";

test("the cases that share most attributes with a pasted call come first, in whatever spelling", () => {
  const facts = (strides, kernel, dtype) => ({ strides, kernel, dtype });
  const data = madeData([
    { id: "a/one", facts: facts("2", "3", "f32") },
    { id: "a/two", facts: facts("2x3", "3", "f16") },
    { id: "a/three", facts: facts("1", "5", "f16") },
  ]);
  const { cases, attributes } = nearestCases('strides=[2, 3] kernel_shape: (3,3) "type": float16 name=x', data);
  assert.equal(attributes, 3);
  assert.deepEqual(
    cases.map(({ at, same }) => [data.ids[at], same]),
    [
      ["a/two", 3],
      ["a/one", 1],
      ["a/three", 1],
    ],
  );
  assert.deepEqual(nearestCases("nothing that is an attribute", data).cases, []);
});
