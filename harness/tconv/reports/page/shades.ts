import { type Colour, colourOf, palette } from "./colours.js";
import type { FieldName, Fields } from "./fields.js";

// The colours of values, errors and ratios. Zero is white, in the dark the ground; blue and orange are told apart by
// everyone who tells colours apart in any way.

/** A scale of values. */
export interface Shade {
  colours: readonly Colour[];
  of: (value: number) => Colour; // the colour of a number; not of NaN
  ends: string[]; // what the first and the last colour mean
}

const SIGNED_ON_LIGHT = palette([
  [5, 61, 124],
  [44, 123, 182],
  [146, 197, 222],
  [255, 255, 255],
  [244, 177, 115],
  [217, 95, 14],
  [127, 39, 4],
]);
const SIGNED_ON_DARK = palette([
  [170, 215, 255],
  [84, 160, 224],
  [32, 82, 128],
  [24, 27, 30],
  [128, 62, 16],
  [226, 120, 40],
  [255, 205, 160],
]);
/** Below the allowance greys, beyond it orange to brown; its middle is the allowance. */
const RATIO_ON_LIGHT = palette([
  [255, 255, 255],
  [226, 230, 234],
  [186, 196, 206],
  [250, 190, 120],
  [217, 95, 14],
  [110, 30, 4],
]);
const RATIO_ON_DARK = palette([
  [24, 27, 30],
  [44, 50, 56],
  [74, 84, 94],
  [150, 80, 24],
  [236, 132, 52],
  [255, 214, 170],
]);
/** Powers of ten on either side of the allowance. */
const DECADES = 3;

/** The scale of values or errors up to a magnitude, alike on both sides of zero. */
export function signedShade(reach: number, dark: boolean): Shade {
  const colours = dark ? SIGNED_ON_DARK : SIGNED_ON_LIGHT;
  const end = String(Number(reach.toPrecision(4)));
  return {
    colours,
    of: (value) => colourOf(colours, clamped(value, -reach, reach), [-reach, reach]),
    ends: [`-${end}`, end],
  };
}

/** The logarithmic scale of errors over their allowance; if nothing is allowed over the largest, which is else 0. */
export function logarithmicShade(largest: number, dark: boolean): Shade {
  const colours = dark ? RATIO_ON_DARK : RATIO_ON_LIGHT;
  const low = largest > 0 ? 0.55 : 0;
  return {
    colours:
      largest > 0
        ? colours.map((_, step) => colours[step === 0 ? 0 : Math.round(255 * low + (1 - low) * step)])
        : colours,
    of: (value) => {
      if (value === 0) return colours[0];
      const decades = largest > 0 ? Math.log10(value / largest) + DECADES : Math.log10(value) + DECADES;
      const share = clamped(decades / (largest > 0 ? DECADES : 2 * DECADES), 0, 1);
      return colours[Math.round((low + (1 - low) * share) * 255)];
    },
    ends: largest > 0 ? ["0", String(Number(largest.toPrecision(4)))] : [`10^-${DECADES}`, `10^${DECADES}`],
  };
}

const clamped = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

/** The largest finite magnitude of a field. */
export function reachOf({ fields }: Fields, names: readonly FieldName[]) {
  let reach = 0;
  for (const name of names) {
    for (const value of fields[name].values) {
      const magnitude = Math.abs(value);
      if (magnitude > reach && magnitude !== Number.POSITIVE_INFINITY) reach = magnitude;
    }
  }
  return reach;
}

/** The scales of the four fields. */
export function shadesOf(shown: Fields, dark: boolean): Record<FieldName, Shade> {
  const values = signedShade(reachOf(shown, ["expected", "actual"]), dark);
  const error = reachOf(shown, ["error"]);
  return {
    expected: values,
    actual: values,
    error: signedShade(error, dark),
    ratio: shown.exact && error === 0 ? signedShade(0, dark) : logarithmicShade(shown.exact ? error : 0, dark),
  };
}
