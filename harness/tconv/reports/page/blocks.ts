// Blocks of data in the page, as blocks.py writes them: JSON and arrays of numbers, deflated and in base64.

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;

export type Block<Values> = { values: Values; arrays: Record<string, Numbers> };

/** The values of each column, and for each row the number of its value from 1, or 0. */
export type Table = Block<Record<string, unknown[]>>;

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

export async function openBlock<Values>(base64: string): Promise<Block<Values>> {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  const { values, arrays }: { values: Values; arrays: Record<string, [keyof typeof TYPES, number, number]> } =
    JSON.parse(text);
  const views = Object.entries(arrays).map(([name, [type, at, size]]) => {
    return [name, new TYPES[type](buffer, 4 + length + at, size)];
  });
  return { values, arrays: Object.fromEntries(views) };
}

/** A row of a table as its writer made it: the values that it has, by the names of their columns. */
export function rowOf<Row>({ values, arrays }: Table, row: number): Row {
  const present = Object.keys(values).filter((name) => arrays[name][row] > 0);
  return Object.fromEntries(present.map((name) => [name, values[name][arrays[name][row] - 1]])) as Row;
}

function bytesOf(base64: string) {
  const characters = atob(base64);
  const bytes = new Uint8Array(characters.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = characters.charCodeAt(place);
  return bytes;
}
