import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCount, formatFloat32, formatShape, formatWithin } from "./build/text.js";

test("counts have commas, shapes and indices brackets", () => {
  assert.equal(formatCount(1234567), "1,234,567");
  assert.equal(formatShape([1, 2, 3]), "[1, 2, 3]");
  assert.equal(formatShape([]), "[]");
});

test("a float32 is written as the shortest decimal that means it", () => {
  for (const [value, text] of [
    [0.1, "0.1"],
    [1 / 3, "0.33333334"],
    [16777216, "16777216"],
    [-0, "0"],
    [1e-5, "1e-5"],
    [2 ** -149, "1e-45"],
    [Number.NaN, "NaN"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
  ]) {
    assert.equal(formatFloat32(Math.fround(value)), text);
  }
});

test("every float32 can be read back from its decimal", () => {
  const [bits, floats] = [new Uint32Array(1), new Float32Array(1)];
  const bytes = new Uint8Array(floats.buffer);
  for (let step = 0; step < 5000; step++) {
    bits[0] = Math.imul(step, 0x9e3779b1);
    bytes.set(new Uint8Array(bits.buffer));
    const value = floats[0];
    assert.ok(Object.is(Math.fround(Number(formatFloat32(value))), value === 0 ? 0 : value), String(value));
  }
});

test("a number is rounded to fit its cell, or left out", () => {
  const third = Math.fround(1 / 3);
  assert.equal(formatWithin(third, 10), "0.33333334");
  assert.equal(formatWithin(third, 5), "0.33");
  assert.equal(formatWithin(third, 3), "");
  assert.equal(formatWithin(Number.NEGATIVE_INFINITY, 2), "-∞");
  assert.equal(formatWithin(Number.NaN, 2), "");
});
