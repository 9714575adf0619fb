// Arrays as the page carries them, their planes, and the way of a cursor through their elements. An element is known by
// its number in row-major order.

export type Grid = { shape: number[]; values: Float32Array | Float64Array };

/** The arrays of a record, by name, and sentences on what is not there. */
export type Artifact = { notes: string[]; grids: Partial<Record<string, Grid>> };

/** The layout of a plane of an array, whose elements are next to each other. */
type Layout = { rows: number; columns: number };

export const LARGEST_CANVAS = 16384;

/** How many elements one step along an axis passes. */
export const strideOf = (shape: readonly number[], axis: number) =>
  shape.slice(axis + 1).reduce((product, size) => product * size, 1);

export const indexOf = (shape: readonly number[], element: number) =>
  shape.map((size, axis) => Math.floor(element / strideOf(shape, axis)) % size);

export const elementAt = (shape: readonly number[], index: readonly number[]) =>
  index.reduce((sum, at, axis) => sum * shape[axis] + at, 0);

/** The first element of the plane that an element is in. */
export const planeStart = ({ rows, columns }: Layout, element: number) => element - (element % (rows * columns));

export const countMarks = (marks: Uint8Array) => marks.reduce((sum, mark) => sum + mark, 0);

/** How many elements are marked at each index of an axis. */
export function marksAlong(marks: Uint8Array | null, shape: readonly number[], axis: number) {
  const counts = new Array(shape[axis]).fill(0);
  const stride = strideOf(shape, axis);
  marks?.forEach((mark, element) => {
    counts[Math.floor(element / stride) % shape[axis]] += mark;
  });
  return counts;
}

/** The nearest marked element after or before one, around the ends; itself where no other is marked. */
export function nextMark(marks: Uint8Array, element: number, direction: 1 | -1) {
  for (let distance = 1; distance <= marks.length; distance++) {
    const other = (element + direction * distance + marks.length) % marks.length;
    if (marks[other]) return other;
  }
  return element;
}

/** Where a key leads within the plane; null for a key that is no move. */
export function moveCursor(layout: Layout, element: number, key: string) {
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
