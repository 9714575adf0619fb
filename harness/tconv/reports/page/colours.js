/*
 * The colour scales of heatmaps.
 */

/** @typedef {readonly number[]} Colour red, green and blue, 0 to 255 */

/**
 * The colour of a finite value on a scale from low to high; the middle where these are equal.
 *
 * @param {readonly Colour[]} scale
 * @param {number} value
 * @param {readonly [number, number]} range
 */
export function colourOf(scale, value, [low, high]) {
  const share = high > low ? (value - low) / (high - low) : 0.5;
  return scale[Math.round(share * (scale.length - 1))];
}

/**
 * A scale of 256 colours, linear between a few.
 *
 * @param {readonly Colour[]} stops
 * @returns {Colour[]}
 */
export function palette(stops) {
  return Array.from({ length: 256 }, (_, step) => {
    const place = (step / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((channel, k) => Math.round(channel + (stops[low + 1][k] - channel) * (place - low)));
  });
}

/** @param {Colour} colour */
export const css = ([red, green, blue]) => `rgb(${red},${green},${blue})`;

/**
 * Black or white, whichever is easier to read on the colour.
 *
 * @param {Colour} colour
 */
export const inkOn = ([red, green, blue]) => (0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000" : "#fff");
