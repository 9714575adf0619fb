import { fullOf } from "../page/geometry.js";

/*
 * The resolver of tconv/dialects/geometry.py for the page: from attributes and a text's rules to a geometry. tests/page holds
 * the two against each other.
 */

/** @import { Geometry } from "../page/geometry.js" */

/** @typedef {Record<string, string>} Rules an answer to each question */
/** @typedef {"explicit" | "valid" | "same_upper" | "same_lower"} AutoPad */
/**
 * What is written, on each axis.
 *
 * @typedef {object} Attributes
 * @property {number[]} spatial
 * @property {number[]} kernel
 * @property {number[]} strides
 * @property {number[]} dilations
 * @property {number[]} pads_begin
 * @property {number[]} pads_end
 * @property {number[]} output_padding
 * @property {number[] | null} output_shape
 * @property {AutoPad} auto_pad
 */
/** @typedef {{geometry: Geometry} | {refused: string}} Resolved */
/** @typedef {{reach: number, x: number, s: number, begin: number, end: number, op: number, size: number | null}} WrittenAxis */

/**
 * A text, as far as porting needs it.
 *
 * @typedef {object} Text
 * @property {string} name
 * @property {Rules} rules
 * @property {Record<string, string>} words for each attribute that it has
 * @property {Record<string, string>} modes for each padding mode that it has
 * @property {boolean} limitsOutputPadding whether output_padding must be below the stride or the dilation
 * @property {boolean} padsAlone whether pads must not stand beside a padding mode
 */

/**
 * @param {Attributes} written
 * @param {Rules} rules
 * @returns {Resolved}
 */
export function resolveAttributes(written, rules) {
  const { spatial, kernel, strides, dilations } = written;
  /** @type {Geometry} */
  const geometry = { spatial, kernel, strides, dilations, pads_begin: [], output: [], groups: 1 };
  for (let axis = 0; axis < spatial.length; axis++) {
    const op = written.output_padding[axis];
    const place = windowOf(
      {
        reach: fullOf(geometry, axis) + op,
        x: spatial[axis],
        s: strides[axis],
        begin: written.pads_begin[axis],
        end: written.pads_end[axis],
        op,
        size: written.output_shape?.[axis] ?? null,
      },
      written.auto_pad,
      rules,
    );
    if (!place) return { refused: "the padding to be distributed is below 0, which this text refuses" };
    if (place[1] < 0) return { refused: `the output would have ${place[1]} elements on axis ${axis}` };
    geometry.pads_begin.push(place[0]);
    geometry.output.push(place[1]);
  }
  return { geometry };
}

/**
 * The begin and the size of the output on an axis; null where the rules refuse.
 *
 * @param {WrittenAxis} axis
 * @param {AutoPad} mode
 * @param {Rules} rules
 * @returns {[number, number] | null}
 */
function windowOf(axis, mode, rules) {
  if (axis.size !== null) return sizedWindow(axis, axis.size, mode, rules);
  if (mode === "explicit") return [axis.begin, axis.reach - axis.begin - axis.end];
  if (mode === "valid" || rules.same === "no-padding") return [0, axis.reach];
  const sizes = { "input-times-stride": axis.x * axis.s, "kernel-less-stride": axis.x * axis.s + axis.op };
  const size = sizes[/** @type {keyof typeof sizes} */ (rules.same)] ?? axis.x;
  const odd = mode === "same_upper" ? rules.odd_upper : rules.odd_lower;
  return distributed(axis.reach, size, odd, rules.negative_same);
}

/**
 * @param {WrittenAxis} axis
 * @param {number} size
 * @param {AutoPad} mode
 * @param {Rules} rules
 */
function sizedWindow(axis, size, mode, rules) {
  if (mode === "valid" && rules.sized_valid === "kept") return /** @type {[number, number]} */ ([0, size]);
  if (mode === "explicit" && rules.sized_explicit === "kept") {
    return /** @type {[number, number]} */ ([axis.begin, size]);
  }
  const odd = { same_upper: rules.odd_sized_upper, same_lower: rules.odd_sized_lower };
  const side = odd[/** @type {keyof typeof odd} */ (mode)] ?? rules.odd_sized;
  return distributed(axis.reach, size, side, rules.negative_sized);
}

/**
 * What exceeds a size, distributed over both sides.
 *
 * @param {number} reach
 * @param {number} size
 * @param {string} odd
 * @param {string} negative
 * @returns {[number, number] | null}
 */
function distributed(reach, size, odd, negative) {
  const total = reach - size;
  const begin = (/** @type {number} */ all) => (odd === "end" ? Math.floor(all / 2) : Math.ceil(all / 2));
  if (total >= 0 || negative === "floor") return [begin(total), size];
  switch (negative) {
    case "truncate":
      return [-begin(-total), size];
    case "append":
      return [0, size];
    case "shrink":
      return [0, reach];
    default:
      return null;
  }
}

/**
 * The attributes with which a text gives a geometry: pads and output_padding, and nothing that follows from others.
 *
 * @param {Geometry} geometry
 * @param {Text} text
 * @returns {{attributes: [string, string][]} | {impossible: string}}
 */
export function rewriteFor(geometry, text) {
  const axes = geometry.output.map((_, axis) => axis);
  const ends = axes.map((axis) => fullOf(geometry, axis) - geometry.pads_begin[axis] - geometry.output[axis]);
  const added = ends.map((end) => Math.max(-end, 0));
  if (geometry.pads_begin.some((begin) => begin < 0)) {
    return {
      impossible:
        "the output begins before all that the taps reach, and no pad is negative: pad the output with an operation of its own",
    };
  }
  const large = axes.some((axis) => added[axis] >= Math.max(geometry.strides[axis], geometry.dilations[axis]));
  if (text.limitsOutputPadding && large) {
    return {
      impossible:
        "output_padding would not be below the stride or the dilation: pad the output at its end with an operation of its own",
    };
  }
  const begins = geometry.pads_begin;
  const pads = ends.map((end) => Math.max(end, 0));
  const { words } = text;
  /** @type {[string, number[]][]} */
  const lists =
    words.pads_begin === "pads"
      ? [["pads", [...begins, ...pads]]]
      : [
          [words.pads_begin, begins],
          [words.pads_end, pads],
        ];
  lists.unshift([words.strides, geometry.strides], [words.dilations, geometry.dilations]);
  lists.push([words.output_padding, added]);
  return { attributes: lists.map(([name, list]) => [name, `[${list.join(", ")}]`]) };
}

/**
 * What a text says against attributes as they are written; empty where it can say them.
 *
 * @param {Attributes} written
 * @param {Text} text
 */
export function objections(written, text) {
  const said = [];
  if (written.output_shape && !text.words.output_shape) said.push("it has no output_shape");
  if (written.auto_pad !== "explicit" && !text.modes[written.auto_pad]) said.push(`it has no ${written.auto_pad}`);
  const padded = [...written.pads_begin, ...written.pads_end].some((pad) => pad !== 0);
  if (text.padsAlone && padded && written.auto_pad !== "explicit") said.push("pads must not stand beside auto_pad");
  const large = written.output_padding.some(
    (op, axis) => op > 0 && op >= Math.max(written.strides[axis], written.dilations[axis]),
  );
  if (text.limitsOutputPadding && large) said.push("output_padding must be below the stride or the dilation");
  return said;
}

const MODES = /** @type {AutoPad[]} */ (["explicit", "valid", "same_upper", "same_lower"]);

/**
 * The smallest call of one axis for which the answers to a question give different outputs, and what they give.
 *
 * @param {string} question
 * @param {readonly string[]} answers
 * @param {Rules} rules the other answers
 * @returns {{written: Attributes, frames: {answer: string, resolved: Resolved}[]} | null}
 */
export function exampleOf(question, answers, rules) {
  let best = null;
  let most = 1;
  for (const written of smallCalls()) {
    const frames = answers.map((answer) => ({
      answer,
      resolved: resolveAttributes(written, { ...rules, [question]: answer }),
    }));
    const distinct = new Set(frames.map(({ resolved }) => JSON.stringify(resolved))).size;
    if (distinct > most) [best, most] = [{ written, frames }, distinct];
  }
  return best;
}

/**
 * The calls of one axis that are looked through, the smallest first.
 *
 * @returns {Attributes[]}
 */
function smallCalls() {
  const crossed = [1, 2, 3, 4].flatMap((kernel) =>
    [1, 2, 3].flatMap((stride) => [0, 1].map((op) => [kernel, stride, op])),
  );
  return crossed.flatMap(([kernel, stride, op]) => {
    const reach = 2 * stride + kernel + op;
    const shapes = [null, ...[-2, -1, 0, 1, 2, 3].map((more) => [reach + more])];
    return shapes.flatMap((output_shape) =>
      MODES.map((auto_pad) => ({
        spatial: [3],
        kernel: [kernel],
        strides: [stride],
        dilations: [1],
        pads_begin: [auto_pad === "explicit" ? 1 : 0],
        pads_end: [0],
        output_padding: [op],
        output_shape,
        auto_pad,
      })),
    );
  });
}
