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

export class PageData {
  #byCase: { begins: Uint32Array; records: Uint32Array } | undefined;

  readonly statuses: Shared["statuses"];
  readonly kinds: string[];
  readonly runs: Run[];
  readonly waivers: Shared["waivers"];
  readonly readings: Shared["readings"];
  readonly causes: Shared["causes"];
  readonly ids: string[];
  readonly phrases: string[];
  readonly commands: Shared["commands"];
  readonly columns: Record<string, Numbers>;
  readonly length: number;
  readonly facets = new Map<string, Facet>();
  /** The paths of the cases. */
  readonly paths: string[];

  constructor({ values, arrays }: Block<Shared>) {
    this.statuses = values.statuses;
    this.kinds = values.kinds;
    this.runs = values.runs;
    this.waivers = values.waivers;
    this.readings = values.readings;
    this.causes = values.causes;
    this.ids = values.ids;
    this.phrases = values.phrases;
    this.commands = values.commands;
    this.columns = arrays;
    this.length = arrays.case.length;
    const keys = values.runs.map(({ key }) => key);
    const names = values.causes.map((cause) => cause.name);
    const words = values.causes.map((cause) => cause.words);
    const statuses = values.statuses.map(([name]) => name);
    for (const [name, facetValues] of Object.entries(values.facts)) {
      this.#add(name, facetValues, `fact ${name}`, { base: 1, ofCases: true });
    }
    this.#add("status", statuses, "status");
    const [labels, short] = [values.runs.map(({ name }) => name), values.runs.map(({ title }) => title)];
    this.#add("backend", keys, "run", { labels, short });
    this.#add("cause", names, "cause", { base: 1, labels: words });
    this.#add("verdict", values.kinds, "kind");
    if (values.transitions) this.#add("since", values.transitions, "since", { base: 1 });
    this.paths = values.ids.map((id) => partition(id, "[")[0]);
  }

  #add(
    name: string,
    values: readonly string[],
    column: string,
    {
      base = 0,
      ofCases = false,
      labels = values,
      short = values,
    }: { base?: number; ofCases?: boolean; labels?: readonly string[]; short?: readonly string[] } = {},
  ) {
    this.facets.set(name, { name, values, labels, short, column: this.columns[column], base, ofCases });
  }

  /** The facets that tell something about calls and answers. */
  shownFacets() {
    const first = ["status", "since", "backend", "cause", "verdict", "topic", "dtype", "rank"].flatMap((name) => {
      return this.facets.get(name) ?? [];
    });
    const rest = [...this.facets.values()].filter((facet) => !(first.includes(facet) || IDENTITY.has(facet.name)));
    return [...first, ...rest].filter(({ values }) => values.length > 1);
  }

  /** The number of a record's value in a facet; below 0 for none. */
  valueOf({ column, base, ofCases }: Facet, record: number) {
    return column[ofCases ? this.columns.case[record] : record] - base;
  }

  textOf(name: string, record: number) {
    const facet = this.facets.get(name);
    return facet?.values[this.valueOf(facet, record)] ?? "";
  }

  record(number: number) {
    const { columns } = this;
    const caseNumber = columns.case[number];
    const [status, symbol] = this.statuses[columns.status[number]];
    return {
      number,
      caseNumber,
      id: this.ids[caseNumber],
      run: this.runs[columns.run[number]],
      status,
      symbol,
      kind: this.kinds[columns.kind[number]],
      phrase: this.phrases[columns.phrase[number]],
      seconds: Number.isNaN(columns.seconds[number]) ? null : columns.seconds[number],
      cause: columns.cause[number],
    };
  }

  /** The record that a case and a run name. Without a run, it is the one that asks for attention first. */
  find(id: string, run: string) {
    const records = this.recordsOf(this.ids.indexOf(id));
    const own = this.runs.some(({ key }) => key === run) ? records.filter((record) => record.run.key === run) : records;
    const urgent = own.toSorted((a, b) => this.columns.status[a.number] - this.columns.status[b.number]);
    return urgent[0] ?? null;
  }

  /** The records of a case in all runs. */
  recordsOf(caseNumber: number) {
    const { begins, records } = this.byCase();
    return [...records.subarray(begins[caseNumber], begins[caseNumber + 1])].map((number) => this.record(number));
  }

  /** The records in the order of their cases, and where those of each case begin. */
  byCase() {
    this.#byCase ??= this.#orderByCase();
    return this.#byCase;
  }

  #orderByCase() {
    const begins = new Uint32Array(this.ids.length + 1);
    for (const number of this.columns.case) begins[number + 1]++;
    for (let number = 0; number < this.ids.length; number++) begins[number + 1] += begins[number];
    const next = begins.slice();
    const records = new Uint32Array(this.length);
    for (let record = 0; record < this.length; record++) records[next[this.columns.case[record]]++] = record;
    return { begins, records };
  }
}

/** One record, with names in place of numbers. */
export type CaseRecord = ReturnType<PageData["record"]>;
