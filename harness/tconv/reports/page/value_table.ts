import { indexOf } from "./arrays.js";
import { el, note } from "./elements.js";
import type { FieldName, Fields, Tiling } from "./fields.js";
import { formatCount, formatFloat32, formatShape } from "./text.js";

// The values of a slice as a table, for who cannot see colours and for who wants to copy.

/** The most elements that a table lists. */
export const MOST_LISTED = 400;

/** The elements of a slice, which are in tiles, that a table lists: wrong ones first, where they do not all fit. */
export function listedElements({ wrong }: Fields, starts: readonly number[], { rows, columns }: Tiling) {
  const all = starts.flatMap((start) => Array.from({ length: rows * columns }, (_, k) => start + k));
  if (all.length <= MOST_LISTED) return { listed: all, total: all.length };
  const first = [...all.filter((element) => wrong[element]), ...all.filter((element) => !wrong[element])];
  return { listed: first.slice(0, MOST_LISTED).sort((a, b) => a - b), total: all.length };
}

export function valueTable(shown: Fields, starts: readonly number[], tiling: Tiling) {
  const { fields, shape, origin, wrong, exact } = shown;
  const { listed, total } = listedElements(shown, starts, tiling);
  const columns: [string, FieldName][] = [
    ["expected", "expected"],
    ["actual", "actual"],
    ["error", "error"],
  ];
  if (!exact) columns.push(["error / allowed", "ratio"]);
  const used = columns.filter(([, name]) => fields[name].present.includes(1));
  const heads = ["index", ...used.map(([title]) => title), "so it is"].map((title) =>
    el("th", { scope: "col" }, title),
  );
  const rows = listed.map((element) => {
    const index = formatShape(indexOf(shape, element).map((at, axis) => at + origin[axis]));
    const cells = used.map(([, name]) => {
      const { values, present } = fields[name];
      return el("td", {}, present[element] ? formatFloat32(Math.fround(values[element])) : "none");
    });
    const verdict = wrong[element] ? "✗ wrong" : "✓ as expected";
    return el(
      "tr",
      { class: wrong[element] ? "wrong" : null },
      el("th", { scope: "row" }, index),
      ...cells,
      el("td", {}, verdict),
    );
  });
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
  const cut = listed.length < total;
  return el(
    "div",
    {},
    ...(cut
      ? [note(`${formatCount(listed.length)} of ${formatCount(total)} elements of this slice, wrong ones first.`)]
      : []),
    el("div", { class: "scroll-table", tabindex: 0, role: "region", "aria-label": "the values of this slice" }, table),
  );
}
