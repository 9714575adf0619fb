// The arithmetic of a transposed convolution: o = i*stride + k*dilation - pads_begin, axis by axis. A place is a number
// from 0 to full - 1 in all that the taps reach; an output begins at the place pads_begin.

/** Plain integers, an entry for each spatial axis. */
export interface Geometry {
  spatial: number[];
  kernel: number[];
  strides: number[];
  dilations: number[];
  pads_begin: number[];
  output: number[];
  groups: number;
  added?: number[]; // elements at the end that are there by output_padding alone
}

/** Where the values of an output lie, see diagnosis/placement.py. */
export interface Placement {
  output: number[];
  strides: number[];
  dilations: number[];
  pads_begin: number[][]; // every one that gives these values; none where the values do not tell
}

/** An input element and a tap, as indices on one axis. */
export type Product = [number, number];

/** An output on one axis; `known` is false where its place is a guess. */
export type Frame = {
  name: string;
  begin: number;
  size: number;
  known: boolean;
  role: "expected" | "given";
  added?: number;
};

/** How far the taps reach on an axis: (X-1)*s + (K-1)*d + 1. */
export const fullOf = ({ spatial, kernel, strides, dilations }: Geometry, axis: number) =>
  (spatial[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1;

/** The products that reach a place on an axis, in the order of the input. */
export function productsAt({ spatial, kernel, strides, dilations }: Geometry, axis: number, place: number): Product[] {
  const products: Product[] = [];
  for (let tap = kernel[axis] - 1; tap >= 0; tap--) {
    const element = (place - tap * dilations[axis]) / strides[axis];
    if (Number.isInteger(element) && element >= 0 && element < spatial[axis]) products.push([element, tap]);
  }
  return products;
}

/** The products of an output element under one input channel, all as spatial indices: the input's, the filter's. */
export function productsOf(geometry: Geometry, index: readonly number[]): [number[], number[]][] {
  let products: [number[], number[]][] = [[[], []]];
  index.forEach((at, axis) => {
    const here = productsAt(geometry, axis, at + geometry.pads_begin[axis]);
    products = products.flatMap(([data, taps]) =>
      here.map(([element, tap]): [number[], number[]] => [
        [...data, element],
        [...taps, tap],
      ]),
    );
  });
  return products;
}

/**
 * The geometry that a placement describes; of several places the one nearest to what is expected. Null if the values
 * do not tell their place, or the ranks differ.
 */
export function placedGeometry(expected: Geometry, placement: Placement | null): Geometry | null {
  if (!placement || placement.output.length !== expected.output.length || placement.pads_begin.length === 0)
    return null;
  const { output, strides, dilations } = placement;
  const distance = (begin: number[]) =>
    begin.reduce((sum, at, axis) => sum + Math.abs(at - expected.pads_begin[axis]), 0);
  const [pads_begin] = [...placement.pads_begin].sort((a, b) => distance(a) - distance(b));
  return { ...expected, output, strides, dilations, pads_begin, added: undefined };
}

/** Whether two geometries spread the input and the taps alike, so that one drawing holds both. */
export const sameSpacing = (a: Geometry, b: Geometry) =>
  String(a.strides) === String(b.strides) && String(a.dilations) === String(b.dilations);

/** By how much the index of an element of `given` is less than that of the same place in `expected`, on each axis. */
export const shiftOf = (expected: Geometry, given: Geometry) =>
  given.pads_begin.map((begin, axis) => begin - expected.pads_begin[axis]);

/** Say how an output lies to what is expected, on the axes where it lies otherwise. */
export function offsetWords(expected: Geometry, given: Geometry) {
  const shift = shiftOf(expected, given);
  return shift.flatMap((by, axis) => {
    const more = given.output[axis] - expected.output[axis];
    const parts: string[] = [];
    if (by !== 0) parts.push(`begins ${Math.abs(by)} ${by > 0 ? "later" : "earlier"}`);
    if (more !== 0) parts.push(`is ${Math.abs(more)} ${more > 0 ? "longer" : "shorter"}`);
    const where = expected.output.length > 1 ? ` on axis ${axis}` : "";
    return parts.length > 0 ? [`${parts.join(" and ")}${where}`] : [];
  });
}

/** Which numbers from `low` to before `high` are shown, at most `most`: both ends, and those around `focus`. */
export function shownRanges(low: number, high: number, most: number, focus: number): [number, number][] {
  if (high - low <= most) return [[low, high]];
  const part = Math.max(2, Math.floor((most - 2) / 3));
  const middle = Math.min(Math.max(focus - Math.floor(part / 2), low), high - part);
  const ranges: [number, number][] = [];
  for (const [from, to] of [
    [low, low + part],
    [middle, middle + part],
    [high - part, high],
  ]) {
    const last = ranges.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else ranges.push([from, to]);
  }
  return ranges;
}

/** A scale from numbers to pixels, with a gap of one unit where numbers are left out. */
export function scaleOn(ranges: readonly [number, number][], unit: number) {
  const low = ranges[0][0];
  let end = -unit;
  const starts = ranges.map(([from, to]) => {
    const start = end + unit;
    end = start + (to - from) * unit;
    return start;
  });
  const x = (at: number) => {
    const range = ranges.findIndex(([, to]) => at <= to);
    if (range < 0) return end + (at - ranges[ranges.length - 1][1]) * unit;
    return Math.max(
      starts[range] + (at - ranges[range][0]) * unit,
      range > 0 ? starts[range] - unit / 2 : (at - low) * unit,
    );
  };
  return {
    x,
    unit,
    width: end,
    ranges,
    shows: (at: number) => ranges.some(([from, to]) => at >= from && at < to),
    /** Where numbers are left out, in pixels. */
    gaps: starts.slice(1).map((start) => start - unit),
    at: (pixel: number) => {
      const range = starts.filter((start) => pixel >= start).length - 1;
      if (range < 0) return low + Math.floor(pixel / unit);
      const at = ranges[range][0] + Math.floor((pixel - starts[range]) / unit);
      return at < ranges[range][1] ? at : ranges[range][1] - 1;
    },
  };
}
export type Scale = ReturnType<typeof scaleOn>;
