import { formatFragment } from "./address.js";
import { formatShape } from "./text.js";

/*
 * What may explain an answer: the explanations that are left, and those that a case excludes, with this case.
 */

/** @import { CaseCandidate } from "./case_view.js" */
/** @import { OpenedCase } from "./opened_case.js" */
/** @import { CaseRecord, PageData } from "./page_data.js" */

const THIS_CASE = { words: "this case", href: "" };

/**
 * @param {OpenedCase} opened
 * @param {PageData} data
 * @returns {CaseCandidate[]} those that are left first
 */
export function candidatesOf(opened, data) {
  const found = [...explanationsOf(opened, data), ...readingsOf(opened, data)];
  return found.toSorted((a, b) => Number(a.excludedBy !== null) - Number(b.excludedBy !== null));
}

/**
 * The misreadings that give this very output. Failures with one cause have one explanation: what another case of the
 * cause is not explained by is not it. A learnt rule is no misreading: the cases that follow it may have several.
 *
 * @param {OpenedCase} opened
 * @param {PageData} data
 * @returns {CaseCandidate[]}
 */
function explanationsOf({ record, detail, related }, data) {
  const candidates = detail.candidates ?? [];
  const names = candidates.map(([name]) => name);
  const others = ruleOf(record, data) ? [] : related;
  const telling = others.filter((other) => other.names.some((name) => names.includes(name)));
  return candidates.map(([name, says]) => {
    const other = telling.find((of) => !of.names.includes(name));
    const href = other ? formatFragment({ case: other.id, run: record.run.key }) : "";
    return { name, says, excludedBy: other ? { words: other.id, href } : null };
  });
}

/**
 * The learnt rule that a record's cause is; empty where it is none.
 *
 * @param {CaseRecord} record
 * @param {PageData} data
 */
export function ruleOf({ cause }, { causes }) {
  return causes[cause - 1]?.learnt ? causes[cause - 1].words : "";
}

/**
 * Whether names of readings that give one output have one that is followed. Names of several are joined by ` or `.
 *
 * @param {string} names
 * @param {string} followed
 */
export function namesReading(names, followed) {
  const known = followed.split(" or ");
  return names.split(" or ").some((name) => known.includes(name));
}

/**
 * The readings of the text: those that the backend follows, and of an answer that is another one those that give this size
 * or place neither.
 *
 * @param {OpenedCase} opened
 * @param {PageData} data
 * @returns {CaseCandidate[]}
 */
function readingsOf({ record, detail, owed, geometry }, { readings }) {
  const known = readings[record.run.dialect] ?? {};
  const joined = (detail.readings ?? []).join(" + ");
  const followed = new Set((detail.readings ?? []).flatMap((name) => name.split(/ \+ | or /)));
  const left = [...followed].map((name) => {
    return { name, says: (known[name] ?? []).filter(Boolean).join(" - "), excludedBy: null };
  });
  if (!(geometry && (joined || detail.placement))) return left;
  const others = (owed.disputed ?? []).filter(([names]) => !namesReading(names, joined));
  const excluded = others.map(([name, begin, , output]) => {
    return { name, says: `the output is ${formatShape(output)}, from ${formatShape(begin)} on`, excludedBy: THIS_CASE };
  });
  return [...left, ...excluded];
}
