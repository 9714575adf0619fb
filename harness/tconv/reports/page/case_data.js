import { formatFragment } from "./address.js";
import { unpackBits, unpackGrid } from "./arrays.js";
import { partition } from "./patterns.js";
import { quoteArgument } from "./text.js";

/*
 * The view of a case, made of the page's data. Nothing else knows both.
 */

/** @import { CaseNeighbour, CaseValues, CaseView } from "./case_view.js" */
/** @import { CaseRecord, PageData } from "./records.js" */

/**
 * What artifacts.py writes: sentences on what is not shown, arrays by name, and in base64 a bit for each wrong element.
 *
 * @typedef {{told: string[], arrays: Record<string, [number[], string]>, wrong: string | null}} Artifact
 */

/** @type {Record<string, string>} */
const NO_ANSWER = {
  died: "The process died, so nothing came. This is what it owed.",
  "timed-out": "No answer came in time. This is what it owed.",
  "refused-valid": "The call was refused, so nothing came. This is what it owed.",
  unsupported: "The backend says that it does not implement this. This is what it would owe.",
  broke: "What came is no output. This is what it owed.",
  unstable: "Other answers came to the same call, so none of them is drawn. This is what it owed.",
};

/**
 * @param {CaseRecord} record
 * @param {PageData} data
 * @param {readonly CaseRecord[]} records of all runs
 * @returns {CaseView}
 */
export function caseView(record, data, records) {
  const { id, run, detail, kind } = record;
  const waiver = detail.waiver === undefined ? null : data.waivers[detail.waiver];
  const known = data.readings[run.dialect] ?? {};
  const readings = [...new Set((detail.readings ?? []).flatMap((name) => name.split(" + ")))];
  return {
    id,
    about: detail.about ?? "",
    dialect: run.dialect,
    backend: run.name.split(", ")[0],
    why: {
      sentence: `${record.symbol} ${record.status}: ${kind}, ${record.phrase}`,
      explanation: [detail.why, detail.reason].filter(Boolean).join(". "),
      clause: detail.clause ?? "",
      candidates: [
        ...(detail.candidates ?? []).map(([name, says]) => ({ name, says, excludedBy: "" })),
        ...readings.map((name) => ({ name, says: (known[name] ?? []).filter(Boolean).join(" - "), excludedBy: "" })),
      ],
    },
    answers: records
      .filter((other) => other.id === id)
      .map((other) => ({
        run: other.run.name.split(", ")[0],
        dialect: other.run.dialect,
        status: other.status,
        symbol: other.symbol,
        kind: other.kind,
        said: other.phrase,
        href: linkTo(other),
        current: other === record,
      })),
    geometry: detail.geometry === undefined ? null : data.geometries[detail.geometry],
    placement: detail.placement ? { ...detail.placement, pads_begin: detail.placement.pads_begin ?? [] } : null,
    noAnswer: NO_ANSWER[kind] ?? "",
    values: () => valuesOf(record),
    call: detail.call ?? null,
    figures: figuresOf(record),
    prose: detail.prose ?? [],
    waiver,
    waiverExample: waiver ? formatFragment({ case: waiver.example }) : "",
    neighbours: neighboursOf(record, records),
    commands: commandsOf(record),
    versions: [["backend", run.name]],
  };
}

/** @param {CaseRecord} record */
const linkTo = ({ id, run }) => formatFragment({ case: id, run: run.key });

/** @param {CaseRecord} record */
function figuresOf({ detail, seconds }) {
  const entries = [...(detail.figures ?? [])];
  if (detail.harmed) entries.push(["died of", detail.harmed]);
  if (detail.tolerance) entries.push(["allowed", detail.tolerance]);
  if (seconds !== null) entries.push(["seconds", String(seconds)]);
  return entries;
}

/**
 * @param {CaseRecord} record
 * @returns {CaseValues | null}
 */
function valuesOf({ number, detail }) {
  const block = document.getElementById(`arrays-${number}`);
  if (!block) return null;
  /** @type {Artifact} */
  const { told, arrays, wrong } = JSON.parse(block.textContent);
  const grids = Object.fromEntries(Object.entries(arrays).map(([name, packed]) => [name, unpackGrid(packed)]));
  const { expected, actual, difference, allowed, x, w, b } = grids;
  const marks = expected && wrong ? unpackBits(wrong, expected.values.length) : undefined;
  const marked = marks?.reduce((sum, mark) => sum + mark, 0);
  const judged = Number.parseInt(detail.figures?.find(([name]) => name === "wrong")?.[1] ?? "", 10);
  const excused = marked !== undefined && !Number.isNaN(judged) && judged !== marked;
  const notes = excused
    ? [`${marked} elements are marked, of which ${judged} count as wrong: the others are noted and not failed.`]
    : [];
  return {
    arrays: { expected, actual, difference, allowed, wrong: marks },
    operands: { x, w, b },
    notes: [...told, ...notes],
  };
}

/**
 * The cases of the same run and sweep that differ in one label, those that pass first.
 *
 * @param {CaseRecord} record
 * @param {readonly CaseRecord[]} records
 * @returns {CaseNeighbour[]}
 */
export function neighboursOf(record, records) {
  const path = partition(record.id, "[")[0];
  const own = record.labels;
  const found = [];
  for (const other of records) {
    if (other === record || other.run !== record.run || !other.id.startsWith(`${path}[`)) continue;
    const differing = [...own].filter(([key, value]) => other.labels.get(key) !== value);
    if (differing.length === 1 && other.labels.size === own.size) found.push({ other, differing: differing[0] });
  }
  const rank = (/** @type {CaseRecord} */ { status }) => ["passed", "disputed", status].indexOf(status);
  found.sort(
    (a, b) =>
      rank(a.other) - rank(b.other) || a.other.id.length - b.other.id.length || (a.other.id < b.other.id ? -1 : 1),
  );
  return found.map(({ other, differing: [key, value] }) => ({
    differs: `${key}: ${value} → ${other.labels.get(key)}`,
    status: other.status,
    symbol: other.symbol,
    kind: other.kind,
    href: linkTo(other),
  }));
}

/**
 * @param {CaseRecord} record
 * @returns {[string, string][]}
 */
function commandsOf({ id, run }) {
  const corpus = run.cases ? ` --cases ${quoteArgument(run.cases)}` : "";
  const chosen = run.options.map((text) => ` --option ${quoteArgument(text)}`).join("");
  const backend = ` --backend ${quoteArgument(run.backend)}${chosen} --dialect ${quoteArgument(run.dialect)}`;
  const name = quoteArgument(id);
  return [
    ["run", `tconv run ${name}${backend}${corpus}`],
    ["show", `tconv show ${name} --dialect ${quoteArgument(run.dialect)}${corpus}`],
    ["diagnose", `tconv diagnose ${name}${backend}${corpus}`],
    ["shrink", `tconv shrink ${name}${backend}${corpus}`],
    ["export", `tconv export ${name} models${backend}${corpus}`],
    ["bug report", `tconv export ${name} --issue${backend}${corpus} > report.md`],
  ];
}
