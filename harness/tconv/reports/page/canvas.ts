import { LARGEST_CANVAS } from "./arrays.js";
import { type Colour, css, inkOn } from "./colours.js";
import { el } from "./elements.js";

// What heatmaps and their legends are drawn with.

/** The least size of a cell with an outline. */
const OUTLINED = 6;
export const SWATCH = 16;

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");

export const isDark = () => systemDark.matches && !paper.matches;

/** The hatching of what is not finite: crossed for NaN, rising and falling for the infinities. */
export function hatching(context: CanvasRenderingContext2D, value: number) {
  const tile = el("canvas", { width: 6, height: 6 });
  const draw = contextIn(tile);
  draw.fillStyle = isDark() ? "#4a4f55" : "#d5d5d0";
  draw.fillRect(0, 0, 6, 6);
  draw.strokeStyle = isDark() ? "#fff" : "#000";
  if (value !== Number.NEGATIVE_INFINITY) draw.stroke(new Path2D("M-1 7L7 -1M-1 1L1 -1M5 7L7 5"));
  if (value !== Number.POSITIVE_INFINITY) draw.stroke(new Path2D("M-1 -1L7 7M5 -1L7 1M-1 5L1 7"));
  return context.createPattern(tile, "repeat") ?? "";
}

/** Mark a wrong element: an outline and a corner, or without room for them all of the cell. */
export function drawMark(
  context: CanvasRenderingContext2D,
  [x, y]: [number, number],
  [width, height]: [number, number],
  colour: Colour | null, // null if the cell is hatched
) {
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

/** A small square of the legend. */
export function swatchOf(draw: (context: CanvasRenderingContext2D) => void) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  draw(contextOf(canvas, SWATCH, SWATCH));
  return canvas;
}

/** A scale of colours between its ends. */
export function scaleOf(name: string, scale: readonly Colour[], low: string, high: string) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  const context = contextOf(canvas, 128, 10);
  scale.forEach((colour, step) => {
    context.fillStyle = css(colour);
    context.fillRect(step / 2, 0, 1, 10);
  });
  return el("span", {}, `${name} ${low}`, canvas, high);
}

/** Give a canvas its size in CSS pixels, sharp on this screen, and return its context. */
export function contextOf(canvas: HTMLCanvasElement, width: number, height: number) {
  const ratio = Math.min(devicePixelRatio || 1, LARGEST_CANVAS / Math.max(width, height, 1));
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = contextIn(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

function contextIn(canvas: HTMLCanvasElement) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("a canvas must have a 2D context");
  return context;
}
