/*
 * What drawings are made of.
 */

/** @import { Scale } from "./geometry.js" */

/** @typedef {[number, number]} Pair x and y, or width and height, in CSS pixels */
/**
 * A shape of a drawing; its style is words of which the style sheet makes colours.
 *
 * @typedef {{kind: "rect", style: string, x: number, y: number, width: number, height: number}
 *   | {kind: "path", style: string, d: string}
 *   | {kind: "text", style: string, x: number, y: number, text: string, anchor: "start" | "middle"}} Shape
 */
/**
 * @typedef {object} Drawing
 * @property {number} width
 * @property {number} height
 * @property {Shape[]} shapes
 */

/**
 * @param {string} style
 * @param {Pair} corner
 * @param {Pair} size
 * @returns {Shape}
 */
export const box = (style, [x, y], [width, height]) => ({ kind: "rect", style, x, y, width, height });

/**
 * @param {string} style
 * @param {string[]} parts
 * @returns {Shape}
 */
export const path = (style, parts) => ({ kind: "path", style, d: parts.join("") });

/**
 * A text around a point, or from it on.
 *
 * @param {string} style
 * @param {Pair} point
 * @param {string | number} text
 * @param {"start" | "middle"} [anchor]
 * @returns {Shape}
 */
export const writing = (style, [x, y], text, anchor = "middle") => ({
  kind: "text",
  style,
  x,
  y,
  text: String(text),
  anchor,
});

/** @param {number} low @param {number} high one beyond the last */
export const numbersFrom = (low, high) => Array.from({ length: Math.max(high - low, 0) }, (_, step) => low + step);

/** @param {Scale} scale */
export const shownNumbers = ({ ranges }) => ranges.flatMap(([from, to]) => numbersFrom(from, to));
