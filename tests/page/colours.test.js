import assert from "node:assert/strict";
import { test } from "node:test";
import { colourOf, css, differences, inkOn, palette, VALUES } from "../../harness/tconv/reports/page/colours.js";

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
});

test("the ends of a range have the ends of the scale, and no range its middle", () => {
  assert.equal(colourOf(VALUES, -5, [-5, 119]), VALUES[0]);
  assert.equal(colourOf(VALUES, 119, [-5, 119]), VALUES[255]);
  assert.equal(colourOf(VALUES, 7, [7, 7]), VALUES[128]);
});

test("zero is the middle of the differences, in both themes", () => {
  for (const dark of [true, false]) {
    assert.equal(colourOf(differences(dark), 0, [-6, 6]), differences(dark)[128]);
    assert.equal(colourOf(differences(dark), 0, [0, 0]), differences(dark)[128]);
  }
});

test("text is black on light colours and white on dark ones", () => {
  assert.equal(inkOn([253, 231, 37]), "#000");
  assert.equal(inkOn([68, 1, 84]), "#fff");
  assert.equal(css([1, 2, 3]), "rgb(1,2,3)");
});
