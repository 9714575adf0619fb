/*
 * A page's data made of a few records, as records.py would write it.
 */
import { pageData } from "./build/page_data.js";
import { labelsOf } from "./build/patterns.js";

export const STATUSES = ["failed", "waived", "passed"];
export const KINDS = ["agreed", "differed", "crashed"];

/**
 * @param {{run?: number, id: string, status?: string, kind?: string, phrase?: string, seconds?: number, cause?: number,
 *   facts?: Record<string, string>}[]} records
 * @param {string[]} backends
 */
export function madeData(records, backends = ["acme"]) {
  const ids = [...new Set(records.map(({ id }) => id))].sort();
  const phrases = [...new Set(records.map(({ phrase = "exact" }) => phrase))];
  const facts = ids.map((id) => {
    const given = records.find((record) => record.id === id)?.facts ?? {};
    return { topic: id.split("/")[0], ...given, ...Object.fromEntries(labelsOf(id)) };
  });
  const names = [...new Set(facts.flatMap(Object.keys))];
  const values = new Map(names.map((name) => [name, [...new Set(facts.flatMap((of) => of[name] ?? []))]]));
  const column = (of) => Uint32Array.from(records, of);
  const factColumns = names.map((name) => {
    return [`fact ${name}`, Uint32Array.from(facts, (of) => values.get(name).indexOf(of[name]) + 1)];
  });
  const run = (key) => ({
    key: `${key}-1.0:onnx`,
    name: `${key} 1.0, onnx`,
    title: `${key} 1.0`,
    short: key,
    backend: key,
    dialect: "onnx",
  });
  return pageData({
    values: {
      statuses: STATUSES.map((status, number) => [status, "✗~✓"[number], number === 0]),
      kinds: KINDS,
      runs: backends.map(run),
      waivers: [],
      readings: {},
      causes: [
        { name: "1", words: "crops twice", clause: "", rule: "" },
        { name: "2", words: "dies", clause: "", rule: "" },
        { name: "3", words: "under valid: size is 1", clause: "", rule: "size is 1" },
      ],
      ids,
      phrases,
      commands: [[["show", "tconv show '{case}' --dialect onnx"]]],
      facts: Object.fromEntries(values),
    },
    arrays: {
      case: column(({ id }) => ids.indexOf(id)),
      run: column(({ run: number = 0 }) => number),
      status: column(({ status = "passed" }) => STATUSES.indexOf(status)),
      kind: column(({ kind = "agreed" }) => KINDS.indexOf(kind)),
      phrase: column(({ phrase = "exact" }) => phrases.indexOf(phrase)),
      cause: column(({ cause = 0 }) => cause),
      commands: column(() => 0),
      seconds: Float64Array.from(records, ({ seconds = Number.NaN }) => seconds),
      ...Object.fromEntries(factColumns),
    },
  });
}
