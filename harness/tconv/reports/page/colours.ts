// The colour scales of heatmaps.

/** Red, green and blue, 0 to 255. */
export type Colour = readonly number[];

/** The colour of a finite value on a scale from low to high; the middle where these are equal. */
export function colourOf(scale: readonly Colour[], value: number, [low, high]: readonly [number, number]) {
  const share = high > low ? (value - low) / (high - low) : 0.5;
  return scale[Math.round(share * (scale.length - 1))];
}

/** A scale of 256 colours, linear between a few. */
export function palette(stops: readonly Colour[]): Colour[] {
  return Array.from({ length: 256 }, (_, step) => {
    const place = (step / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((channel, k) => Math.round(channel + (stops[low + 1][k] - channel) * (place - low)));
  });
}

export const css = ([red, green, blue]: Colour) => `rgb(${red},${green},${blue})`;

/** Black or white, whichever is easier to read on the colour. */
export const inkOn = ([red, green, blue]: Colour) =>
  0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000" : "#fff";
