import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cellSize,
  compareGrids,
  countMarks,
  indexOf,
  layoutOf,
  marksAlong,
  moveCursor,
  nextMark,
  planeStart,
  rangeOf,
  strideOf,
} from "../../harness/tconv/reports/page/arrays.js";

const grid = (...values) => ({ shape: [values.length], values: Float32Array.from(values) });

test("an element is wrong where it differs by more than is allowed", () => {
  const [expected, actual] = [grid(1, Number.NaN, 5, 0, 0), grid(1, Number.NaN, 3, 1e-9, Number.NaN)];
  const { difference, wrong } = compareGrids(expected, actual);
  assert.deepEqual([...wrong], [0, 0, 1, 1, 1]);
  assert.deepEqual([...difference.values].slice(0, 3), [0, 0, -2]);
  const limits = grid(0, 0, 1, 1e-8, Number.POSITIVE_INFINITY);
  assert.deepEqual([...compareGrids(expected, actual, limits).wrong], [0, 0, 1, 0, 1]);
  assert.equal(compareGrids(expected, grid(1)), null);
});

test("two float64 that are one float32 differ", () => {
  const of = (value) => ({ shape: [1], values: Float64Array.of(value) });
  assert.deepEqual([...compareGrids(of(2 ** 53), of(2 ** 53 + 2)).wrong], [1]);
});

test("a range is of the finite numbers of all grids", () => {
  assert.deepEqual(rangeOf([grid(1, Number.NaN, 3), grid(-2, Number.POSITIVE_INFINITY)]), [-2, 3]);
  assert.deepEqual(rangeOf([grid(Number.NaN)]), [0, 0]);
});

test("the last two spatial axes are a plane, the only one a strip", () => {
  for (const [shape, named, layout] of [
    [[1, 2, 3, 4, 5], 2, { leading: 3, rows: 4, columns: 5, size: 20, strip: false }],
    [[1, 2, 9], 2, { leading: 2, rows: 1, columns: 9, size: 9, strip: true }],
    [[7], 0, { leading: 0, rows: 1, columns: 7, size: 7, strip: true }],
    [[3, 2], 2, { leading: 2, rows: 1, columns: 1, size: 1, strip: true }],
  ]) {
    assert.deepEqual(layoutOf(shape, named), { shape, ...layout });
  }
});

test("elements are numbered in row-major order", () => {
  assert.deepEqual(
    [0, 1, 2].map((axis) => strideOf([2, 3, 4], axis)),
    [12, 4, 1],
  );
  assert.deepEqual(indexOf([2, 3, 4], 23), [1, 2, 3]);
  assert.equal(planeStart(layoutOf([2, 2, 2, 3], 2), 20), 18);
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
  const layout = layoutOf([1, 2, 3, 4], 2);
  const moves = { ArrowLeft: 16, ArrowRight: 18, ArrowUp: 13, ArrowDown: 21, Home: 16, End: 19 };
  for (const [key, element] of Object.entries(moves)) assert.equal(moveCursor(layout, 17, key), element, key);
  for (const key of ["ArrowLeft", "ArrowUp", "Home"]) assert.equal(moveCursor(layout, 12, key), 12, key);
  for (const key of ["ArrowRight", "ArrowDown", "End"]) assert.equal(moveCursor(layout, 23, key), 23, key);
  assert.equal(moveCursor(layout, 17, "n"), null);
});

test("cells fill the room, within limits", () => {
  const plane = (rows, columns) => layoutOf([1, 1, rows, columns], 2);
  assert.deepEqual(cellSize(plane(4, 4), 1000), [44, 44]);
  assert.deepEqual(cellSize(plane(4, 50), 1000), [20, 20]);
  assert.deepEqual(cellSize(plane(100, 4), 1000), [4, 4]);
  assert.deepEqual(cellSize(plane(4, 4000), 1000), [3, 3]);
  assert.deepEqual(cellSize(plane(1, 5000), 1000), [1, 1]);
  assert.deepEqual(cellSize(layoutOf([1, 1, 50], 2), 1000), [20, 30]);
});
