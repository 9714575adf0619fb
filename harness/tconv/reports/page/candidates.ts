import { formatFragment } from "./address.js";
import type { CaseCandidate } from "./case_view.js";
import type { OpenedCase, Readings } from "./opened_case.js";
import type { CaseRecord, PageData } from "./page_data.js";
import { formatShape } from "./text.js";

// What may explain an answer: the explanations that are left, and those that a case excludes, with this case.

const THIS_CASE = { words: "this case", href: "" };

/** All that may explain an answer, those that are left first. */
export function candidatesOf(opened: OpenedCase, data: PageData): CaseCandidate[] {
  const found = [...explanationsOf(opened, data), ...readingsOf(opened, data)];
  return found.toSorted((a, b) => Number(a.excludedBy !== null) - Number(b.excludedBy !== null));
}

/**
 * The misreadings that give this very output. Failures with one cause have one explanation: what another case of the
 * cause is not explained by is not it. A learnt rule is no misreading: the cases that follow it may have several.
 */
function explanationsOf({ record, detail, related }: OpenedCase, data: PageData): CaseCandidate[] {
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

/** The learnt rule that a record's cause is; empty where it is none. */
export function ruleOf({ cause }: CaseRecord, { causes }: PageData) {
  return causes[cause - 1]?.learnt ? causes[cause - 1].words : "";
}

/** Whether readings that give one output have one that is followed. */
export function isFollowed(readings: Readings, followed: Readings) {
  const known = new Set(followed.map(String));
  return readings.some((names) => known.has(String(names)));
}

/**
 * The readings of the text: those that the backend follows, and of an answer that is another one those that give this
 * size or place neither.
 */
function readingsOf({ record, detail, expected, geometry }: OpenedCase, { readings }: PageData): CaseCandidate[] {
  const known = readings[record.run.dialect] ?? {};
  const followed = detail.readings ?? [];
  const left = [...new Set(followed.flat())].map((name) => {
    return { name, says: (known[name] ?? []).filter(Boolean).join(" - "), excludedBy: null };
  });
  if (!(geometry && (followed.length > 0 || detail.placement))) return left;
  const others = (expected.disputed ?? []).filter(([these]) => !isFollowed(these, followed));
  const excluded = others.map(([these, begin, output]) => {
    const name = these.map((names) => names.join(" + ")).join(" or ");
    return { name, says: `the output is ${formatShape(output)}, from ${formatShape(begin)} on`, excludedBy: THIS_CASE };
  });
  return [...left, ...excluded];
}
