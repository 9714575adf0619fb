import assert from "node:assert/strict";
import { test } from "node:test";
import { countMarks, indexOf, marksAlong, moveCursor, nextMark, planeStart, strideOf } from "./build/arrays.js";

test("elements are numbered in row-major order", () => {
  assert.deepEqual(
    [0, 1, 2].map((axis) => strideOf([2, 3, 4], axis)),
    [12, 4, 1],
  );
  assert.deepEqual(indexOf([2, 3, 4], 23), [1, 2, 3]);
  assert.equal(planeStart({ rows: 2, columns: 3 }, 20), 18);
});

test("marks are counted along an axis and found around the ends", () => {
  const marks = Uint8Array.of(0, 1, 0, 0, 1, 1);
  assert.equal(countMarks(marks), 3);
  assert.deepEqual(marksAlong(marks, [2, 3], 0), [1, 2]);
  assert.deepEqual(marksAlong(marks, [2, 3], 1), [0, 2, 1]);
  assert.deepEqual(marksAlong(null, [2, 3], 1), [0, 0, 0]);
  assert.deepEqual([nextMark(marks, 1, 1), nextMark(marks, 5, 1), nextMark(marks, 1, -1)], [4, 1, 5]);
  assert.equal(nextMark(new Uint8Array(3), 2, 1), 2);
});

test("keys move within the plane and stop at its borders", () => {
  const layout = { rows: 3, columns: 4 };
  const moves = { ArrowLeft: 16, ArrowRight: 18, ArrowUp: 13, ArrowDown: 21, Home: 16, End: 19 };
  for (const [key, element] of Object.entries(moves)) assert.equal(moveCursor(layout, 17, key), element, key);
  for (const key of ["ArrowLeft", "ArrowUp", "Home"]) assert.equal(moveCursor(layout, 12, key), 12, key);
  for (const key of ["ArrowRight", "ArrowDown", "End"]) assert.equal(moveCursor(layout, 23, key), 23, key);
  assert.equal(moveCursor(layout, 17, "n"), null);
});
