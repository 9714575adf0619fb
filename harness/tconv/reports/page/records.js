import { labelsOf, partition } from "./patterns.js";
import { parseQuery } from "./search.js";

/*
 * The records of all runs, and which of them the filters leave, in which order.
 */

/** @import { State } from "./address.js" */
/** @import { Geometry, Placement } from "./geometry.js" */
/** @import { Sizes } from "./sums.js" */

/**
 * @typedef {object} Run
 * @property {string} key stands for the run in addresses
 * @property {string} name
 * @property {string} backend
 * @property {string[]} options those that are not at their defaults, as `name=value`
 * @property {string} dialect
 * @property {string} cases the case files, empty for tconv's own
 */
/**
 * What the panel shows of a record; keys that would say nothing are absent. See html.py.
 *
 * @typedef {object} Detail
 * @property {[string, string][]} [figures]
 * @property {string[]} [readings]
 * @property {[string, string][]} [prose]
 * @property {string} [reason]
 * @property {string} [tolerance]
 * @property {string} [why]
 * @property {string} [harmed]
 * @property {string} [artifact]
 * @property {number} [waiver]
 * @property {{attributes: [string, string][], inputs: [string, string, string][], layouts: [string, string]}} [call]
 * @property {number} [geometry]
 * @property {Placement} [placement]
 * @property {string} [about]
 * @property {string} [clause]
 * @property {[string, string][]} [candidates] names of explanations, and what they say
 */
/**
 * Run, case, status, verdict, phrase, seconds, detail and facts, most of them as indices into the other tables.
 *
 * @typedef {[number, string, number, number, string, number | null, Detail, number]} Row
 */
/**
 * What html.py writes.
 *
 * @typedef {object} PageData
 * @property {[string, string][]} statuses names and symbols, in the order of attention
 * @property {string[]} kinds the kinds of verdicts
 * @property {Run[]} runs
 * @property {Record<string, string>[]} waivers
 * @property {Record<string, string>[]} facts of cases, as far as their ids do not show them
 * @property {Record<string, Record<string, [string, string]>>} readings by dialect and name: what it says, whom it cites
 * @property {(Geometry & Sizes)[]} geometries
 * @property {Row[]} rows
 */

export class CaseRecord {
  /** @type {Map<string, string> | undefined} */
  #labels;

  /**
   * @param {PageData} data
   * @param {number} number its place in the data
   */
  constructor(data, number) {
    const [run, id, status, kind, phrase, seconds, detail, facts] = data.rows[number];
    this.number = number;
    this.id = id;
    this.topic = partition(partition(id, "[")[0], "/")[0];
    this.runNumber = run;
    this.run = data.runs[run];
    this.statusNumber = status;
    this.status = data.statuses[status][0];
    this.symbol = data.statuses[status][1];
    this.kindNumber = kind;
    this.kind = data.kinds[kind];
    this.phrase = phrase;
    this.seconds = seconds;
    this.detail = detail;
    this.facts = data.facts[facts];
    this.text = `${id}\n${phrase}`.toLowerCase();
  }

  /** The labels of the case's id. */
  get labels() {
    this.#labels ??= labelsOf(this.id);
    return this.#labels;
  }

  /**
   * A fact of the case; the id shows some of them, its labels.
   *
   * @param {string} key
   */
  fact(key) {
    return this.labels.get(key) ?? (Object.hasOwn(this.facts, key) ? this.facts[key] : undefined);
  }
}

/** @type {[string, (record: CaseRecord) => number | string][]} */
const SORT_KEYS = [
  ["status", (record) => record.statusNumber],
  ["kind", (record) => record.kindNumber],
  ["case", (record) => record.id],
  ["phrase", (record) => record.phrase],
  ["backend", (record) => record.runNumber],
  ["seconds", (record) => record.seconds ?? -1],
];

/**
 * The records that the filters leave, sorted, and the counts by status of those that all filters but the status's leave.
 *
 * @param {readonly CaseRecord[]} records
 * @param {State} state
 * @returns {{shown: CaseRecord[], counts: Map<string, number>}}
 */
export function selectRecords(records, state) {
  const query = parseQuery(state.q ?? "");
  const found = records.filter(
    (record) =>
      (!state.verdict || record.kind === state.verdict) &&
      (!state.backend || record.run.key === state.backend) &&
      (!state.topic || record.topic === state.topic) &&
      query(record),
  );
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { status } of found) counts.set(status, (counts.get(status) ?? 0) + 1);
  const statuses = state.status?.split(",") ?? [];
  const shown = state.status ? found.filter(({ status }) => statuses.includes(status)) : found;
  return { shown: sort(shown, state.sort ?? ""), counts };
}

/**
 * The record that an address names. Without a run, it is the one that asks for attention first.
 *
 * @param {readonly CaseRecord[]} records
 * @param {State} state
 * @returns {CaseRecord | null}
 */
export function findRecord(records, state) {
  const run = records.find((record) => record.run.key === state.run)?.run;
  const named = records.filter((record) => record.id === state.case && (!run || record.run === run));
  return sort(named, "status")[0] ?? null;
}

/**
 * Sort records in place by a column, descending with a minus before it; then by id.
 *
 * @param {CaseRecord[]} records
 * @param {string} order
 */
function sort(records, order) {
  const descending = order.startsWith("-");
  const [, key] = SORT_KEYS.find(([column]) => column === order.replace("-", "")) ?? SORT_KEYS[0];
  return records.sort((a, b) => {
    const first = compare(key(a), key(b));
    return (descending ? -first : first) || compare(a.id, b.id) || a.number - b.number;
  });
}

/**
 * @template {number | string} T
 * @param {T} a
 * @param {T} b
 */
function compare(a, b) {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}
