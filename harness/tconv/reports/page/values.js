import { compareGrids, countMarks, rangeOf } from "./arrays.js";
import { el, note } from "./elements.js";
import { formatCount, formatShape } from "./text.js";

/*
 * The arrays of a record as heatmaps, and sentences in place of those that are not in the page.
 */

/** @import { Artifact, Grid } from "./arrays.js" */
/** @import { Detail } from "./opened_case.js" */
/** @import { Options } from "./heatmap.js" */

/** @typedef {Partial<Record<string, Grid>>} Grids */
/** @typedef {(options: Options) => Node} View */

const VALUE_AXES = ["batch", "channel"];
/** @type {[string, string[]][]} */
const OPERANDS = [
  ["x", VALUE_AXES],
  ["w", ["in", "out"]],
  ["b", []],
];

/**
 * @param {Artifact} artifact
 * @param {Detail} detail
 * @param {View} view makes a viewer
 * @returns {Node[]}
 */
export function describeArrays({ notes, grids }, detail, view) {
  return [...notes.map(note), ...outputs(grids, detail, view), ...operands(grids, detail, view)];
}

/**
 * Expected, actual and difference side by side; without a difference where there can be none.
 *
 * @param {Grids} grids
 * @param {Detail} detail
 * @param {View} view
 */
function outputs({ expected, actual, allowed }, detail, view) {
  const compared = expected && actual && compareGrids(expected, actual, allowed);
  if (compared) {
    const { difference, wrong: marks } = compared;
    const panes = [
      { title: "expected", grid: expected },
      { title: "actual", grid: actual },
      { title: "difference, actual - expected", grid: difference, diverging: true },
    ];
    return [...excused(marks, detail), view({ names: VALUE_AXES, panes, wrong: marks, allowed })];
  }
  const panes = [...titled("expected", expected), ...titled("actual", actual)];
  const range = rangeOf(panes.map(({ grid }) => grid));
  const notes = [];
  if (expected && actual) notes.push(note("The shapes differ, so there is no difference to draw."));
  else if (expected) notes.push(note("There are no actual values to draw beside these."));
  const views = panes.map((pane) => view({ names: VALUE_AXES, range, panes: [pane] }));
  return [...notes, el("div", { class: "beside" }, ...views)];
}

/**
 * The operands, folded until the reader opens them.
 *
 * @param {Grids} grids
 * @param {Detail} detail
 * @param {View} view
 */
function operands(grids, detail, view) {
  const panes = OPERANDS.flatMap(([name, names]) =>
    titled(name, grids[name]).map((pane) => ({ name, names, panes: [pane] })),
  );
  if (panes.length > 0) {
    const summary = `Operands ${panes.map(({ name }) => name).join(", ")}, the filter in IOX`;
    return [el("details", {}, el("summary", {}, summary), el("div", { class: "beside" }, ...panes.map(view)))];
  }
  return grids.expected ? [note(`The operands are not on this page. The artifact is ${detail.artifact}.`)] : [];
}

/**
 * An array with its shape in its title, if it is there.
 *
 * @param {string} name
 * @param {Grid} [grid]
 */
function titled(name, grid) {
  return grid ? [{ title: `${name} ${formatShape(grid.shape)}`, grid }] : [];
}

/**
 * The page marks all that is not allowed. Where the judge excused some of it, a sentence says so.
 *
 * @param {Uint8Array} marks
 * @param {Detail} detail
 */
function excused(marks, detail) {
  const judged = Number.parseInt(detail.figures?.find(([name]) => name === "wrong")?.[1] ?? "", 10);
  const marked = countMarks(marks);
  if (Number.isNaN(judged) || judged === marked) return [];
  return [
    note(
      `${formatCount(marked)} elements are marked, of which ${formatCount(judged)} count as wrong: the others are noted ` +
        "and not failed (flushed subnormals, NaN from inserted zeros, an infinity that may overflow).",
    ),
  ];
}
