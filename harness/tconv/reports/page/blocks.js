/*
 * Blocks of data in the page, as blocks.py writes them: JSON and arrays of numbers, deflated and in base64.
 */

/** @typedef {Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array} Numbers */
/**
 * @template Values
 * @typedef {{values: Values, arrays: Record<string, Numbers>}} Block
 */

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

/**
 * @template Values
 * @param {string} base64
 * @returns {Promise<Block<Values>>}
 */
export async function openBlock(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  /** @type {{values: Values, arrays: Record<string, [keyof typeof TYPES, number, number]>}} */
  const { values, arrays } = JSON.parse(text);
  const views = Object.entries(arrays).map(([name, [type, at, size]]) => {
    return [name, new TYPES[type](buffer, 4 + length + at, size)];
  });
  return { values, arrays: Object.fromEntries(views) };
}

/**
 * A row of a table: the values that it has, by the names of their columns.
 *
 * @param {Block<Record<string, unknown[]>>} table
 * @param {number} row
 * @returns {Record<string, any>}
 */
export function rowOf({ values, arrays }, row) {
  const present = Object.keys(values).filter((name) => arrays[name][row] > 0);
  return Object.fromEntries(present.map((name) => [name, values[name][arrays[name][row] - 1]]));
}

/** @param {string} base64 */
function bytesOf(base64) {
  const characters = atob(base64);
  const bytes = new Uint8Array(characters.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = characters.charCodeAt(place);
  return bytes;
}
