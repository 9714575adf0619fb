import { LARGEST_CANVAS } from "./arrays.js";
import { css, inkOn } from "./colours.js";
import { el } from "./elements.js";

/*
 * What heatmaps and their legends are drawn with.
 */

/** @import { Colour } from "./colours.js" */

/** The least size of a cell with an outline. */
export const OUTLINED = 6;
export const SWATCH = 16;

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");

export function isDark() {
  const theme = document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light");
  return theme === "dark" && !paper.matches;
}

/**
 * The hatching of what is not finite: crossed for NaN, rising and falling for the infinities.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {number} value
 */
export function hatching(context, value) {
  const tile = el("canvas", { width: 6, height: 6 });
  const draw = contextIn(tile);
  draw.fillStyle = isDark() ? "#4a4f55" : "#d5d5d0";
  draw.fillRect(0, 0, 6, 6);
  draw.strokeStyle = isDark() ? "#fff" : "#000";
  if (value !== Number.NEGATIVE_INFINITY) draw.stroke(new Path2D("M-1 7L7 -1M-1 1L1 -1M5 7L7 5"));
  if (value !== Number.POSITIVE_INFINITY) draw.stroke(new Path2D("M-1 -1L7 7M5 -1L7 1M-1 5L1 7"));
  return context.createPattern(tile, "repeat") ?? "";
}

/**
 * Mark a wrong element: an outline, and a corner where there is room; all of the cell where there is none.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number]} corner
 * @param {[number, number]} cell
 * @param {Colour | null} colour the cell's; null where it is hatched
 */
export function drawMark(context, [x, y], [width, height], colour) {
  const loud = isDark() ? "#fff" : "#000";
  if (Math.min(width, height) < OUTLINED) {
    context.fillStyle = loud;
    context.fillRect(x, y, width, height);
    return;
  }
  const ink = colour ? inkOn(colour) : loud;
  context.fillStyle = ink;
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.strokeRect(x + 1, y + 1, width - 2, height - 2);
  const side = Math.min(width, height) / 3.5;
  context.fill(new Path2D(`M${x + 1} ${y + 1}h${side}l${-side} ${side}z`));
}

/**
 * A small square of the legend.
 *
 * @param {(context: CanvasRenderingContext2D) => void} draw
 */
export function swatchOf(draw) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  draw(contextOf(canvas, SWATCH, SWATCH));
  return canvas;
}

/**
 * A scale of colours between its ends.
 *
 * @param {string} name
 * @param {readonly Colour[]} scale
 * @param {string} low
 * @param {string} high
 */
export function scaleOf(name, scale, low, high) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  const context = contextOf(canvas, 128, 10);
  scale.forEach((colour, step) => {
    context.fillStyle = css(colour);
    context.fillRect(step / 2, 0, 1, 10);
  });
  return el("span", {}, `${name} ${low}`, canvas, high);
}

/**
 * Give a canvas its size in CSS pixels, sharp on this screen, and return its context.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function contextOf(canvas, width, height) {
  const ratio = Math.min(devicePixelRatio || 1, LARGEST_CANVAS / Math.max(width, height, 1));
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = contextIn(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** @param {HTMLCanvasElement} canvas */
function contextIn(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("a canvas must have a 2D context");
  return context;
}
