import { type Frame, fullOf, type Geometry, productsAt, scaleOn, shownRanges } from "./geometry.js";
import { frameLane, GAP, inputLane, type Lanes, reachLane, stampLanes } from "./lane_rows.js";
import { box, type Drawing, type Shape, writing } from "./shapes.js";

// One axis of a transposed convolution to scale, as lanes over one row of places: the input spread by the stride, the
// taps of those elements that make the chosen output element, all that the taps reach, and the frames of outputs.

const LEAST_UNIT = 15;
const LARGEST_UNIT = 30;
/** The width of a digit of an index. */
const DIGIT = 6.7;
const LABEL = 17;
/** The width of a character of a label, rather more than less. */
const CHARACTER = 7.3;

/** The places that a drawing of an axis has: all that the taps reach, and all of every frame. */
export function extentOf(geometry: Geometry, axis: number, frames: readonly Frame[]): [number, number] {
  const low = Math.min(0, ...frames.map(({ begin }) => begin));
  const high = Math.max(fullOf(geometry, axis), 1, ...frames.map(({ begin, size }) => begin + size));
  return [low, high];
}

/** The scale of the places of an axis. */
export function laneScale({ geometry, axis, frames, place, room }: Lanes) {
  const [low, high] = extentOf(geometry, axis, frames);
  const least = Math.max(LEAST_UNIT, DIGIT * String(high).length + 4);
  const ranges = shownRanges(low, high, Math.max(Math.floor(room / least) - 1, 8), place);
  const count = ranges.reduce((sum, [from, to]) => sum + to - from + 1, -1);
  return scaleOn(ranges, Math.max(least, Math.min(LARGEST_UNIT, Math.floor(room / count))));
}

export function laneDrawing(lanes: Lanes): Drawing {
  const { geometry, axis, frames, place, room } = lanes;
  const scale = laneScale(lanes);
  const products = productsAt(geometry, axis, place);
  const rows = [
    inputLane(lanes, scale, products),
    ...stampLanes(lanes, scale, products),
    reachLane(lanes, scale),
    ...frames.map((_, number) => frameLane(lanes, scale, number)),
  ];
  const shapes: Shape[] = [];
  const labels: Shape[] = [];
  let [y, width] = [0, scale.width];
  for (const row of rows) {
    for (const line of linesOf(row.words, room)) {
      y += LABEL;
      labels.push(writing(row.style, [0, y - 5], line, "start"));
      width = Math.max(width, Math.min(line.length * CHARACTER, room));
    }
    const top = y;
    shapes.push(...row.shapes.map((shape) => (shape.kind === "path" ? shape : { ...shape, y: shape.y + top })));
    y += row.height;
  }
  if (scale.shows(place)) shapes.unshift(box("here", [scale.x(place), LABEL], [scale.unit, y - LABEL - GAP]));
  for (const gap of scale.gaps) shapes.push(box("cut", [gap, 0], [scale.unit, y]));
  return { width, height: y, shapes: [...shapes, ...labels] };
}

/** A text in lines that fit the room. */
function linesOf(text: string, room: number) {
  const fits = Math.max(Math.floor(room / CHARACTER), 20);
  return (text.match(new RegExp(`.{1,${fits}}(?:\\s|$)`, "gu")) ?? []).map((line) => line.trim());
}
