import assert from "node:assert/strict";
import { test } from "node:test";
import { marksIn, overlaid, tileStarts, tilingOf } from "./build/fields.js";
import { farBeyond, reachOf, shadesOf, signedShade } from "./build/shades.js";
import { listedElements, MOST_LISTED } from "./build/value_table.js";

const grid = (shape, values) => ({ shape, values: Float32Array.from(values) });
const { NaN: NAN, POSITIVE_INFINITY: INFINITY } = Number;

test("values of one shape stand beside each other, with their error and what it is to the allowance", () => {
  const expected = grid([1, 1, 4], [1, 2, NAN, 4]);
  const actual = grid([1, 1, 4], [1, 2.5, NAN, INFINITY]);
  const { fields, wrong, exact } = overlaid({ expected, actual, allowed: grid([1, 1, 4], [0, 0.25, 1, 1]) }, []);
  assert.deepEqual([...fields.error.values], [0, 0.5, 0, INFINITY]);
  assert.deepEqual([...fields.ratio.values], [0, 2, 0, INFINITY]);
  assert.deepEqual([...wrong], [0, 1, 0, 1]);
  assert.equal(exact, false);
});

test("an element is wrong where it differs by more than is allowed; what is not finite is never allowed", () => {
  const [expected, actual] = [grid([5], [1, NAN, 5, 0, 0]), grid([5], [1, NAN, 3, 1e-9, NAN])];
  assert.deepEqual([...overlaid({ expected, actual }, []).wrong], [0, 0, 1, 1, 1]);
  const allowed = grid([5], [0, 0, 1, 1e-8, INFINITY]);
  assert.deepEqual([...overlaid({ expected, actual, allowed }, []).wrong], [0, 0, 1, 0, 1]);
  const infinite = overlaid(
    { expected: grid([1], [1]), actual: grid([1], [INFINITY]), allowed: grid([1], [INFINITY]) },
    [],
  );
  assert.deepEqual([...infinite.wrong], [1]);
});

test("two float64 that are one float32 differ", () => {
  const of = (value) => ({ shape: [1], values: Float64Array.of(value) });
  const { fields, wrong } = overlaid({ expected: of(2 ** 53), actual: of(2 ** 53 + 2) }, []);
  assert.deepEqual([...fields.error.values, ...wrong], [2, 1]);
});

test("where nothing is allowed the ratio is the error's magnitude", () => {
  const { fields, exact } = overlaid({ expected: grid([2], [1, 1]), actual: grid([2], [1, -2]) }, []);
  assert.ok(exact);
  assert.deepEqual([...fields.ratio.values], [0, 3]);
});

test("shapes that differ are laid over each other by the shift; what is not there is marked", () => {
  const expected = grid([1, 1, 4], [10, 11, 12, 13]);
  const actual = grid([1, 1, 4], [11, 12, 13, 99]);
  const { shape, origin, fields, wrong } = overlaid({ expected, actual }, [0, 0, 1]);
  assert.deepEqual(
    [shape, origin],
    [
      [1, 1, 5],
      [0, 0, 0],
    ],
  );
  assert.deepEqual([...fields.error.present], [0, 1, 1, 1, 0]);
  assert.deepEqual([...fields.error.values].slice(1, 4), [0, 0, 0]);
  assert.deepEqual([...wrong], [1, 0, 0, 0, 1]);
  const earlier = overlaid({ expected, actual }, [0, 0, -1]);
  assert.deepEqual(
    [earlier.shape, earlier.origin],
    [
      [1, 1, 5],
      [0, 0, -1],
    ],
  );
  assert.equal(earlier.fields.actual.values[0], 11);
  assert.equal(earlier.fields.expected.present[0], 0);
});

test("an array alone is shown and not judged", () => {
  const { fields, wrong } = overlaid({ actual: grid([2], [1, 2]) }, []);
  assert.deepEqual(
    [[...fields.actual.values], [...fields.expected.present], [...wrong]],
    [
      [1, 2],
      [0, 0],
      [0, 0],
    ],
  );
});

test("channels are tiles, or rows of one tile where there is one spatial axis", () => {
  assert.deepEqual(tilingOf([2, 3, 9]), { chosen: [0], tiled: null, rows: 3, columns: 9 });
  assert.deepEqual(tilingOf([2, 3, 4, 5, 6]), { chosen: [0, 2], tiled: 1, rows: 5, columns: 6 });
  assert.deepEqual(tilingOf([7]), { chosen: [], tiled: null, rows: 1, columns: 7 });
  const shape = [2, 3, 4, 5, 6];
  assert.deepEqual(tileStarts(shape, tilingOf(shape), [1, 2]), [420, 540, 660]);
  assert.equal(marksIn(Uint8Array.of(1, 0, 1, 1), 2, { rows: 1, columns: 2 }), 2);
});

test("zero is white, in the dark the ground, and both signs reach as far", () => {
  for (const dark of [true, false]) {
    const { of, colours, ends } = signedShade(8, dark);
    assert.deepEqual([of(-8), of(8), ends], [colours[0], colours[255], ["-8", "8"]]);
    assert.ok(
      of(0).every((part) => (dark ? part < 40 : part >= 252)),
      `${of(0)}`,
    );
  }
});

test("values far beyond what is expected leave the others their colours, and are told", () => {
  const arrays = { expected: grid([3], [1, -4, 0]), actual: grid([3], [1, 1.7e15, 2]) };
  assert.equal(shadesOf(overlaid(arrays, []), false).actual.limit, 4);
  assert.match(farBeyond(arrays), /Values up to 1.7e\+15; at most 4/u);
  assert.equal(farBeyond({ ...arrays, actual: grid([3], [1, INFINITY, 2000]) }), "");
});

test("what is not finite does not stretch the scales", () => {
  const shown = overlaid({ expected: grid([3], [1, -4, NAN]), actual: grid([3], [1, INFINITY, 2]) }, []);
  assert.equal(reachOf(shown, ["expected", "actual"]), 4);
  assert.equal(shadesOf(shown, false).expected.ends[1], "4");
});

test("a table that cannot list all elements lists the wrong ones", () => {
  const wrong = new Uint8Array(1000);
  wrong[999] = 1;
  const { listed, total } = listedElements({ wrong }, [0], { rows: 10, columns: 100 });
  assert.deepEqual([listed.length, listed.at(-1), total], [MOST_LISTED, 999, 1000]);
});
