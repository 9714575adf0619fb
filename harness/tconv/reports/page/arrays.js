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

/** @typedef {{rows: number, columns: number}} Layout of a plane of an array, whose elements are next to each other */

export const LARGEST_CANVAS = 16384;

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
export const planeStart = ({ rows, columns }, element) => element - (element % (rows * columns));

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
