import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { readNpy, writeNpy } from "./npy.mjs";

/*
 * A runner of tconv for tf.js, its JavaScript kernels in node, geometry/1: `tf.conv2dTranspose` and `tf.conv3dTranspose`.
 * Arguments: the dialect, and the folder in which npm has installed @tensorflow/tfjs. Data is NXC and a filter XOI. The caller
 * names the size of the output, and so output_padding. There are no dilations and no groups.
 */

const [dialect, folder] = process.argv.slice(2);
// What it prints as it is loaded must not be taken for replies.
console.log = console.info = console.warn = console.error;
const tf = createRequire(`${folder}/`)("@tensorflow/tfjs");
await tf.setBackend("cpu");

const product = (sizes) => sizes.reduce((all, size) => all * size, 1);

/** Return a typed array with its axes in another order, in the order of C. */
function transposed({ shape, data }, axes) {
  const to = axes.map((axis) => shape[axis]);
  const steps = shape.map((_, axis) => product(shape.slice(axis + 1)));
  const moved = new Float32Array(data.length);
  for (let place = 0; place < moved.length; place++) {
    let [rest, from] = [place, 0];
    for (let axis = to.length - 1; axis >= 0; axis--) {
      from += (rest % to[axis]) * steps[axes[axis]];
      rest = Math.floor(rest / to[axis]);
    }
    moved[place] = data[from];
  }
  return { shape: to, data: moved };
}

/** Return the axes that bring an array of a layout to another one. */
function axesOf(from, to, rank) {
  const places = {};
  let at = 0;
  for (const letter of from) {
    const width = letter === "X" ? rank : 1;
    places[letter] = Array.from({ length: width }, (_, index) => at + index);
    at += width;
  }
  return [...to].flatMap((letter) => places[letter]);
}

class Unsupported extends Error {}

/** Return the output of a call, in its layout. */
function output(run) {
  const arrays = Object.fromEntries(Object.entries(run.inputs).map(([name, path]) => [name, readNpy(path)]));
  const { data, filter, bias } = arrays;
  const rank = data.shape.length - 2;
  const { strides, dilations, pads_begin, pads_end, output_padding } = run.attributes;
  if (run.shapes !== "static") throw new Unsupported("arrays have sizes, and no symbols");
  if (run.dtype !== "f32" || Object.values(arrays).some(({ descr }) => descr !== "<f4"))
    throw new Unsupported("a tensor of tf.js has f32");
  if (rank !== 2 && rank !== 3) throw new Unsupported("tf.js has conv2dTranspose and conv3dTranspose");
  if (run.groups !== 1 || (filter.shape.length !== rank + 2)) throw new Unsupported("no groups, and as many axes as the data");
  const lists = { strides, dilations, pads_begin, pads_end, output_padding };
  if (Object.values(lists).some((list) => list !== undefined && list.length !== rank))
    throw new Unsupported("a list has an entry for each axis");
  if ((dilations ?? []).some((d) => d !== 1)) throw new Unsupported("no dilations");
  const [begin, end, more] = [pads_begin, pads_end, output_padding].map((list) => list ?? Array(rank).fill(0));
  const padded = [...begin, ...end].some((pad) => pad !== 0);
  if (padded && (rank !== 2 || Math.min(...begin, ...end) < 0))
    throw new Unsupported("pads that are no word are of two axes, and not negative");
  // The forward convolution over the output must give the size of the data: tf.js does not check it.
  if (more.some((m, axis) => m < 0 || (m > 0 && m >= (strides?.[axis] ?? 1))))
    throw new Unsupported("output_padding is not negative and below stride");
  const x = transposed(data, axesOf(run.data_format, "NXC", rank));
  const w = transposed(filter, axesOf(run.filter_format, "XOI", rank));
  const steps = strides ?? Array(rank).fill(1);
  const sizes = steps.map((s, a) => (x.shape[a + 1] - 1) * s + w.shape[a] + more[a] - begin[a] - end[a]);
  const shape = [x.shape[0], ...sizes, w.shape[rank]];
  const pads = padded ? [[0, 0], ...begin.map((pad, axis) => [pad, end[axis]]), [0, 0]] : "valid";
  return tf.tidy(() => {
    const operands = [tf.tensor(x.data, x.shape), tf.tensor(w.data, w.shape)];
    let y = rank === 2 ? tf.conv2dTranspose(...operands, shape, steps, pads) : tf.conv3dTranspose(...operands, shape, steps, pads);
    if (bias !== undefined) y = tf.add(y, tf.tensor(bias.data, bias.shape));
    return transposed({ shape: y.shape, data: y.dataSync() }, axesOf("NXC", run.data_format, rank));
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const { hello, run } = JSON.parse(line);
  let reply = { name: "tfjs", version: tf.version.tfjs, dialect };
  if (!hello) {
    try {
      const { shape, data } = output(run);
      writeNpy(run.output, "<f4", shape, data);
      reply = { id: run.id, ok: true };
    } catch (error) {
      const message = String(error.message ?? error).split("\n")[0];
      reply = { id: run.id, [error instanceof Unsupported ? "unsupported" : "refused"]: message };
    }
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
