import { fullOf, productsAt, scaleOn, shownRanges } from "./geometry.js";
import { Grating, PLANE_MARGIN } from "./grating.js";
import { amount } from "./lane_rows.js";
import { extentOf } from "./lanes.js";
import { box, path, shownNumbers, writing } from "./shapes.js";

/*
 * Two axes of a transposed convolution to scale: the input spread by the strides, the filter's taps, and all that the
 * taps reach with the frames of outputs. A product has the same number at its input element and at its tap.
 */

/** @import { Frame, Geometry, Product } from "./geometry.js" */
/** @import { Drawing, Pair, Shape } from "./shapes.js" */

/**
 * @typedef {object} Plane
 * @property {Geometry} geometry
 * @property {[number, number]} axes rows and columns
 * @property {[Frame, Frame][]} frames of rows and columns, what is owed first
 * @property {[number, number]} places the chosen ones
 * @property {number} room in pixels
 */
/** @typedef {Drawing & {title: string, grid: Grating}} Panel */
/**
 * Elements in rows and columns, all `apart` from each other.
 *
 * @typedef {object} Lattice
 * @property {string} title
 * @property {"data" | "tap"} style
 * @property {number[]} sizes
 * @property {number[]} apart
 * @property {[number, number][]} lit the elements of products, in the order of their numbers
 */

const LEAST = 7;
const LARGEST = 26;
/** The most places of a side, so that a drawing stays small. */
const MOST_PLACES = 48;
/** The least unit in which a number is legible. */
const LEGIBLE = 13;
/** Pixels for the signs between the panels. */
const SIGNS = 120;
/** The height of a plane, where it need not be more. */
const HIGHEST = 620;
/**
 * The panels of a plane: input, filter, output.
 *
 * @param {Plane} plane
 * @returns {Panel[]}
 */
export function planeDrawings({ geometry, axes, frames, places, room }) {
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
  const pick = (/** @type {number[]} */ list) => axes.map((axis) => list[axis]);
  /** @type {Lattice[]} */
  const lattices = [
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

/**
 * The unit in which the panels stand side by side, if it is large enough; else the one in which the largest fits.
 *
 * @param {number} room
 * @param {number[]} widths of the panels, in units
 * @param {number} largest side
 */
function unitOf(room, widths, largest) {
  const all = widths.reduce((sum, width) => sum + width + 2 * PLANE_MARGIN, 0);
  const beside = Math.floor((room - SIGNS) / all);
  const unit = beside >= LEGIBLE ? beside : Math.floor((room - SIGNS / 3) / (Math.max(...widths) + 2 * PLANE_MARGIN));
  return Math.max(LEAST, Math.min(LARGEST, unit, Math.max(Math.floor(HIGHEST / largest), LEAST)));
}

/**
 * The elements of all products of rows and columns, of the input or of the filter.
 *
 * @param {Product[][]} products
 * @param {0 | 1} which
 * @returns {[number, number][]}
 */
const crossed = ([rows, columns], which) =>
  rows.flatMap((row) => columns.map((column) => /** @type {[number, number]} */ ([row[which], column[which]])));

/**
 * Input elements, or taps, in their places; those of products have a number.
 *
 * @param {Lattice} lattice
 * @param {number} most
 * @param {number} unit
 * @returns {Panel}
 */
function latticePanel({ title, style, sizes, apart, lit }, most, unit) {
  const [rows, columns] = sizes.map((size, side) => {
    const focus = (lit[0]?.[side] ?? 0) * apart[side];
    return scaleOn(shownRanges(0, (size - 1) * apart[side] + 1, most, focus), unit);
  });
  const grid = new Grating(rows, columns);
  const isThere = (/** @type {[number, number]} */ [row, column]) => row % apart[0] === 0 && column % apart[1] === 0;
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
    /** @type {[number, number]} */
    const place = [row * apart[0], column * apart[1]];
    if (!grid.shows(place)) return;
    const [x, y] = grid.corner(...place);
    shapes.push(box(`${style} lit`, [x + 1, y + 1], [unit - 2, unit - 2]));
    if (unit >= LEGIBLE) shapes.push(writing(`in-${style} lit`, [x + unit / 2, y + unit / 2], number + 1));
  });
  const spread = apart.some((step) => step > 1) ? `, ${apart.join(" × ")} apart` : "";
  return panelOf(`${title}: ${sizes.join(" × ")}${spread}`, grid, shapes);
}

/**
 * All that the taps reach, with the frames.
 *
 * @param {Plane} plane
 * @param {Grating} grid
 * @returns {Panel}
 */
function outputPanel({ geometry, axes, frames, places }, grid) {
  const full = axes.map((axis) => fullOf(geometry, axis));
  const counts = [grid.rows, grid.columns].map(
    (scale, side) => new Map(shownNumbers(scale).map((at) => [at, productsAt(geometry, axes[side], at).length])),
  );
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  const add = (/** @type {string} */ style, /** @type {[number, number]} */ place) =>
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

/** @param {[Frame, Frame]} frame @param {[number, number]} place */
const isFramed = (frame, place) =>
  frame.every(({ begin, size }, side) => place[side] >= begin && place[side] < begin + size);

/**
 * @param {[Frame, Frame]} frame
 * @param {Grating} grid
 * @param {number} number
 * @returns {Shape[]}
 */
function frameShape([down, across], grid, number) {
  if (down.size < 1 || across.size < 1) return [];
  const [x, y] = grid.corner(down.begin, across.begin);
  const [right, bottom] = grid.corner(down.begin + down.size, across.begin + across.size);
  const inset = number === 0 ? 1 : 4;
  /** @type {Pair} */
  const size = [Math.max(right - x - 2 * inset, 1), Math.max(bottom - y - 2 * inset, 1)];
  return [box(`frame ${down.role}`, [x + inset, y + inset], size)];
}

/**
 * @param {string} title
 * @param {Grating} grid
 * @param {Shape[]} shapes
 * @returns {Panel}
 */
function panelOf(title, grid, shapes) {
  const [width, height] = grid.size;
  return { title, width, height, shapes: [...shapes, ...grid.cuts], grid };
}

/**
 * The places under a point of a panel.
 *
 * @param {Panel} shown
 * @param {Pair} point
 * @returns {[number, number]}
 */
export const placesAt = ({ grid }, [x, y]) => [grid.rows.at(y - grid.margin), grid.columns.at(x - grid.margin)];
