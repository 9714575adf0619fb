import { type Frame, fullOf, type Geometry, productsAt, type Scale, scaleOn, shownRanges } from "./geometry.js";
import { amount } from "./lane_rows.js";
import { extentOf } from "./lanes.js";
import { box, type Drawing, type Pair, path, type Shape, shownNumbers } from "./shapes.js";

// Two axes of a transposed convolution to scale: all that the taps reach, with the frames of outputs.

interface Plane {
  geometry: Geometry;
  axes: [number, number]; // rows and columns
  frames: [Frame, Frame][]; // of rows and columns, what is expected first
  places: [number, number]; // the chosen ones
  room: number; // in pixels
}

/** Units around the grid. */
const PLANE_MARGIN = 0.5;

/** The rows and columns of a panel in pixels. */
class Grating {
  readonly unit: number;
  readonly margin: number;

  constructor(
    readonly rows: Scale,
    readonly columns: Scale,
  ) {
    this.unit = rows.unit;
    this.margin = PLANE_MARGIN * this.unit;
  }

  corner(row: number, column: number): Pair {
    return [this.columns.x(column) + this.margin, this.rows.x(row) + this.margin];
  }

  get size(): Pair {
    return [this.columns.width + 2 * this.margin, this.rows.width + 2 * this.margin];
  }

  /** Every place that is shown. */
  get places(): [number, number][] {
    const columns = shownNumbers(this.columns);
    return shownNumbers(this.rows).flatMap((row) => columns.map((column): [number, number] => [row, column]));
  }

  /** A square in the middle of a place, as a part of a path. */
  square([row, column]: [number, number], inset: number) {
    const [x, y] = this.corner(row, column);
    const side = this.unit - 2 * inset;
    return `M${x + inset} ${y + inset}h${side}v${side}h${-side}z`;
  }

  shows([row, column]: [number, number]) {
    return this.rows.shows(row) && this.columns.shows(column);
  }

  /** What stands where rows and columns are left out. */
  get cuts(): Shape[] {
    const [width, height] = this.size;
    const { unit, margin } = this;
    return [
      ...this.columns.gaps.map((x) => box("cut", [x + margin, 0], [unit, height])),
      ...this.rows.gaps.map((y) => box("cut", [0, y + margin], [width, unit])),
    ];
  }
}

export type Panel = Drawing & { title: string; grid: Grating };

const LEAST = 7;
const LARGEST = 26;
/** The most places of a side, so that a drawing stays small. */
const MOST_PLACES = 48;
/** The height of a plane, where it need not be more. */
const HIGHEST = 400;
/** All that the taps reach, with the frames. */
export function planeDrawing({ geometry, axes, frames, places, room }: Plane): Panel {
  const extents = axes.map((axis, side) =>
    extentOf(
      geometry,
      axis,
      frames.map((both) => both[side]),
    ),
  );
  const most = Math.min(Math.max(Math.floor(room / LEAST) - 3, 8), MOST_PLACES);
  const [high, wide] = extents.map(([from, to]) => Math.min(to - from, most + 2));
  const fits = Math.min(LARGEST, Math.floor(room / (wide + 2 * PLANE_MARGIN)), Math.floor(HIGHEST / high));
  const unit = Math.max(LEAST, fits);
  const [rows, columns] = extents.map(([low, end], side) => scaleOn(shownRanges(low, end, most, places[side]), unit));
  const grid = new Grating(rows, columns);
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
  const [width, height] = grid.size;
  const title = `all that the taps reach: ${full.join(" × ")}`;
  return { title, width, height, shapes: [...shapes, ...grid.cuts], grid };
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

/** The places under a point of a panel. */
export const placesAt = ({ grid }: Panel, [x, y]: Pair): [number, number] => [
  grid.rows.at(y - grid.margin),
  grid.columns.at(x - grid.margin),
];
