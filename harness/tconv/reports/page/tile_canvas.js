import { contextOf, drawMark, hatching, isDark } from "./canvas.js";
import { css, inkOn } from "./colours.js";
import { formatWithin } from "./text.js";

/*
 * One tile of small multiples as cells on a canvas.
 */

/** @import { Colour } from "./colours.js" */
/** @import { FieldName, Fields, Tiling } from "./fields.js" */
/** @import { Shade } from "./shades.js" */

/**
 * @typedef {object} TileContent
 * @property {Fields} fields
 * @property {FieldName} name
 * @property {number} start the number of the first element
 * @property {Tiling} tiling
 * @property {number} cell the side of a cell in pixels
 * @property {Shade} shade
 */

/** The least width of a cell with its number. */
const NUMBERED = 26;
/** The least width of a cell with an outline. */
export const MARKED = 13;
/** @type {[number, string][]} */
export const SPECIAL = [
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "∞"],
  [Number.NEGATIVE_INFINITY, "-∞"],
];

/**
 * @param {HTMLCanvasElement} canvas
 * @param {TileContent} content
 */
export function drawTile(canvas, content) {
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

/**
 * @param {CanvasRenderingContext2D} context
 * @param {TileContent} content
 * @param {number} element
 * @param {{corner: [number, number], hatchings: Map<number, CanvasPattern | string>}} place
 */
function drawCell(context, { fields, name, cell, shade }, element, { corner, hatchings }) {
  const { values, present } = fields.fields[name];
  const value = values[element];
  if (!present[element]) {
    drawAbsent(context, corner, cell);
    return;
  }
  const colour = Number.isNaN(value) || Math.abs(value) === Number.POSITIVE_INFINITY ? null : shade.of(value);
  context.fillStyle = colour ? css(colour) : (hatchings.get(value) ?? "");
  context.fillRect(...corner, cell, cell);
  const marked = (name === "error" || name === "ratio") && cell >= MARKED;
  if (marked && fields.wrong[element]) drawMark(context, corner, [cell, cell], colour);
  if (colour && cell >= NUMBERED) drawNumber(context, corner, { cell, value, colour });
}

/**
 * A cell without an element: a thin cross on the ground.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number]} corner
 * @param {number} cell
 */
export function drawAbsent(context, [x, y], cell) {
  const side = cell - 4;
  context.strokeStyle = isDark() ? "#5a626b" : "#b4b9be";
  context.lineWidth = 1;
  context.stroke(new Path2D(`M${x + 2} ${y + 2}l${side} ${side}m0 ${-side}l${-side} ${side}`));
}

/**
 * A number in its cell, rounded to what fits.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number]} corner
 * @param {{cell: number, value: number, colour: Colour}} number
 */
function drawNumber(context, [x, y], { cell, value, colour }) {
  context.fillStyle = inkOn(colour);
  context.fillText(
    formatWithin(Math.fround(value), Math.floor((cell - 1) / (0.605 * Math.max(10, Math.round(cell / 3.2))))),
    x + cell / 2,
    y + cell / 2,
  );
}
