import type { Block, Numbers } from "./blocks.js";
import { partition } from "./patterns.js";

// The records of all runs as columns of numbers, and the facets by which they are filtered and counted.

interface Run {
  key: string; // stands for the run in queries
  name: string;
  title: string; // the backend, its version and its options
  short: string; // beside a number: the backend's name, if no other run has it
  backend: string;
  dialect: string;
}

/** What records.py writes. */
export interface Shared {
  statuses: [string, string, boolean][]; // names, symbols, and whether they are red, in the order of attention
  kinds: string[]; // the kinds of verdicts
  runs: Run[];
  waivers: Record<string, string>[];
  readings: Record<string, Record<string, string>>; // what each says, by dialect and name
  causes: { name: string; words: string; clause: string; rule: string }[]; // rule: formulas that were learnt from all answers
  ids: string[]; // of the cases, sorted
  phrases: string[];
  commands: [string, string][][]; // those of a record, each with what it does and with a place for the case
  transitions?: string[]; // what became of cases since a baseline; absent where there is none
  facts: Record<string, string[]>; // the values of each fact of cases
}

/** Something that records are told apart by: what it may be, and which of these each record or each case is. */
export interface Facet {
  name: string; // as in a query
  values: readonly string[];
  labels: readonly string[]; // what the reader sees of the values
  short: readonly string[]; // the same where there is little room
  column: Numbers; // for each record or case, the number of its value and `base`; what is below has none
  base: number;
  ofCases: boolean; // whether the column is of cases
}

/** Which case it is, and nothing that a call has. */
const IDENTITY = new Set(["seed", "about", "name"]);
/** What is asked for first. */
const FIRST = ["status", "since", "backend", "cause", "verdict", "topic", "dtype", "rank"];

type Columns = Record<string, Numbers>;

/** The records, and what is asked of them. */
export function pageData({ values, arrays: columns }: Block<Shared>) {
  const { statuses, kinds, runs, ids, phrases } = values;
  const { begins, byCase } = orderByCase(columns.case, ids.length);

  const record = (number: number) => {
    const caseNumber = columns.case[number];
    const [status, symbol] = statuses[columns.status[number]];
    return {
      number,
      caseNumber,
      id: ids[caseNumber],
      run: runs[columns.run[number]],
      status,
      symbol,
      kind: kinds[columns.kind[number]],
      phrase: phrases[columns.phrase[number]],
      seconds: Number.isNaN(columns.seconds[number]) ? null : columns.seconds[number],
      cause: columns.cause[number],
    };
  };

  /** The records of a case in all runs. */
  const recordsOf = (caseNumber: number) =>
    [...byCase.subarray(begins[caseNumber], begins[caseNumber + 1])].map(record);

  /** The record of a case that asks for attention first; of the run with that key, if there is one. */
  const worstOf = (caseNumber: number, key = "") => {
    const records = recordsOf(caseNumber);
    const own = runs.some((run) => run.key === key) ? records.filter(({ run }) => run.key === key) : records;
    return own.sort((a, b) => columns.status[a.number] - columns.status[b.number])[0];
  };

  return {
    ...values,
    columns,
    length: columns.case.length,
    byCase,
    facets: facetsOf(values, columns),
    paths: ids.map((id) => partition(id, "[")[0]),
    record,
    recordsOf,
    worstOf,
    /** The record that a case and a run name; null if there is none. */
    find: (id: string, run: string) => worstOf(ids.indexOf(id), run) ?? null,
    /** The number of a record's value in a facet; below 0 for none. */
    valueOf: ({ column, base, ofCases }: Facet, number: number) =>
      column[ofCases ? columns.case[number] : number] - base,
  };
}

function facetsOf({ statuses, runs, causes, kinds, facts, transitions }: Shared, columns: Columns) {
  const facets = new Map<string, Facet>();
  const add = (name: string, values: readonly string[], column: string, more: Partial<Facet> = {}) => {
    const plain = { name, values, labels: values, short: values, column: columns[column], base: 0, ofCases: false };
    facets.set(name, { ...plain, ...more });
  };
  for (const [name, values] of Object.entries(facts)) add(name, values, `fact ${name}`, { base: 1, ofCases: true });
  const of = <Item, Key extends keyof Item>(items: Item[], key: Key) => items.map((item) => item[key]);
  add("status", of(statuses, 0), "status");
  add("backend", of(runs, "key"), "run", { labels: of(runs, "name"), short: of(runs, "title") });
  add("cause", of(causes, "name"), "cause", { base: 1, labels: of(causes, "words") });
  add("verdict", kinds, "kind");
  if (transitions) add("since", transitions, "since", { base: 1 });
  return facets;
}

/** The records in the order of their cases, and where those of each case begin. */
function orderByCase(cases: Numbers, count: number) {
  const begins = new Uint32Array(count + 1);
  for (const number of cases) begins[number + 1]++;
  for (let number = 0; number < count; number++) begins[number + 1] += begins[number];
  const next = begins.slice();
  const byCase = new Uint32Array(cases.length);
  cases.forEach((number, record) => {
    byCase[next[number]++] = record;
  });
  return { begins, byCase };
}

/** The facets that tell something about calls and answers. */
export function shownFacets(facets: Map<string, Facet>) {
  const first = FIRST.flatMap((name) => facets.get(name) ?? []);
  const rest = [...facets.values()].filter((facet) => !(first.includes(facet) || IDENTITY.has(facet.name)));
  return [...first, ...rest].filter(({ values }) => values.length > 1);
}

export type PageData = ReturnType<typeof pageData>;

/** One record, with names in place of numbers. */
export type CaseRecord = ReturnType<PageData["record"]>;
