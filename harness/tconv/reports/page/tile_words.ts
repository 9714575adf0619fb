import { indexOf } from "./arrays.js";
import { el } from "./elements.js";
import type { FieldName } from "./fields.js";
import { formatFloat32, formatShape } from "./text.js";
import type { TileOptions } from "./tiles.js";

// The words around tiles: the ways to look at them, and what is said of an element.

export type Mode = "beside" | "swipe" | "text";

const MODES: [Mode, string][] = [
  ["beside", "side by side"],
  ["swipe", "swipe"],
  ["text", "as text"],
];
let views = 0;

/** The choice of the way to look; there is no swiping without two fields to swipe between. */
export function modeChoices(shown: FieldName[], chosen: Mode, choose: (mode: Mode) => void) {
  const modes = MODES.filter(([mode]) => mode !== "swipe" || (shown.includes("expected") && shown.includes("actual")));
  views += 1;
  const choices = modes.map(([mode, words]) => {
    const input = el("input", { type: "radio", name: `mode-${views}`, value: mode, checked: mode === chosen });
    input.addEventListener("change", () => choose(mode));
    return el("label", { class: "choice" }, input, words);
  });
  return el("div", { class: "modes", role: "group", "aria-label": "how the values are shown" }, ...choices);
}

/** What is said of an element: names and values. */
export function elementFacts({ fields, shown, titles, judged }: TileOptions, element: number) {
  const { origin, shape, shift, wrong, exact } = fields;
  const index = indexOf(shape, element).map((at, axis) => at + origin[axis]);
  const moved = shift.some((by) => by !== 0);
  const facts = [["index", formatShape(index)]];
  if (moved) facts.push(["actual's own", formatShape(index.map((at, axis) => at - shift[axis]))]);
  for (const name of shown) {
    if (name === "ratio" && exact) continue;
    const { values, present } = fields.fields[name];
    const value = values[element];
    const words = present[element] ? formatFloat32(Math.fround(value)) : "none";
    facts.push([name === "ratio" ? "error/allowed" : (titles[name] ?? name).split(",")[0], words]);
  }
  if (judged) facts.push(["so it is", wrong[element] ? "✗ wrong" : "✓ as expected"]);
  return facts;
}
