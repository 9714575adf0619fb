import { readFileSync, writeFileSync } from "node:fs";

/*
 * Arrays in the .npy format of numpy, versions 1 to 3, as far as the runner protocol has them.
 */

const TYPES = {
  "<f4": Float32Array,
  "<f8": Float64Array,
  "<f2": Uint16Array,
  "<u2": Uint16Array,
  "<i8": BigInt64Array,
};

/**
 * Read an array.
 *
 * @param {string} path
 * @returns {{descr: string, shape: number[], data: Float32Array | Float64Array | Uint16Array | BigInt64Array}} the
 *   elements in the order of C; those of `<f2` as bits.
 */
export function readNpy(path) {
  const file = readFileSync(path);
  const [at, length] = file[6] === 1 ? [10, file.readUInt16LE(8)] : [12, file.readUInt32LE(8)];
  const header = file.toString("latin1", at, at + length);
  const descr = /'descr':\s*'([^']*)'/.exec(header)?.[1] ?? "";
  const fortran = /'fortran_order':\s*True/.test(header);
  const shape = (/'shape':\s*\(([^)]*)\)/.exec(header)?.[1] ?? "").split(",").filter((size) => size.trim()).map(Number);
  const Type = TYPES[descr];
  if (Type === undefined) throw new Error(`an array must be of a type in ${Object.keys(TYPES)} (got ${descr})`);
  // A copy begins at an address that the type's elements may begin at.
  const data = new Type(Uint8Array.prototype.slice.call(file, at + length).buffer);
  return { descr, shape, data: fortran ? inOrderOfC(data, shape, Type) : data };
}

/**
 * Write an array.
 *
 * @param {string} path
 * @param {string} descr numpy's name of the type
 * @param {readonly number[]} shape
 * @param {ArrayBufferView} data the elements in the order of C
 */
export function writeNpy(path, descr, shape, data) {
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }`;
  const header = Buffer.alloc(Math.ceil((text.length + 11) / 64) * 64, " ");
  header.write("\x93NUMPY\x01\x00", "latin1");
  header.writeUInt16LE(header.length - 10, 8);
  header.write(text, 10);
  header[header.length - 1] = 0x0a;
  writeFileSync(path, Buffer.concat([header, Buffer.from(data.buffer, data.byteOffset, data.byteLength)]));
}

function inOrderOfC(data, shape, Type) {
  const ordered = new Type(data.length);
  const index = shape.map(() => 0);
  for (let place = 0; place < ordered.length; place++) {
    // In the order of Fortran the first axis is the fastest.
    let from = 0;
    for (let axis = shape.length - 1; axis >= 0; axis--) from = from * shape[axis] + index[axis];
    ordered[place] = data[from];
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
  }
  return ordered;
}
