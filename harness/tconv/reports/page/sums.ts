import { elementAt, type Grid } from "./arrays.js";
import { type Geometry, productsOf } from "./geometry.js";
import { formatFloat32, formatShape } from "./text.js";

// The products of one output element, in words and in numbers.

/** The sizes of batch and channels. */
export interface Sizes {
  batch: number;
  channels: number;
  out_channels: number; // of all groups together
}

/** The operands, in NCX and IOX. */
export type Operands = Partial<Record<"x" | "w" | "b", Grid>>;

/** The most products that are written as numbers. */
const MOST_NUMBERS = 12;
const MOST_NAMED = 6;

/** Say which products make an element; its index is item, channel and spatial indices. */
export function productWords(geometry: Geometry & Sizes, [item, channel, ...spatial]: readonly number[]): string {
  const products = productsOf(geometry, spatial);
  const [first, last, within] = inputChannels(geometry, channel);
  const name = `y${formatShape([item, channel, ...spatial])}`;
  if (products.length === 0) return `${name}: no product reaches it. It is the bias, or 0.`;
  const single = first === last;
  const variable = single ? first : "ic";
  const named = products
    .slice(0, MOST_NAMED)
    .map(([data, taps]) => `x[${[item, variable, ...data].join(", ")}]·w[${[variable, within, ...taps].join(", ")}]`);
  if (products.length > MOST_NAMED) named.push(`${products.length - MOST_NAMED} more`);
  const each = single ? "" : ` in each of the input channels ic = ${first} to ${last}`;
  const count = products.length === 1 ? "1 product" : `${products.length} products`;
  return `${name}: ${count}${each}: ${named.join(" + ")}`;
}

/** The sum of an element in numbers; empty where the operands are not there, or the sum is long. */
export function sumWords(
  geometry: Geometry & Sizes,
  [item, channel, ...spatial]: readonly number[],
  { x, w, b }: Operands,
) {
  const [first, last, within] = inputChannels(geometry, channel);
  const products = productsOf(geometry, spatial);
  if (!(x && w) || products.length * (last - first + 1) > MOST_NUMBERS) return "";
  const terms: string[] = [];
  let sum = 0;
  for (let input = first; input <= last; input++) {
    for (const [data, taps] of products) {
      const [datum, weight] = [valueAt(x, [item, input, ...data]), valueAt(w, [input, within, ...taps])];
      sum += datum * weight;
      terms.push(`${bracketed(datum)}·${bracketed(weight)}`);
    }
  }
  if (b) {
    const bias = valueAt(b, [channel]);
    sum += bias;
    terms.push(`${bracketed(bias)} (bias)`);
  }
  return `${terms.join(" + ") || "nothing"} = ${formatFloat32(Math.fround(sum))}`;
}

/** The first and the last input channel of an output channel's group, and the channel's index within the filter. */
function inputChannels({ channels, out_channels, groups }: Geometry & Sizes, channel: number) {
  const [inputs, outputs] = [channels / groups, out_channels / groups];
  const group = Math.floor(channel / outputs);
  return [group * inputs, (group + 1) * inputs - 1, channel - group * outputs];
}

const valueAt = ({ shape, values }: Grid, index: readonly number[]) => values[elementAt(shape, index)];

const bracketed = (value: number) => (value < 0 ? `(${formatFloat32(value)})` : formatFloat32(value));
