import { formatFragment } from "./address.js";
import { countMarks } from "./arrays.js";
import { type Arrays, overlaid } from "./fields.js";
import type { Placement } from "./geometry.js";
import type { Answer, OpenedCase, Readings } from "./opened_case.js";
import type { CaseRecord, PageData } from "./page_data.js";
import { labelsOf } from "./patterns.js";
import type { Operands } from "./sums.js";
import { formatCount } from "./text.js";

// The view of a case as one plain object, made of what the page has of it. Nothing else knows both.

export type CaseView = ReturnType<typeof caseView>;

const NO_ANSWER: Record<string, string> = {
  crashed: "The process crashed, so there is no output. This is the expected one.",
  "timed-out": "There was no answer in time. This is the expected output.",
  "refused-valid": "The call was refused, so there is no output. This is the expected one.",
  unsupported: "The backend says that it does not support this call. This is the output that the text expects.",
  "backend-error": "The backend gave no output. This is the expected one.",
  unstable: "The backend gave different answers to the same call, so none is drawn. This is the expected output.",
};

export function caseView(opened: OpenedCase, data: PageData) {
  const { record, detail, expected } = opened;
  const { id, run, kind } = record;
  const candidates = candidatesOf(opened, data);
  const waiver = detail.waiver === undefined ? null : data.waivers[detail.waiver];
  return {
    id,
    about: opened.about,
    dialect: run.dialect,
    backend: record.run.title,
    why: {
      sentence: sentenceOf(opened),
      cause: causeOf(record, data),
      explanation: [ruleOf(record, data) || whyOf(detail), detail.reason].filter(Boolean).join(". "),
      clause: expected.refusal?.[1] ?? (record.cause > 0 ? data.causes[record.cause - 1].clause : opened.clause),
      candidates,
    },
    answers: opened.answers.flatMap((answer) => answersOf(answer, record)),
    geometry: opened.geometry,
    placement: placementOf(opened),
    noAnswer: NO_ANSWER[kind] ?? "",
    values: valuesOf(opened),
    call: opened.call,
    figures: figuresOf(opened),
    prose: detail.prose ?? [],
    waiver,
    waiverExample: waiver ? formatFragment({ case: waiver.example }) : "",
    neighbours: neighboursOf(record, data),
    commands: commandsOf(record, data),
    issue: detail.issue ?? "",
  };
}

/** Who did what, and what the others did. */
function sentenceOf({ record, answers }: OpenedCase) {
  const { run, symbol, status, kind, phrase } = record;
  const own = [`${symbol} ${status === kind || status === "passed" ? status : `${status}, ${kind}`}`, phrase];
  const others = answers
    .filter((answer) => answer.record.number !== record.number)
    .map(({ record: other }) => `${other.run.title} ${other.status === "failed" ? other.kind : other.status}`);
  return [`${run.title}: ${own.filter(Boolean).join(": ")}`, ...others].join("; ");
}

/** The cause of a record, with the address of its records and how many the run has; null if it has none. */
function causeOf({ cause, run }: CaseRecord, { causes, columns, runs }: PageData) {
  if (cause === 0) return null;
  const own = runs.indexOf(run);
  let count = 0;
  for (let record = 0; record < columns.cause.length; record++)
    if (columns.cause[record] === cause && columns.run[record] === own) count++;
  return { words: causes[cause - 1].words, href: formatFragment({ q: `cause=${causes[cause - 1].name}` }), count };
}

const linkTo = ({ id, run }: CaseRecord) => formatFragment({ case: id, run: run.key });

/** What a run says of the case, and what its baseline said. */
function answersOf({ record, detail }: Answer, opened: CaseRecord) {
  const { dialect, title: run } = record.run;
  const [href, current] = [linkTo(record), record.number === opened.number];
  const now = { ...record, run, dialect, said: record.phrase, href, current, was: false };
  if (!detail.was) return [now];
  const [title, status, kind, said] = detail.was;
  const old = { run: `${title}, the baseline`, status, symbol: "", kind, said };
  return [now, { ...now, ...old, current: false, was: true }];
}

/** Why, in words: the mistake that gives this output, or where and how the output is wrong. */
function whyOf({ why = "", candidates = [] }: OpenedCase["detail"]) {
  if (candidates.length > 1)
    return "Each of these mistakes gives exactly this output. This case alone does not tell which it is";
  return candidates.length > 0 ? `As if ${candidates[0][1] || candidates[0][0]}` : why;
}

/** Where the values of the answer lie: where they were found, or where the readings that it follows put them. */
function placementOf({ detail, geometry, expected }: OpenedCase): Placement | null {
  if (detail.placement) {
    const [output, strides, dilations, pads_begin] = detail.placement;
    return { output, strides, dilations, pads_begin };
  }
  const reading = expected.disputed?.find(([readings]) => isFollowed(readings, detail.readings ?? []));
  if (!(reading && geometry)) return null;
  const [, begin, output] = reading;
  return { output, strides: geometry.strides, dilations: geometry.dilations, pads_begin: [begin] };
}

function figuresOf({ record: { seconds }, detail }: OpenedCase) {
  const entries: [string, string][] = [];
  if (detail.earlier) entries.push(["asked before", detail.earlier]);
  if (detail.tolerance) entries.push(["allowed", detail.tolerance]);
  if (seconds !== null) entries.push(["seconds", String(seconds)]);
  return entries;
}

function valuesOf({ artifact, detail }: OpenedCase) {
  if (!artifact) return null;
  const { expected, actual, allowed, x, w, b } = artifact.grids;
  const notes = [...artifact.notes];
  if (expected && actual && String(expected.shape) === String(actual.shape)) {
    const marked = countMarks(overlaid({ expected, actual, allowed }, []).wrong);
    const judged = detail.wrong;
    if (judged !== undefined && judged !== marked) {
      notes.push(
        `${formatCount(marked)} elements are marked, of which ${formatCount(judged)} count as wrong: the others are ` +
          "noted and not failed (flushed subnormals, NaN from inserted zeros, an infinity that may overflow).",
      );
    }
  }
  if (expected && !x) notes.push(`The operands are not on this page. The artifact is ${detail.artifact}.`);
  const [arrays, operands]: [Arrays, Operands] = [
    { expected, actual, allowed },
    { x, w, b },
  ];
  return { arrays, operands, notes };
}

/** The cases of the same run and sweep that differ in one label, those that pass first. */
export function neighboursOf(record: CaseRecord, data: PageData) {
  const wanted = labelsOf(record.id);
  const found = data.ids.flatMap((id, caseNumber) => {
    if (caseNumber === record.caseNumber || data.paths[caseNumber] !== data.paths[record.caseNumber]) return [];
    const labels = labelsOf(id);
    const [differing, ...more] = [...wanted].filter(([name, own]) => labels.get(name) !== own);
    if (!differing || more.length > 0 || labels.size !== wanted.size) return [];
    const [key, value] = differing;
    const others = data.recordsOf(caseNumber).filter((other) => other.run === record.run);
    return others.map((other) => ({ other, differs: `${key}: ${value} → ${labels.get(key)}` }));
  });
  const rank = ({ status }: CaseRecord) => ["passed", "disputed", status].indexOf(status);
  found.sort(
    (a, b) =>
      rank(a.other) - rank(b.other) || a.other.id.length - b.other.id.length || (a.other.id < b.other.id ? -1 : 1),
  );
  return found.map(({ other, differs }) => ({ ...other, differs, href: linkTo(other) }));
}

/** The commands, with the id where commands.py has left a place within single quotes. */
function commandsOf({ id, number }: CaseRecord, { commands, columns }: PageData) {
  const quoted = id.replaceAll("'", `'"'"'`);
  return commands[columns.commands[number]].map(([name, text]): [string, string] => {
    return [name, text.replace("{case}", () => quoted)];
  });
}

/** The mistakes, if this case alone does not tell which it is, and the readings that the backend follows. */
function candidatesOf({ record, detail }: OpenedCase, data: PageData) {
  const known = data.readings[record.run.dialect] ?? {};
  const followed = [...new Set((detail.readings ?? []).flat())].map((name) => {
    return { name, says: known[name] ?? "" };
  });
  const mistakes = detail.candidates ?? [];
  const untold = mistakes.length > 1 && !ruleOf(record, data) ? mistakes : [];
  return [...untold.map(([name, says]) => ({ name, says })), ...followed];
}

/** The learnt rule that a record's cause is; empty where it is none. */
function ruleOf({ cause }: CaseRecord, { causes }: PageData) {
  return causes[cause - 1]?.rule ?? "";
}

/** Whether readings that give one output have one that is followed. */
function isFollowed(readings: Readings, followed: Readings) {
  const known = new Set(followed.map(String));
  return readings.some((names) => known.has(String(names)));
}
