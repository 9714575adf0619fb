import { type Frame, fullOf, type Geometry, type Product, productsAt, scaleOn, shownRanges } from "./geometry.js";
import { Grating, PLANE_MARGIN } from "./grating.js";
import { amount } from "./lane_rows.js";
import { extentOf } from "./lanes.js";
import { box, type Drawing, type Pair, path, type Shape, shownNumbers, writing } from "./shapes.js";

// Two axes of a transposed convolution to scale: the input spread by the strides, the filter's taps, and all that the
// taps reach with the frames of outputs. A product has the same number at its input element and at its tap.

interface Plane {
  geometry: Geometry;
  axes: [number, number]; // rows and columns
  frames: [Frame, Frame][]; // of rows and columns, what is expected first
  places: [number, number]; // the chosen ones
  room: number; // in pixels
}

export type Panel = Drawing & { title: string; grid: Grating };

/** Elements in rows and columns, all `apart` from each other. */
interface Lattice {
  title: string;
  style: "data" | "tap";
  sizes: number[];
  apart: number[];
  lit: [number, number][]; // the elements of products, in the order of their numbers
}

const LEAST = 7;
const LARGEST = 26;
/** The most places of a side, so that a drawing stays small. */
const MOST_PLACES = 48;
/** The least unit in which a number is legible. */
const LEGIBLE = 13;
/** Pixels for the signs between the panels. */
const SIGNS = 120;
/** The height of a plane, where it need not be more. */
const HIGHEST = 400;
/** The panels of a plane: input, filter, output. */
export function planeDrawings({ geometry, axes, frames, places, room }: Plane): Panel[] {
  const extents = axes.map((axis, side) =>
    extentOf(
      geometry,
      axis,
      frames.map((both) => both[side]),
    ),
  );
  const most = Math.min(Math.max(Math.floor(room / LEAST) - 3, 8), MOST_PLACES);
  const outputs = extents.map(([low, high]) => Math.min(high - low, most + 2));
  const beside = [geometry.spatial, geometry.kernel].map((sizes, which) => {
    const apart = (which === 0 ? geometry.strides : geometry.dilations)[axes[1]];
    return Math.min((sizes[axes[1]] - 1) * apart + 1, most + 2);
  });
  const unit = unitOf(room, [...beside, outputs[1]], Math.max(...outputs));
  const products = axes.map((axis, side) => productsAt(geometry, axis, places[side]));
  const pick = (list: number[]) => axes.map((axis) => list[axis]);
  const lattices: Lattice[] = [
    {
      title: "input x, spread by the strides",
      style: "data",
      sizes: pick(geometry.spatial),
      apart: pick(geometry.strides),
      lit: crossed(products, 0),
    },
    {
      title: "taps of w, apart by the dilations",
      style: "tap",
      sizes: pick(geometry.kernel),
      apart: pick(geometry.dilations),
      lit: crossed(products, 1),
    },
  ];
  const [rows, columns] = extents.map(([low, high], side) => scaleOn(shownRanges(low, high, most, places[side]), unit));
  return [
    ...lattices.map((lattice) => latticePanel(lattice, most, unit)),
    outputPanel({ geometry, axes, frames, places, room }, new Grating(rows, columns)),
  ];
}

/** The unit in which panels as wide as this, in units, stand side by side, if large enough; else the largest fits. */
function unitOf(room: number, widths: number[], largest: number) {
  const all = widths.reduce((sum, width) => sum + width + 2 * PLANE_MARGIN, 0);
  const beside = Math.floor((room - SIGNS) / all);
  const unit = beside >= LEGIBLE ? beside : Math.floor((room - SIGNS / 3) / (Math.max(...widths) + 2 * PLANE_MARGIN));
  return Math.max(LEAST, Math.min(LARGEST, unit, Math.max(Math.floor(HIGHEST / largest), LEAST)));
}

/** The elements of all products of rows and columns, of the input or of the filter. */
const crossed = ([rows, columns]: Product[][], which: 0 | 1): [number, number][] =>
  rows.flatMap((row) => columns.map((column): [number, number] => [row[which], column[which]]));

/** Input elements, or taps, in their places; those of products have a number. */
function latticePanel({ title, style, sizes, apart, lit }: Lattice, most: number, unit: number): Panel {
  const [rows, columns] = sizes.map((size, side) => {
    const focus = (lit[0]?.[side] ?? 0) * apart[side];
    return scaleOn(shownRanges(0, (size - 1) * apart[side] + 1, most, focus), unit);
  });
  const grid = new Grating(rows, columns);
  const isThere = ([row, column]: [number, number]) => row % apart[0] === 0 && column % apart[1] === 0;
  const dot = (unit - Math.max(Math.round(unit / 8), 1)) / 2;
  const shapes = [
    path(
      "inserted",
      grid.places.filter((place) => !isThere(place)).map((place) => grid.square(place, dot)),
    ),
    path(
      style,
      grid.places.filter(isThere).map((place) => grid.square(place, 1)),
    ),
  ];
  lit.forEach(([row, column], number) => {
    const place: [number, number] = [row * apart[0], column * apart[1]];
    if (!grid.shows(place)) return;
    const [x, y] = grid.corner(...place);
    shapes.push(box(`${style} lit`, [x + 1, y + 1], [unit - 2, unit - 2]));
    if (unit >= LEGIBLE) shapes.push(writing(`in-${style} lit`, [x + unit / 2, y + unit / 2], number + 1));
  });
  const spread = apart.some((step) => step > 1) ? `, ${apart.join(" × ")} apart` : "";
  return panelOf(`${title}: ${sizes.join(" × ")}${spread}`, grid, shapes);
}

/** All that the taps reach, with the frames. */
function outputPanel({ geometry, axes, frames, places }: Plane, grid: Grating): Panel {
  const full = axes.map((axis) => fullOf(geometry, axis));
  const counts = [grid.rows, grid.columns].map(
    (scale, side) => new Map(shownNumbers(scale).map((at) => [at, productsAt(geometry, axes[side], at).length])),
  );
  const groups = new Map<string, string[]>();
  const add = (style: string, place: [number, number]) =>
    groups.set(style, [...(groups.get(style) ?? []), grid.square(place, 0.5)]);
  for (const place of grid.places) {
    const reached = place.every((at, side) => at >= 0 && at < full[side]);
    if (reached) {
      add(`reached ${amount((counts[0].get(place[0]) ?? 0) * (counts[1].get(place[1]) ?? 0))}`, place);
      if (!isFramed(frames[0], place)) add("cropped", place);
    } else if (frames.some((frame) => isFramed(frame, place))) add("beyond", place);
  }
  const shapes = [...groups].map(([style, squares]) => path(style, squares));
  if (grid.shows(places)) shapes.push(box("reached lit", grid.corner(...places), [grid.unit, grid.unit]));
  frames.forEach((frame, number) => {
    shapes.push(...frameShape(frame, grid, number));
  });
  return panelOf(`all that the taps reach: ${full.join(" × ")}`, grid, shapes);
}

const isFramed = (frame: [Frame, Frame], place: [number, number]) =>
  frame.every(({ begin, size }, side) => place[side] >= begin && place[side] < begin + size);

function frameShape([down, across]: [Frame, Frame], grid: Grating, number: number): Shape[] {
  if (down.size < 1 || across.size < 1) return [];
  const [x, y] = grid.corner(down.begin, across.begin);
  const [right, bottom] = grid.corner(down.begin + down.size, across.begin + across.size);
  const inset = number === 0 ? 1 : 4;
  const size: Pair = [Math.max(right - x - 2 * inset, 1), Math.max(bottom - y - 2 * inset, 1)];
  return [box(`frame ${down.role}`, [x + inset, y + inset], size)];
}

function panelOf(title: string, grid: Grating, shapes: Shape[]): Panel {
  const [width, height] = grid.size;
  return { title, width, height, shapes: [...shapes, ...grid.cuts], grid };
}

/** The places under a point of a panel. */
export const placesAt = ({ grid }: Panel, [x, y]: Pair): [number, number] => [
  grid.rows.at(y - grid.margin),
  grid.columns.at(x - grid.margin),
];
