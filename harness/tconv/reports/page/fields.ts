import { type Grid, strideOf } from "./arrays.js";

// Expected and actual values on one grid, element against element of the same place, with the error and what it is to
// the allowance; and how a grid is laid out as small planes.

/** Arrays of one shape; NaN stands for what is not there, `present` tells it from a NaN that is a value. */
export interface Fields {
  shape: number[];
  origin: number[]; // the index of the first element of each axis, counted in `expected`
  shift: number[]; // of `actual` to `expected`
  fields: Record<FieldName, Field>;
  wrong: Uint8Array;
  exact: boolean; // whether nothing is allowed anywhere
}

export type FieldName = "expected" | "actual" | "error" | "ratio";
/** The fields that have tiles. */
export type Tiled = Exclude<FieldName, "ratio">;

type Field = { values: Float64Array; present: Uint8Array };

export type Arrays = { expected?: Grid; actual?: Grid; allowed?: Grid };

/** Lay the arrays over each other; an index in `actual` is `shift` less than that of the same place in `expected`. */
export function overlaid({ expected, actual, allowed }: Arrays, shift: readonly number[]): Fields {
  const there = [expected, actual].filter((grid) => grid !== undefined);
  const rank = there[0]?.shape.length ?? 0;
  const moved = Array.from({ length: rank }, (_, axis) => shift[axis] ?? 0);
  const still = moved.map(() => 0);
  const begins = there.map((grid) => (grid === actual ? moved : still));
  const origin = still.map((_, axis) => Math.min(...begins.map((begin) => begin[axis])));
  const shape = origin.map(
    (low, axis) => Math.max(...there.map((grid, which) => begins[which][axis] + grid.shape[axis])) - low,
  );
  const size = shape.reduce((product, length) => product * length, 1);
  const fields = {
    expected: placed(expected, shape, origin, still),
    actual: placed(actual, shape, origin, moved),
    error: emptyField(size),
    ratio: emptyField(size),
  };
  const tolerance = String(allowed?.shape) === String(expected?.shape) ? allowed : undefined;
  const limits = placed(tolerance, shape, origin, still).values.map((limit) => (limit > 0 ? limit : 0));
  const exact = !limits.some((limit) => limit > 0);
  const marks = new Uint8Array(size);
  for (let element = 0; element < size; element++) {
    if (!(fields.expected.present[element] && fields.actual.present[element])) {
      marks[element] = Number(there.length === 2);
      continue;
    }
    const error = errorOf(fields, element);
    const magnitude = Math.abs(error);
    put(fields.error, element, error);
    // Where nothing is allowed every error is infinitely beyond that: its magnitude says more.
    put(fields.ratio, element, exact || error === 0 ? magnitude : magnitude / limits[element]);
    marks[element] = Number(!(magnitude === 0 || (Number.isFinite(magnitude) && magnitude <= limits[element])));
  }
  return { shape, origin, shift: moved, fields, wrong: marks, exact };
}

function errorOf({ expected, actual }: Record<FieldName, Field>, element: number) {
  const [right, came] = [expected.values[element], actual.values[element]];
  if (Object.is(right, came) || right === came) return 0;
  return came - right;
}

function put(field: Field, element: number, value: number) {
  field.values[element] = value;
  field.present[element] = 1;
}

const emptyField = (size: number): Field => ({
  values: new Float64Array(size).fill(Number.NaN),
  present: new Uint8Array(size),
});

function placed(grid: Grid | undefined, shape: readonly number[], origin: readonly number[], begin: readonly number[]) {
  const size = shape.reduce((product, length) => product * length, 1);
  const field = emptyField(size);
  grid?.values.forEach((value, element) => {
    const target = grid.shape.reduce((sum, _, axis) => {
      const at = Math.floor(element / strideOf(grid.shape, axis)) % grid.shape[axis];
      return sum + (at + begin[axis] - origin[axis]) * strideOf(shape, axis);
    }, 0);
    put(field, target, value);
  });
  return field;
}

/**
 * How a grid of (N, O, Y...) is shown: one tile for each channel with the last two axes as a plane, or where there is
 * one spatial axis, one tile with the channels as rows. The axes before are chosen.
 */
export interface Tiling {
  chosen: number[]; // the axes of which one index at a time is shown
  tiled: number | null; // the axis that has a tile for each index; null where one tile has all
  rows: number;
  columns: number;
}

export function tilingOf(shape: readonly number[]): Tiling {
  const rank = shape.length;
  const columns = rank > 0 ? shape[rank - 1] : 1;
  const rows = rank > 1 ? shape[rank - 2] : 1;
  if (rank < 4) return { chosen: rank === 3 ? [0] : [], tiled: null, rows, columns };
  const chosen = Array.from({ length: rank - 2 }, (_, axis) => axis).filter((axis) => axis !== 1);
  return { chosen, tiled: 1, rows, columns };
}

/** The number of the first element of each tile, at the indices of the chosen axes. */
export function tileStarts(shape: readonly number[], { chosen, tiled }: Tiling, indices: readonly number[]) {
  const base = chosen.reduce((sum, axis, number) => sum + indices[number] * strideOf(shape, axis), 0);
  if (tiled === null) return [base];
  return Array.from({ length: shape[tiled] }, (_, index) => base + index * strideOf(shape, tiled));
}

/** How many elements of a tile are marked. */
export const marksIn = (marks: Uint8Array, start: number, { rows, columns }: Tiling) =>
  marks.subarray(start, start + rows * columns).reduce((sum, mark) => sum + mark, 0);

/** The element to look at first: the first wrong one that came, else the first wrong one, else the first. */
export function firstToShow({ wrong, fields }: Fields) {
  const came = wrong.findIndex((mark, element) => mark === 1 && fields.error.present[element] === 1);
  return Math.max(came >= 0 ? came : wrong.indexOf(1), 0);
}
