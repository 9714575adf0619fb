import type { Facet, PageData } from "./page_data.js";
import { parseQuery, type Term } from "./query.js";

// Which records a query leaves, in which order, and how many each value of each facet would leave.

export interface Selection {
  shown: Uint32Array; // numbers of records, in order
  // for each facet, how many records each of its values has among those that all words leave but the facet's own
  counts: Map<string, Uint32Array>;
  terms: Term[];
}

/** Filter and sort the records, by a facet or a column, descending with a minus before it. */
export function select(data: PageData, query: string, order: string): Selection {
  const terms = parseQuery(query, data);
  // How many words a record fails, and the last of them.
  const failed = new Uint8Array(data.length);
  const which = new Uint8Array(data.length);
  terms.forEach(({ holds }, term) => {
    for (let record = 0; record < holds.length; record++) {
      if (holds[record] === 0) {
        failed[record]++;
        which[record] = term;
      }
    }
  });
  const shown = sorted(data, order).filter((record) => failed[record] === 0);
  return { shown, terms, counts: countFacets(data, terms, failed, which) };
}

function countFacets(data: PageData, terms: Term[], failed: Uint8Array, which: Uint8Array) {
  const all = perCase(data, (record) => failed[record] === 0);
  const counts = new Map<string, Uint32Array>();
  for (const facet of data.facets.values()) {
    const own = terms.findLastIndex((term) => term.facet === facet.name);
    const among = (record: number) => failed[record] === 0 || (failed[record] === 1 && which[record] === own);
    if (facet.ofCases) counts.set(facet.name, countCases(facet, own < 0 ? all : perCase(data, among)));
    else counts.set(facet.name, countRecords(facet, among));
  }
  return counts;
}

/** How many records of each case pass a test. */
function perCase({ ids, columns, length }: PageData, among: (record: number) => boolean) {
  const numbers = new Uint32Array(ids.length);
  for (let record = 0; record < length; record++) if (among(record)) numbers[columns.case[record]]++;
  return numbers;
}

function countCases({ values, column, base }: Facet, numbers: Uint32Array) {
  const counts = new Uint32Array(values.length);
  for (let number = 0; number < numbers.length; number++) {
    if (column[number] >= base) counts[column[number] - base] += numbers[number];
  }
  return counts;
}

function countRecords({ values, column, base }: Facet, among: (record: number) => boolean) {
  const counts = new Uint32Array(values.length);
  for (let record = 0; record < column.length; record++) {
    if (column[record] >= base && among(record)) counts[column[record] - base]++;
  }
  return counts;
}

const orders = new WeakMap<PageData, Map<string, Uint32Array>>();

/** All records in an order; equal ones by status, then by case, then by run. */
function sorted(data: PageData, order: string) {
  const known: Map<string, Uint32Array> = orders.get(data) ?? new Map();
  orders.set(data, known);
  let found = known.get(order);
  if (!found) {
    found = sortedAnew(data, order);
    known.clear();
    known.set(order, found);
  }
  return found;
}

function sortedAnew(data: PageData, order: string) {
  const { status } = data.columns;
  const usual = data.byCase.toSorted((a, b) => status[a] - status[b]);
  const key = sortKey(data, order.replace(/^-/u, ""));
  if (!key) return usual;
  const direction = order.startsWith("-") ? -1 : 1;
  return usual.sort((a, b) => (key(a) === key(b) ? 0 : direction * (key(a) - key(b))));
}

function sortKey(data: PageData, name: string): ((record: number) => number) | null {
  const { columns } = data;
  if (name === "case") return (record) => columns.case[record];
  if (name === "seconds") return (record) => (Number.isNaN(columns.seconds[record]) ? -1 : columns.seconds[record]);
  if (name === "size") return (record) => columns.size[record] || Number.POSITIVE_INFINITY;
  if (name === "phrase") {
    const ranks = ranksOf(data.phrases);
    return (record) => ranks[columns.phrase[record]];
  }
  const run = data.runs.findIndex(({ key }) => name === `backend ${key}`);
  if (run >= 0) {
    const statuses = new Uint8Array(data.ids.length).fill(data.statuses.length);
    columns.run.forEach((other, record) => {
      if (other === run) statuses[columns.case[record]] = columns.status[record];
    });
    return (record) => statuses[columns.case[record]];
  }
  const facet = data.facets.get(name);
  if (!facet || name === "status") return name === "status" ? (record) => columns.status[record] : null;
  const ranks = ["backend", "verdict", "cause"].includes(name) ? null : ranksOf(facet.values);
  return (record) => {
    const value = data.valueOf(facet, record);
    return value < 0 || !ranks ? value : ranks[value];
  };
}

const NATURAL = new Intl.Collator("en", { numeric: true });

/** The place of each text among all when they are sorted, numbers by their size. */
export function ranksOf(texts: readonly string[]) {
  const order = texts.map((_, number) => number).sort((a, b) => NATURAL.compare(texts[a], texts[b]));
  const ranks = new Uint32Array(texts.length);
  order.forEach((number, rank) => {
    ranks[number] = rank;
  });
  return ranks;
}
