import type { CaseCandidate } from "./case_view.js";
import type { OpenedCase, Readings } from "./opened_case.js";
import type { CaseRecord, PageData } from "./page_data.js";

// What may explain an answer: mistakes that give this very output, and readings of the text.

/** The mistakes, if this case alone does not tell which it is, and the readings that the backend follows. */
export function candidatesOf({ record, detail }: OpenedCase, data: PageData): CaseCandidate[] {
  const known = data.readings[record.run.dialect] ?? {};
  const followed = [...new Set((detail.readings ?? []).flat())].map((name) => {
    return { name, says: (known[name] ?? []).filter(Boolean).join(" - ") };
  });
  const mistakes = detail.candidates ?? [];
  const untold = mistakes.length > 1 && !ruleOf(record, data) ? mistakes : [];
  return [...untold.map(([name, says]) => ({ name, says })), ...followed];
}

/** The learnt rule that a record's cause is; empty where it is none. */
export function ruleOf({ cause }: CaseRecord, { causes }: PageData) {
  return causes[cause - 1]?.rule ?? "";
}

/** Whether readings that give one output have one that is followed. */
export function isFollowed(readings: Readings, followed: Readings) {
  const known = new Set(followed.map(String));
  return readings.some((names) => known.has(String(names)));
}
