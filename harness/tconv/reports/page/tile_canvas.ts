import { contextOf, drawMark, hatching, isDark } from "./canvas.js";
import { type Colour, css, inkOn } from "./colours.js";
import type { Fields, Tiled, Tiling } from "./fields.js";
import type { Shade } from "./shades.js";
import { formatWithin } from "./text.js";

// One tile of small multiples as cells on a canvas.

interface TileContent {
  fields: Fields;
  name: Tiled;
  start: number; // the number of the first element
  tiling: Tiling;
  cell: number; // the side of a cell in pixels
  shade: Shade;
}

/** The least width of a cell with its number. */
const NUMBERED = 26;
/** The least width of a cell with an outline. */
export const MARKED = 13;
export const SPECIAL: [number, string][] = [
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "∞"],
  [Number.NEGATIVE_INFINITY, "-∞"],
];

export function drawTile(canvas: HTMLCanvasElement, content: TileContent) {
  const { rows, columns } = content.tiling;
  const { cell } = content;
  const context = contextOf(canvas, cell * columns, cell * rows);
  const hatchings = new Map(SPECIAL.map(([value]) => [value, hatching(context, value)]));
  context.font = `${Math.max(10, Math.round(cell / 3.2))}px ui-monospace, Menlo, Consolas, monospace`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let k = 0; k < rows * columns; k++) {
    drawCell(context, content, content.start + k, {
      corner: [(k % columns) * cell, Math.floor(k / columns) * cell],
      hatchings,
    });
  }
}

function drawCell(
  context: CanvasRenderingContext2D,
  { fields, name, cell, shade }: TileContent,
  element: number,
  { corner, hatchings }: { corner: [number, number]; hatchings: Map<number, CanvasPattern | string> },
) {
  const { values, present } = fields.fields[name];
  const value = values[element];
  if (!present[element]) {
    drawAbsent(context, corner, cell);
    return;
  }
  const beyond = Math.abs(value) > shade.limit;
  const colour = Number.isNaN(value) || beyond || Math.abs(value) === Number.POSITIVE_INFINITY ? null : shade.of(value);
  const like = beyond ? Math.sign(value) * Number.POSITIVE_INFINITY : value;
  context.fillStyle = colour ? css(colour) : (hatchings.get(like) ?? "");
  context.fillRect(...corner, cell, cell);
  const marked = name === "error" && cell >= MARKED;
  if (marked && fields.wrong[element]) drawMark(context, corner, [cell, cell], colour);
  if (colour && cell >= NUMBERED) drawNumber(context, corner, { cell, value, colour });
}

/** A cell without an element: a thin cross on the ground. */
export function drawAbsent(context: CanvasRenderingContext2D, [x, y]: [number, number], cell: number) {
  const side = cell - 4;
  context.strokeStyle = isDark() ? "#5a626b" : "#b4b9be";
  context.lineWidth = 1;
  context.stroke(new Path2D(`M${x + 2} ${y + 2}l${side} ${side}m0 ${-side}l${-side} ${side}`));
}

/** A number in its cell, rounded to what fits. */
function drawNumber(
  context: CanvasRenderingContext2D,
  [x, y]: [number, number],
  { cell, value, colour }: { cell: number; value: number; colour: Colour },
) {
  context.fillStyle = inkOn(colour);
  context.fillText(
    formatWithin(Math.fround(value), Math.floor((cell - 1) / (0.605 * Math.max(10, Math.round(cell / 3.2))))),
    x + cell / 2,
    y + cell / 2,
  );
}
