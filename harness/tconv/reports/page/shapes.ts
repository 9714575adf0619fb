import type { Scale } from "./geometry.js";

// What drawings are made of.

/** A place or a size: x and y, or width and height, in CSS pixels. */
export type Pair = [number, number];

/** A shape of a drawing; its style is words of which the style sheet makes colours. */
export type Shape =
  | { kind: "rect"; style: string; x: number; y: number; width: number; height: number }
  | { kind: "path"; style: string; d: string }
  | { kind: "text"; style: string; x: number; y: number; text: string; anchor: "start" | "middle" };

export type Drawing = { width: number; height: number; shapes: Shape[] };

export const box = (style: string, [x, y]: Pair, [width, height]: Pair): Shape => ({
  kind: "rect",
  style,
  x,
  y,
  width,
  height,
});

export const path = (style: string, parts: string[]): Shape => ({ kind: "path", style, d: parts.join("") });

/** A text around a point, or from it on. */
export const writing = (
  style: string,
  [x, y]: Pair,
  text: string | number,
  anchor: "start" | "middle" = "middle",
): Shape => ({
  kind: "text",
  style,
  x,
  y,
  text: String(text),
  anchor,
});

/** The numbers from `low` to before `high`. */
export const numbersFrom = (low: number, high: number) =>
  Array.from({ length: Math.max(high - low, 0) }, (_, step) => low + step);

export const shownNumbers = ({ ranges }: Scale) => ranges.flatMap(([from, to]) => numbersFrom(from, to));
