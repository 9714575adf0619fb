import assert from "node:assert/strict";
import { test } from "node:test";
import { colourOf, css, inkOn, palette } from "./build/colours.js";

test("a scale goes through its stops in 256 steps", () => {
  const scale = palette([
    [0, 0, 0],
    [100, 0, 200],
    [0, 255, 200],
  ]);
  assert.equal(scale.length, 256);
  assert.deepEqual(scale[0], [0, 0, 0]);
  assert.deepEqual(scale[64], [50, 0, 100]);
  assert.deepEqual(scale[255], [0, 255, 200]);
  assert.equal(colourOf(scale, -5, [-5, 119]), scale[0]);
  assert.equal(colourOf(scale, 7, [7, 7]), scale[128]);
});

test("text is black on light colours and white on dark ones", () => {
  assert.equal(inkOn([253, 231, 37]), "#000");
  assert.equal(inkOn([68, 1, 84]), "#fff");
  assert.equal(css([1, 2, 3]), "rgb(1,2,3)");
});
