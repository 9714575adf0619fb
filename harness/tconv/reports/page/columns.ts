import { el } from "./elements.js";
import type { Facet, PageData } from "./page_data.js";
import { labelsOf, partition } from "./patterns.js";
import type { Selection } from "./selection.js";
import type { Column } from "./table.js";

// The columns of the two lists: records, with the attributes that differ among them, and cases by backends.

/** Pixels below which only status, backend and case fit, and below which detail and seconds do not. */
const [NARROW, WITHOUT_DETAIL] = [640, 800];
/** Pixels that an attribute's column needs, and that the other columns need before there is room for any. */
const [ATTRIBUTE, OTHERS] = [104, 820];
/** What most readers ask for first; the others follow in the order of ids. */
const USUAL = [
  "dtype",
  "strides",
  "dilations",
  "kernel",
  "auto_pad",
  "groups",
  "output_padding",
  "output_shape",
  "rank",
];

/** The facts with several values among the records shown that fit the width, in pixels for letters of 16. */
export function differingFacts(data: PageData, { counts, shown }: Selection, width: number) {
  const room = Math.max(0, Math.floor((width - OTHERS) / ATTRIBUTE));
  const inIds = labelsOf(shown.length > 0 ? data.ids[data.columns.case[shown[0]]] : "").keys();
  const names = [...new Set([...USUAL, ...inIds, ...data.facets.keys()])];
  const differing = names.filter((name) => {
    const facet = data.facets.get(name);
    const values =
      facet?.ofCases && name !== "topic" ? (counts.get(name)?.filter((count) => count > 0).length ?? 0) : 0;
    return values > 1;
  });
  return differing.slice(0, room);
}

/** The columns of records that fit the width, in pixels for letters of 16. */
export function recordColumns(
  data: PageData,
  facts: string[],
  linkTo: (record: number) => string,
  width: number,
): Column[] {
  const narrow = width < NARROW;
  const status = statusColumn(data, narrow);
  const name = column("case", "minmax(0, 12fr)", (number) => nameCell(data, number, linkTo));
  if (narrow) return [status, name];
  const textOf = (facet: Facet | undefined, number: number) => facet?.values[data.valueOf(facet, number)] ?? "";
  const attributes = facts.map((fact) => ({
    ...column(fact, "minmax(0, 3fr)", (number) => textCell(textOf(data.facets.get(fact), number))),
    label: fact.replaceAll("_", "_\u200b"), // it may be folded there
    style: "fact",
    title: fact,
  }));
  const backend = column("backend", "9.5rem", (number) => {
    const { title, dialect } = data.record(number).run;
    return { content: [title, dialect].map((line) => el("span", { class: "path" }, line)) };
  });
  const detail = column("phrase", "minmax(0, 12fr)", (number) => textCell(data.record(number).phrase));
  const seconds = column("seconds", "4.5rem", (number) => ({
    content: [data.record(number).seconds?.toFixed(4) ?? ""],
  }));
  return [
    status,
    column("verdict", "8.25rem", (number) => ({ content: [data.record(number).kind] })),
    name,
    ...attributes,
    ...(width < WITHOUT_DETAIL ? [] : [{ ...detail, label: "detail" }]),
    ...(data.runs.length > 1 ? [backend] : []),
    ...(width < WITHOUT_DETAIL ? [] : [seconds]),
  ];
}

const column = (name: string, width: string, cell: Column["cell"]): Column => ({ name, label: name, width, cell });

const textCell = (text: string) => ({ content: [text], title: text });

/** The column of statuses; in a narrow list it has the backends too. */
function statusColumn(data: PageData, narrow: boolean): Column {
  return column("status", "7.75rem", (number) => {
    const { symbol, status: name, run } = data.record(number);
    const backend = narrow && data.runs.length > 1 ? [el("span", { class: "labels" }, run.title)] : [];
    return { content: [el("span", { "aria-hidden": "true" }, symbol), ` ${name}`, ...backend], style: name };
  });
}

/** The columns of cases: their items are numbers of cases. */
export function caseColumns(data: PageData, linkTo: (record: number) => string): Column[] {
  const answers: Column[] = data.runs.map(({ key, name: whole, title, short }) => ({
    name: `backend ${key}`,
    label: short,
    title: whole,
    width: `minmax(2rem, ${data.runs.length > 10 ? 1 : 1.6}fr)`,
    style: "answer",
    cell: (caseNumber) => {
      const found = data.recordsOf(caseNumber).find(({ run }) => run.key === key);
      if (!found) return { content: [""] };
      const { number, status, symbol, kind, phrase } = found;
      const label = `${title}: ${status}`;
      const link = el("a", { href: linkTo(number), class: status, "aria-label": label }, symbol);
      return { content: [link], title: `${label}, ${kind}${phrase ? `: ${phrase}` : ""}` };
    },
  }));
  const width = `minmax(0, ${Math.max(8, 2 * data.runs.length)}fr)`;
  return [column("case", width, (number) => nameCell(data, data.worstOf(number).number, linkTo)), ...answers];
}

/** The cases of records, in the order of their first record. */
export function casesOf(data: PageData, records: Uint32Array) {
  const seen = new Uint8Array(data.ids.length);
  return records
    .map((number) => data.columns.case[number])
    .filter((number) => {
      const first = seen[number] === 0;
      seen[number] = 1;
      return first;
    });
}

function nameCell(data: PageData, number: number, linkTo: (record: number) => string) {
  const id = data.ids[data.columns.case[number]];
  const [path, labels] = partition(id, "[");
  const link = el("a", { href: linkTo(number), title: id }, el("span", { class: "path" }, path));
  if (labels) link.append(el("span", { class: "labels" }, `[${labels}`));
  return { content: [link] };
}
