import { productsOf } from "./geometry.js";
import { formatFloat32, formatShape } from "./text.js";

/*
 * The products of one output element, in words and in numbers.
 */

/** @import { Grid } from "./arrays.js" */
/** @import { Geometry } from "./geometry.js" */

/**
 * @typedef {object} Sizes of batch and channels
 * @property {number} batch
 * @property {number} channels
 * @property {number} out_channels of all groups together
 */
/** @typedef {Partial<Record<"x" | "w" | "b", Grid>>} Operands in NCX and IOX */

/** The most products that are written as numbers. */
const MOST_NUMBERS = 12;
const MOST_NAMED = 6;

/**
 * Say which products make an element.
 *
 * @param {Geometry & Sizes} geometry
 * @param {readonly number[]} index item, channel and spatial indices
 * @returns {string}
 */
export function productWords(geometry, [item, channel, ...spatial]) {
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

/**
 * The sum of an element in numbers; empty where the operands are not there, or the sum is long.
 *
 * @param {Geometry & Sizes} geometry
 * @param {readonly number[]} index
 * @param {Operands} operands
 */
export function sumWords(geometry, [item, channel, ...spatial], { x, w, b }) {
  const [first, last, within] = inputChannels(geometry, channel);
  const products = productsOf(geometry, spatial);
  if (!(x && w) || products.length * (last - first + 1) > MOST_NUMBERS) return "";
  const terms = [];
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

/**
 * The first and the last input channel of an output channel's group, and the output channel's index within the filter.
 *
 * @param {Geometry & Sizes} geometry
 * @param {number} channel
 */
function inputChannels({ channels, out_channels, groups }, channel) {
  const [inputs, outputs] = [channels / groups, out_channels / groups];
  const group = Math.floor(channel / outputs);
  return [group * inputs, (group + 1) * inputs - 1, channel - group * outputs];
}

/**
 * @param {Grid} grid
 * @param {readonly number[]} index
 */
const valueAt = ({ shape, values }, index) => values[index.reduce((sum, at, axis) => sum * shape[axis] + at, 0)];

/** @param {number} value */
const bracketed = (value) => (value < 0 ? `(${formatFloat32(value)})` : formatFloat32(value));
