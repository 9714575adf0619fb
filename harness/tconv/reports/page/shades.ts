import { type Colour, colourOf, palette } from "./colours.js";
import type { Arrays, Fields, Tiled } from "./fields.js";
import { formatRounded } from "./text.js";

// The colours of values and errors. Zero is white, in the dark the ground; blue and orange are told apart by
// everyone who tells colours apart in any way.

/** A scale of values. */
export interface Shade {
  limit: number; // larger magnitudes are hatched
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
/** The scale of values or errors up to a magnitude, alike on both sides of zero. */
export function signedShade(reach: number, dark: boolean): Shade {
  const colours = dark ? SIGNED_ON_DARK : SIGNED_ON_LIGHT;
  const end = formatRounded(reach);
  return {
    limit: reach,
    colours,
    of: (value) => colourOf(colours, clamped(value, -reach, reach), [-reach, reach]),
    ends: [`-${end}`, end],
  };
}

const clamped = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

/** The largest finite magnitude of a field. */
export function reachOf({ fields }: Fields, names: readonly Tiled[]) {
  return Math.max(...names.map((name) => largestOf(fields[name].values)));
}

const largestOf = (values: ArrayLike<number>) => {
  let largest = 0;
  for (let at = 0; at < values.length; at++) {
    const magnitude = Math.abs(values[at]);
    if (magnitude > largest && magnitude !== Number.POSITIVE_INFINITY) largest = magnitude;
  }
  return largest;
};

/** What an infinity is limited to is no uninitialised memory. */
const LARGEST_FLOAT32 = 3.4e38;
const LARGEST_FLOAT16 = 65504;

/** So many times what is expected would leave no colours for the other values. */
const FAR = 1000;

/** A sentence on values that are far larger than what is expected; empty if there are none. */
export function farBeyond({ expected, actual }: Arrays) {
  const [right, came] = [largestOf(expected?.values ?? []), largestOf(actual?.values ?? [])];
  if (right === 0 || came <= FAR * right) return "";
  const [most, limit] = [formatRounded(came), formatRounded(right)];
  const isLargest = came >= LARGEST_FLOAT32 || came === LARGEST_FLOAT16;
  return `Values up to ${most}; at most ${limit} is expected${isLargest ? "" : ": possibly uninitialised memory"}.`;
}

/** The scales of the fields; values far beyond what is expected are hatched. */
export function shadesOf(shown: Fields, dark: boolean): Record<Tiled, Shade> {
  const [own, all] = [reachOf(shown, ["expected"]), reachOf(shown, ["expected", "actual"])];
  const limit = own > 0 && all > FAR * own ? own : Number.POSITIVE_INFINITY;
  const values = signedShade(Math.min(all, limit), dark);
  const error = reachOf(shown, ["error"]);
  return {
    expected: values,
    actual: values,
    error: signedShade(Math.min(error, limit), dark),
  };
}
