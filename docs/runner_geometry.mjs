// A runner for the exec: backend in another language: geometry/1 in f32 and f64, computed in JavaScript.
// Run it: tconv run --backend 'exec:node docs/runner_geometry.mjs'

import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const TYPES = { f32: ["<f4", Float32Array], f64: ["<f8", Float64Array] };

// The axes of a layout in the order of NCX (of IOX for a filter): where to find batch, channels and each spatial axis.
function axes(format, rank) {
  const spatial = (first) => Array.from({ length: rank }, (_, axis) => first + axis);
  return { NCX: [0, 1, ...spatial(2)], NXC: [0, rank + 1, ...spatial(1)],
           IOX: [0, 1, ...spatial(2)], XOI: [rank + 1, rank, ...spatial(0)] }[format];
}

function strides(shape) {
  const steps = shape.map(() => 1);
  for (let axis = shape.length - 2; axis >= 0; axis -= 1) steps[axis] = steps[axis + 1] * shape[axis + 1];
  return steps;
}

// Reads version 1 to 3 of .npy: magic, version, the length of the header, the header, the data in C order.
function load(path, Values) {
  const file = readFileSync(path);
  const [length, start] = file[6] === 1 ? [file.readUInt16LE(8), 10] : [file.readUInt32LE(8), 12];
  const header = file.toString("latin1", start, start + length);
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(",").filter((size) => size.trim()).map(Number);
  const data = file.buffer.slice(file.byteOffset + start + length, file.byteOffset + file.length);
  return { shape, descr: header.match(/'descr': '([^']*)'/)[1], data: new Values(data) };
}

function save(path, descr, shape, values) {
  const sizes = shape.map((size) => `${size},`).join(" ");
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }`;
  const padded = `${header.padEnd(Math.ceil((header.length + 11) / 64) * 64 + 53)}\n`;
  const length = Buffer.alloc(2);
  length.writeUInt16LE(padded.length);
  const magic = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]);
  writeFileSync(path, Buffer.concat([magic, length, Buffer.from(padded), Buffer.from(values.buffer)]));
}

// An array in its layout, read by the indices of NCX or IOX.
function view({ shape, data }, format, rank) {
  const order = axes(format, rank);
  const steps = strides(shape);
  return { shape: order.map((axis) => shape[axis]), steps: order.map((axis) => steps[axis]), data };
}

function* indices(shape) {
  const index = shape.map(() => 0);
  for (let left = shape.reduce((product, size) => product * size, 1); left > 0; left -= 1) {
    yield index;
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      index[axis] += 1;
      if (index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// What the call breaks, in words; the rules of a geometry are few.
function refusal(x, w, b, groups, output, lists) {
  if (lists.some((list) => list.length !== x.shape.length - 2)) return "an attribute has not an entry for each axis";
  if (groups < 1 || x.shape[1] % groups) return "groups must divide the channels";
  if (w.shape[0] !== x.shape[1]) return "data and filter must have the same channels";
  if (b && b.shape.join() !== `${w.shape[1] * groups}`) return "the bias must have an entry for each output channel";
  return output.some((size) => size < 0) ? "an output size must not be below 0" : "";
}

// Every element of the data is multiplied with every tap, and added where the two meet: at i*stride + k*dilation - begin.
function answer({ attributes, data_format, filter_format, groups, dtype, inputs, shapes, output }) {
  if (!(dtype in TYPES)) return { unsupported: `type ${dtype}` };
  if (shapes !== "static") return { unsupported: "arrays have sizes, and no symbols" };
  const [descr, Values] = TYPES[dtype];
  const [loaded, filter] = [load(inputs.data, Values), load(inputs.filter, Values)];
  const b = inputs.bias && load(inputs.bias, Values);
  if ([loaded, filter, ...(b ? [b] : [])].some((array) => array.descr !== descr)) return { refused: "types differ" };
  if (filter_format === "GIOX") filter.shape.splice(0, 2, filter.shape[0] * filter.shape[1]);
  if (filter.shape.length !== loaded.shape.length) return { refused: "data and filter must have the same rank" };
  const rank = loaded.shape.length - 2;
  const x = view(loaded, data_format, rank);
  const w = view(filter, filter_format === "GIOX" ? "IOX" : filter_format, rank);
  const list = (name, neutral) => attributes[name] ?? Array(rank).fill(neutral);
  const [s, d, begin, end, added] = [list("strides", 1), list("dilations", 1),
    list("pads_begin", 0), list("pads_end", 0), list("output_padding", 0)];
  if (s.some((stride) => stride < 1) || d.some((dilation) => dilation < 1)) return { refused: "a step must be positive" };
  const sizes = s.map((stride, a) =>
    (x.shape[a + 2] - 1) * stride + (w.shape[a + 2] - 1) * d[a] + 1 + added[a] - begin[a] - end[a]);
  const refused = refusal(x, w, b, groups, sizes, [s, d, begin, end, added]);
  if (refused) return { refused };
  const [inputsOfGroup, outputsOfGroup] = [x.shape[1] / groups, w.shape[1]];
  const ncx = [x.shape[0], outputsOfGroup * groups, ...sizes];
  const order = axes(data_format, rank);
  const shape = order.map(() => 0);
  order.forEach((axis, n) => { shape[axis] = ncx[n]; });
  const laid = strides(shape);
  const steps = order.map((axis) => laid[axis]);
  const offset = (index, by) => index.reduce((sum, i, axis) => sum + i * by[axis], 0);
  const sums = new Float64Array(ncx.reduce((product, size) => product * size, 1));
  if (b) for (const place of indices(ncx)) sums[offset(place, steps)] = b.data[place[1]];
  for (const [n, c, ...i] of indices(x.shape)) {
    const value = x.data[offset([n, c, ...i], x.steps)];
    for (const [o, ...k] of indices(w.shape.slice(1))) {
      const at = i.map((index, a) => index * s[a] + k[a] * d[a] - begin[a]);
      if (at.some((index, a) => index < 0 || index >= sizes[a])) continue;
      const channel = Math.floor(c / inputsOfGroup) * outputsOfGroup + o;
      sums[offset([n, channel, ...at], steps)] += value * w.data[offset([c, o, ...k], w.steps)];
    }
  }
  save(output, descr, shape, Values.from(sums));
  return { ok: true };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { hello, run } = JSON.parse(line);
  const reply = hello
    ? { name: "node-geometry", version: process.versions.node, dialect: "geometry/1" }
    : { id: run.id, ...answer(run) };
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
