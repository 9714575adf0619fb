/*
 * Arrays as the page carries them, their planes, and the way of a cursor through their elements. An element is known by
 * its number in row-major order.
 */

/**
 * @typedef {object} Grid
 * @property {number[]} shape
 * @property {Float32Array} values
 */

/** @typedef {{rows: number, columns: number}} Layout of a plane of an array, whose elements are next to each other */

export const LARGEST_CANVAS = 16384;

/** @param {string} base64 */
const bytes = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/**
 * @param {[number[], string]} packed a shape, and float32 in base64
 * @returns {Grid}
 */
export const unpackGrid = ([shape, base64]) => ({ shape, values: new Float32Array(bytes(base64).buffer) });

/**
 * Bits, most significant first, as a byte each.
 *
 * @param {string} base64
 * @param {number} length
 */
export function unpackBits(base64, length) {
  const packed = bytes(base64);
  // biome-ignore lint/suspicious/noBitwiseOperators: bits are what is unpacked
  return Uint8Array.from({ length }, (_, bit) => (packed[bit >> 3] >> (7 - (bit & 7))) & 1);
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
