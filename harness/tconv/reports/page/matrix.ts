import { button, el, note } from "./elements.js";
import type { Facet, PageData } from "./page_data.js";
import { canBeAsked, toggled, wordsOf } from "./query.js";
import { ranksOf } from "./selection.js";
import { formatCount } from "./text.js";

// The matrix: how many of the records shown have a status, by the values of two facets. A cell filters.

/** The most values of an axis; the rest is said to be left out. */
const [MOST_DOWN, MOST_ACROSS] = [60, 24];
/** What counts as not as the text says. */
const DEVIATING = ["failed", "undeclared", "reported", "inconclusive", "waived"];
/** Statuses that say nothing of the answer: there is none. */
const UNASKED = ["unsupported", "not-applicable"];

interface MatrixOptions {
  down: Facet;
  across: Facet;
  count: string; // a status, or "deviating"
  query: string;
  go: (query: string) => void;
  open: (query: string) => void; // shows the cases of a query
}

/** What can be counted: the statuses that there are, and all that deviates. */
export const COUNTED = [
  ...["deviating", "failed", "undeclared", "waived", "reported", "inconclusive", "disputed", "passed"],
  ...UNASKED,
];

export function makeMatrix(data: PageData, shown: Uint32Array, options: MatrixOptions) {
  const { down, across, count, query, go } = options;
  const wanted = count === "deviating" ? DEVIATING : [count];
  const { hits, all } = tally(data, shown, { down, across, wanted });
  const rows = ordered(down, all, (value) =>
    all.subarray(value * across.values.length, (value + 1) * across.values.length),
  );
  const columns = ordered(across, all, (value) => all.filter((_, place) => place % across.values.length === value));
  if (rows.length === 0 || columns.length === 0) return note("No record shown has a value on both axes.");
  const heads = columns.slice(0, MOST_ACROSS).map((value) => axisHead(across, value, "col", { query, go }));
  const body = rows.slice(0, MOST_DOWN).map((row) => {
    const cells = columns.slice(0, MOST_ACROSS).map((column) => {
      const place = row * across.values.length + column;
      return makeCell(hits[place], all[place], [down.values[row], across.values[column]], options);
    });
    return el("tr", {}, axisHead(down, row, "row", { query, go }), ...cells);
  });
  const corner = el("td", { class: "corner" }, `${down.name} ↓ ${across.name} →`);
  const table = el(
    "table",
    { class: "rates" },
    el("caption", {}, `${count}: n of N records with an answer, by ${down.name} and ${across.name}`),
    el("thead", {}, el("tr", {}, corner, ...heads)),
    el("tbody", {}, ...body),
  );
  const left = [leftOut(rows.length - MOST_DOWN, down), leftOut(columns.length - MOST_ACROSS, across)].flat();
  return el("div", { class: "wide" }, table, ...left);
}

const leftOut = (number: number, { name }: Facet) =>
  number > 0 ? [note(`${formatCount(number)} more values of ${name} are not shown.`)] : [];

function tally(
  data: PageData,
  shown: Uint32Array,
  { down, across, wanted }: { down: Facet; across: Facet; wanted: string[] },
) {
  const counted = data.statuses.map(([name]) => wanted.includes(name));
  const answered = data.statuses.map(([name]) => wanted.includes(name) || !UNASKED.includes(name));
  const size = down.values.length * across.values.length;
  const [hits, all] = [new Uint32Array(size), new Uint32Array(size)];
  for (const record of shown) {
    const [row, column] = [data.valueOf(down, record), data.valueOf(across, record)];
    const status = data.columns.status[record];
    if (row < 0 || column < 0 || !answered[status]) continue;
    all[row * across.values.length + column]++;
    if (counted[status]) hits[row * across.values.length + column]++;
  }
  return { hits, all };
}

/** The values of a facet that some record has, in their natural order. */
function ordered({ values, ofCases }: Facet, all: Uint32Array, ofValue: (value: number) => Uint32Array) {
  const present = values
    .map((_, value) => value)
    .filter((value) => all.length > 0 && ofValue(value).some((n) => n > 0));
  if (!ofCases) return present;
  const ranks = ranksOf(values);
  return present.sort((a, b) => ranks[a] - ranks[b]);
}

function axisHead(
  facet: Facet,
  value: number,
  scope: "row" | "col",
  { query, go }: { query: string; go: (query: string) => void },
) {
  const text = facet.values[value];
  const shown = facet.short[value];
  const label = el("span", { title: `${facet.name}=${facet.labels[value]}` }, shown === "" ? "(empty)" : shown);
  const content = canBeAsked(text) ? button("", () => go(toggled(query, facet.name, text))) : el("span");
  content.append(label);
  return el("th", { scope }, content);
}

/** A cell for a value of each axis: `hit` of the `of` records that have both. */
function makeCell(
  hit: number,
  of: number,
  values: [string, string],
  { down, across, count, query, open }: MatrixOptions,
) {
  if (of === 0) return el("td", { class: "empty" }, "·");
  const text = `${formatCount(hit)} of ${formatCount(of)}`;
  const cell = el("td", { class: count === "passed" ? "good" : "bad" });
  // The colour's strength: a rate above 0 is seen, however small.
  cell.style.setProperty("--rate", String(hit === 0 ? 0 : 0.12 + (0.88 * hit) / of));
  if (!values.every(canBeAsked)) {
    cell.append(text);
    return cell;
  }
  const label = `${text} ${count}, ${down.name}=${values[0]}, ${across.name}=${values[1]}`;
  const wanted = count === "deviating" ? DEVIATING.join("|") : count;
  const narrow = narrowed(narrowed(query, down.name, values[0]), across.name, values[1]);
  const act = () => open(hit > 0 ? narrowed(narrow, "status", wanted) : narrow);
  const made = button("", act, { "aria-label": label, title: label });
  made.append(el("b", {}, formatCount(hit)), ` of ${formatCount(of)}`);
  cell.append(made);
  return cell;
}

/** A query with one value alone of a facet. */
function narrowed(query: string, facet: string, value: string) {
  const others = wordsOf(query).filter((word) => !word.startsWith(`${facet}=`));
  return [...others, `${facet}=${value}`].join(" ");
}
