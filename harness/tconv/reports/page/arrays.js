/*
 * Arrays as the page carries them, their planes, and the way of a cursor through their elements. An element is known by
 * its number in row-major order.
 */

/**
 * @typedef {object} Grid
 * @property {number[]} shape
 * @property {Float32Array | Float64Array} values
 */
/**
 * The arrays of a record, by name, and sentences on what is not there.
 *
 * @typedef {{notes: string[], grids: Partial<Record<string, Grid>>}} Artifact
 */

/**
 * How an array is laid out for drawing: a plane of its last two spatial axes at a time, or a strip of the only one.
 *
 * @typedef {object} Layout
 * @property {number[]} shape
 * @property {number} leading how many axes choose the plane
 * @property {number} rows
 * @property {number} columns
 * @property {number} size elements of a plane
 * @property {boolean} strip
 */

const LARGEST_CELL = 44;
const LARGEST_PLANE = 440;
const STRIP_HEIGHT = 30;
export const LARGEST_CANVAS = 16384;

/**
 * The difference of two arrays of one shape, and a mark for each element that is not as it may be: where it differs, by
 * more than is allowed.
 *
 * @param {Grid} expected
 * @param {Grid} actual
 * @param {Grid | undefined} allowed
 * @returns {{difference: Grid, wrong: Uint8Array} | null} null where the shapes differ
 */
export function compareGrids(expected, actual, allowed) {
  if (expected.shape.join() !== actual.shape.join()) return null;
  const limits = allowed && allowed.shape.join() === expected.shape.join() ? allowed.values : null;
  const difference = new Float64Array(expected.values.length);
  const wrong = new Uint8Array(expected.values.length);
  expected.values.forEach((owed, element) => {
    const got = actual.values[element];
    if (got === owed || (Number.isNaN(got) && Number.isNaN(owed))) return;
    difference[element] = got - owed;
    const excused = limits && Number.isFinite(got) && Math.abs(got - owed) <= limits[element];
    wrong[element] = excused ? 0 : 1;
  });
  return { difference: { shape: expected.shape, values: difference }, wrong };
}

/**
 * The least and the largest finite number of several grids.
 *
 * @param {readonly Grid[]} grids
 * @returns {[number, number]}
 */
export function rangeOf(grids) {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { values } of grids) {
    for (const value of values) {
      if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
  }
  return low <= high ? [low, high] : [0, 0];
}

/**
 * @param {number[]} shape
 * @param {number} named how many axes come before the spatial ones
 * @returns {Layout}
 */
export function layoutOf(shape, named) {
  const spatial = Math.max(shape.length - named, 0);
  const columns = spatial > 0 ? Number(shape.at(-1)) : 1;
  const rows = spatial > 1 ? Number(shape.at(-2)) : 1;
  return {
    shape,
    leading: shape.length - Math.min(spatial, 2),
    rows,
    columns,
    size: rows * columns,
    strip: spatial < 2,
  };
}

/**
 * How many elements one step along an axis passes.
 *
 * @param {readonly number[]} shape
 * @param {number} axis
 */
export const strideOf = (shape, axis) => shape.slice(axis + 1).reduce((product, size) => product * size, 1);

/**
 * @param {readonly number[]} shape
 * @param {number} element
 */
export const indexOf = (shape, element) =>
  shape.map((size, axis) => Math.floor(element / strideOf(shape, axis)) % size);

/**
 * The first element of the plane that an element is in.
 *
 * @param {Layout} layout
 * @param {number} element
 */
export const planeStart = ({ size }, element) => Math.floor(element / size) * size;

/** @param {Uint8Array} marks */
export const countMarks = (marks) => marks.reduce((sum, mark) => sum + mark, 0);

/**
 * How many elements are marked at each index of an axis.
 *
 * @param {Uint8Array | null} marks
 * @param {readonly number[]} shape
 * @param {number} axis
 */
export function marksAlong(marks, shape, axis) {
  const counts = new Array(shape[axis]).fill(0);
  const stride = strideOf(shape, axis);
  marks?.forEach((mark, element) => {
    counts[Math.floor(element / stride) % shape[axis]] += mark;
  });
  return counts;
}

/**
 * The nearest marked element after or before one, around the ends; itself where no other is marked.
 *
 * @param {Uint8Array} marks
 * @param {number} element
 * @param {1 | -1} direction
 */
export function nextMark(marks, element, direction) {
  for (let distance = 1; distance <= marks.length; distance++) {
    const other = (element + direction * distance + marks.length) % marks.length;
    if (marks[other]) return other;
  }
  return element;
}

/**
 * Where a key leads within the plane; null for a key that is no move.
 *
 * @param {Layout} layout
 * @param {number} element
 * @param {string} key
 */
export function moveCursor(layout, element, key) {
  const { rows, columns } = layout;
  const start = planeStart(layout, element);
  const [row, column] = [Math.floor((element - start) / columns), (element - start) % columns];
  switch (key) {
    case "ArrowLeft":
      return start + row * columns + Math.max(column - 1, 0);
    case "ArrowRight":
      return start + row * columns + Math.min(column + 1, columns - 1);
    case "ArrowUp":
      return start + Math.max(row - 1, 0) * columns + column;
    case "ArrowDown":
      return start + Math.min(row + 1, rows - 1) * columns + column;
    case "Home":
      return start + row * columns;
    case "End":
      return start + (row + 1) * columns - 1;
    default:
      return null;
  }
}

/**
 * Width and height of an element in CSS pixels.
 *
 * @param {Layout} layout
 * @param {number} room the width for all columns
 * @returns {[number, number]}
 */
export function cellSize({ rows, columns, strip }, room) {
  const least = columns > LARGEST_CANVAS / 4 ? 1 : 3;
  const tallest = strip ? LARGEST_CELL : Math.floor(LARGEST_PLANE / rows);
  const width = Math.max(least, Math.min(Math.floor(room / columns), LARGEST_CELL, tallest));
  return [width, strip ? STRIP_HEIGHT : width];
}
