import { type Frame, fullOf, type Geometry, type Product, productsAt, type Scale } from "./geometry.js";
import { box, numbersFrom, type Shape, shownNumbers, writing } from "./shapes.js";

// The lanes of a drawing of one axis: the input, the taps, all that the taps reach, an output.

export interface Lanes {
  geometry: Geometry;
  axis: number;
  frames: Frame[]; // what is expected first
  place: number; // the chosen one
  room: number; // in pixels
}

/** A lane: the words above it, its shapes with y from 0 on, and their height. */
type Lane = { words: string; style: string; shapes: Shape[]; height: number };

/** Below a lane. */
export const GAP = 9;
/** The most input elements of a product whose taps have a lane. */
const MOST_STAMPS = 5;

export function inputLane({ geometry, axis }: Lanes, scale: Scale, products: Product[]): Lane {
  const [count, stride] = [geometry.spatial[axis], geometry.strides[axis]];
  const size = scale.unit;
  const within = shownNumbers(scale).filter((place) => place >= 0 && place <= (count - 1) * stride);
  const shapes = within.flatMap((place) => {
    const x = scale.x(place);
    if (place % stride !== 0) return [box("inserted", [x + size / 2 - 1.5, size / 2 - 1.5], [3, 3])];
    const lit = products.some(([element]) => element === place / stride) ? " lit" : "";
    return [
      box(`data${lit}`, [x + 1, 1], [size - 2, size - 2]),
      writing(`in-data${lit}`, [x + size / 2, size / 2], place / stride),
    ];
  });
  const spread = stride === 1 ? "" : `, its elements ${stride} apart (strides)`;
  return { words: `input x, ${count} long${spread}`, style: "lane", shapes, height: size + GAP };
}

/** A lane for each input element that makes the chosen place: its taps, the one that meets the place lit. */
export function stampLanes({ geometry, axis }: Lanes, scale: Scale, products: Product[]): Lane[] {
  const [taps, dilation] = [geometry.kernel[axis], geometry.dilations[axis]];
  const room = Math.min(mostProducts(geometry, axis), MOST_STAMPS);
  const size = Math.round(scale.unit * 0.72);
  const apart = dilation === 1 ? "" : `, ${dilation} apart (dilations)`;
  const left = products.length - room;
  const more = left > 0 ? `; ${left} more such elements are not drawn` : "";
  const words = products.length > 0 ? `taps of w, ${taps} for each${apart}${more}` : "no tap of w reaches this element";
  const rows = Math.max(products.length - Math.max(left, 0), 1);
  return numbersFrom(0, rows).map((row) => ({
    words: row === 0 ? words : "",
    style: "lane",
    shapes: row < products.length ? stamp(geometry, axis, products[row], scale) : [],
    height: products.length > 0 ? size + (row === rows - 1 ? GAP : 2) : GAP,
  }));
}

/** The taps of an input element. */
function stamp(geometry: Geometry, axis: number, [element, met]: Product, scale: Scale) {
  const [taps, dilation] = [geometry.kernel[axis], geometry.dilations[axis]];
  const size = Math.round(scale.unit * 0.72);
  const begin = element * geometry.strides[axis];
  const middle = (tap: number) => scale.x(begin + tap * dilation) + scale.unit / 2;
  const shapes = [box("thread", [middle(0), size / 2 - 0.5], [middle(taps - 1) - middle(0), 1])];
  for (const tap of numbersFrom(0, taps)) {
    if (!scale.shows(begin + tap * dilation)) continue;
    const style = tap === met ? "tap lit" : "tap";
    shapes.push(box(style, [middle(tap) - size / 2, 0], [size, size]));
    shapes.push(writing(`in-${style}`, [middle(tap), size / 2], tap));
  }
  return shapes;
}

/** How many products any place of an axis can have, and so how many lanes of taps there may be. */
function mostProducts({ spatial, kernel, strides, dilations }: Geometry, axis: number) {
  const residues = numbersFrom(0, kernel[axis]).map((tap) => (tap * dilations[axis]) % strides[axis]);
  const alike = residues.map((residue) => residues.filter((other) => other === residue).length);
  return Math.min(Math.max(...alike, 1), spatial[axis]);
}

/** All that the taps reach: each place with how many products it has. */
export function reachLane({ geometry, axis, place: chosen }: Lanes, scale: Scale): Lane {
  const full = fullOf(geometry, axis);
  const size = scale.unit;
  const within = shownNumbers(scale).filter((place) => place >= 0 && place < full);
  const shapes = within.flatMap((place) => {
    const count = productsAt(geometry, axis, place).length;
    const lit = place === chosen ? " lit" : "";
    const style = `reached ${amount(count)}${lit}`;
    const x = scale.x(place);
    return [
      box(style, [x + 0.5, 0.5], [size - 1, size - 1]),
      writing(`in-reach${lit}`, [x + size / 2, size / 2], count),
    ];
  });
  const words = `all that the taps reach, ${full} long: how many products each place has`;
  return { words, style: "lane", shapes, height: size + GAP };
}

/** The style of a place with so many products. */
export const amount = (count: number) => ["none", "single"][count] ?? "several";

/** The output of a frame: its elements, what is cropped beside it, and what lies beyond all that the taps reach. */
export function frameLane({ geometry, axis, frames, place: chosen }: Lanes, scale: Scale, number: number): Lane {
  const frame = frames[number];
  const [full, end, size] = [fullOf(geometry, axis), frame.begin + frame.size, scale.unit];
  const shapes = shownNumbers(scale).flatMap((place) => {
    const x = scale.x(place);
    const reached = place >= 0 && place < full;
    const cell: [[number, number], [number, number]] = [
      [x + 0.5, 2.5],
      [size - 1, size - 5],
    ];
    if (place < frame.begin || place >= end) return reached ? [box("cropped", ...cell)] : [];
    const lit = place === chosen ? " lit" : "";
    const added = place >= end - (frame.added ?? 0) ? " added" : "";
    return [
      box(`element${reached ? "" : " beyond"}${added}${lit}`, ...cell),
      writing(`in-element${lit}`, [x + size / 2, size / 2], place - frame.begin),
    ];
  });
  if (frame.size > 0) {
    const [from, to] = [scale.x(frame.begin), scale.x(end)];
    shapes.push(box(`frame ${frame.role}`, [from + 1, 1], [Math.max(to - from - 2, 1), size - 2]));
  }
  return { words: frameWords(frame, full), style: `lane ${frame.role}`, shapes, height: size + GAP };
}

export function frameWords({ name, begin, size, known, added = 0 }: Frame, full: number) {
  if (!known) return `${name}: ${size} long; where it lies the values do not tell`;
  const after = full - begin - size;
  if (added > 0) {
    const last = added === 1 ? "the last 1 is" : `the last ${added} are`;
    const cropped = `${padWords(begin, "beginning")}, ${padWords(after + added, "end")}`;
    return `${name}: ${size} long, ${cropped}, and ${last} there by output_padding`;
  }
  if (begin === 0 && after === 0) return `${name}: ${size} long, nothing is cropped`;
  return `${name}: ${size} long, ${padWords(begin, "beginning")}, ${padWords(after, "end")}`;
}

const padWords = (pad: number, side: string) =>
  pad >= 0 ? `${pad} cropped at the ${side}` : `${-pad} added at the ${side}, where no tap reaches`;
