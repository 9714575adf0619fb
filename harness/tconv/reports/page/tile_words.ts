import { indexOf } from "./arrays.js";
import { formatFloat32, formatShape } from "./text.js";
import type { TileOptions } from "./tiles.js";

// What is said of an element of tiles.

/** What is said of an element: names and values. */
export function elementFacts({ fields, shown, titles, judged }: TileOptions, element: number) {
  const { origin, shape, shift, wrong, exact } = fields;
  const index = indexOf(shape, element).map((at, axis) => at + origin[axis]);
  const moved = shift.some((by) => by !== 0);
  const facts = [["index", formatShape(index)]];
  if (moved) facts.push(["actual's own", formatShape(index.map((at, axis) => at - shift[axis]))]);
  for (const name of shown) {
    const { values, present } = fields.fields[name];
    const words = present[element] ? formatFloat32(Math.fround(values[element])) : "none";
    facts.push([(titles[name] ?? name).split(",")[0], words]);
  }
  if (judged && !exact) facts.push(["error/allowed", formatFloat32(Math.fround(fields.fields.ratio.values[element]))]);
  if (judged) facts.push(["so it is", wrong[element] ? "✗ wrong" : "✓ as expected"]);
  return facts;
}
