import type { PageData } from "./page_data.js";
import { matches, type Pattern, parsePattern } from "./patterns.js";

// The one language of filters. All words of a query must hold:
//   strides=2|3           a fact of the case, or status, verdict, backend, cause of the record
//   onednn:crashed           what a backend answered to the case: a status or a verdict
//   padding/*/grow[n=2]   a pattern of the command line
//   crop                  a part of the id or of the answer's words
//   -word                 none of these

/** A word of a query, and which records it holds for: 1 for each of them. */
export type Term = { text: string; facet: string; holds: Uint8Array };

/** White space separates words, except in brackets: the conditions of a pattern may have spaces. */
const WORDS = /(?:\[[^\]]*\]|\S)+/gu;
const CONDITION = /^[\w.+-]+=./u;
const ANSWER = /^([^\s:=[\]]+):([a-z-]+)$/u;

export const wordsOf = (query: string) => query.match(WORDS) ?? [];

/** The terms of a query. Where all of it is one pattern, whose path may have spaces, it is one term. */
export function parseQuery(query: string, data: PageData): Term[] {
  const words = wordsOf(query);
  const terms = words.map((text) => parseWord(text, data));
  const whole = query === words[0] ? null : parsePattern(query);
  const found = whole && ofPattern(whole, data);
  return found?.includes(1) ? terms.map((term) => either(term, found)) : terms;
}

/** A query with a facet's value added, or removed where it has it: values of one facet stand in one word. */
export function toggled(query: string, facet: string, value: string) {
  const begin = `${facet}=`;
  const words = wordsOf(query);
  const place = words.findIndex((word) => word.startsWith(begin));
  const chosen = place < 0 ? [] : words[place].slice(begin.length).split("|");
  const values = chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value];
  const changed = values.length > 0 ? [`${begin}${values.join("|")}`] : [];
  return (place < 0 ? [...words, ...changed] : words.toSpliced(place, 1, ...changed)).join(" ");
}

/** The values of a facet that a query asks for. */
export function chosenValues(query: string, facet: string) {
  const word = wordsOf(query).find((text) => text.startsWith(`${facet}=`));
  return word ? word.slice(facet.length + 1).split("|") : [];
}

/** Whether a query can say a value. */
export const canBeAsked = (value: string) => /^[^\s[\],|]+$/u.test(value);

function parseWord(text: string, data: PageData): Term {
  if (text.length > 1 && text.startsWith("-")) {
    const { holds } = parseWord(text.slice(1), data);
    return { text, facet: "", holds: holds.map((value) => 1 - value) };
  }
  // A condition alone is no free text: strides=2 must not find strides=2x3.
  if (CONDITION.test(text)) {
    const condition = parsePattern(`**[${text}]`);
    const [facet = ""] = condition?.conditions.keys() ?? [];
    if (condition) return { text, facet, holds: ofPattern(condition, data) };
  }
  const found = answered(text, data);
  if (found) return { text, facet: "", holds: found };
  const pattern = parsePattern(text);
  // No id has a wildcard.
  if (pattern && text.includes("*")) return { text, facet: "", holds: ofPattern(pattern, data) };
  const term = { text, facet: "", holds: containing(text, data) };
  return pattern ? either(term, ofPattern(pattern, data)) : term;
}

function either(term: Term, other: Uint8Array) {
  const holds = term.holds.slice();
  for (let record = 0; record < holds.length; record++) holds[record] ||= other[record];
  return { ...term, holds };
}

/** Which records have a text in their id or in the words of their answer. */
function containing(text: string, { ids, phrases, columns, length }: PageData) {
  const word = text.toLowerCase();
  const inIds = withText(ids, word);
  const inPhrases = withText(phrases, word);
  const { case: cases, phrase: said } = columns;
  const holds = new Uint8Array(length);
  for (let record = 0; record < length; record++) holds[record] = inIds[cases[record]] || inPhrases[said[record]];
  return holds;
}

/** Which of some texts have a word in them, which is in lower case. */
function withText(texts: readonly string[], word: string) {
  const found = new Uint8Array(texts.length);
  for (let place = 0; place < texts.length; place++) found[place] = Number(texts[place].toLowerCase().includes(word));
  return found;
}

/** Which records a pattern is of: by the path of the case, and by facts of the case or of the record. */
function ofPattern(pattern: Pattern, data: PageData) {
  const { paths, columns, length } = data;
  const onPath = { path: pattern.path, conditions: new Map() };
  const known = new Map<string, number>();
  const byPath = new Uint8Array(paths.length);
  for (let number = 0; number < paths.length; number++) {
    let found = known.get(paths[number]);
    if (found === undefined) {
      found = Number(matches(onPath, { id: paths[number], fact: () => undefined }));
      known.set(paths[number], found);
    }
    byPath[number] = found;
  }
  const holds = new Uint8Array(length);
  for (let record = 0; record < length; record++) holds[record] = byPath[columns.case[record]];
  for (const [name, allowed] of pattern.conditions) restrict(holds, name, allowed, data);
  return holds;
}

function restrict(holds: Uint8Array, name: string, allowed: readonly string[], data: PageData) {
  const facet = data.facets.get(name);
  if (!facet) {
    holds.fill(0);
    return;
  }
  const { column, base, ofCases } = facet;
  // The first place is that of records without a value.
  const among = Uint8Array.from([0, ...facet.values.map((value) => Number(allowed.includes(value)))]);
  const cases = data.columns.case;
  for (let record = 0; record < holds.length; record++) {
    if (holds[record]) holds[record] = among[column[ofCases ? cases[record] : record] - base + 1];
  }
}

/** The records of cases to which a backend gave an answer: `onednn:crashed`. Null where the text is none. */
function answered(text: string, { runs, statuses, kinds, ids, columns, length }: PageData) {
  const [, backend, answer] = ANSWER.exec(text) ?? [];
  if (!backend) return null;
  const asked = Uint8Array.from(runs, (run) => Number(run.backend === backend || run.key.startsWith(`${backend}-`)));
  const status = statuses.findIndex(([name]) => name === answer);
  const kind = kinds.indexOf(answer);
  if (!asked.includes(1) || (status < 0 && kind < 0)) return null;
  const cases = new Uint8Array(ids.length);
  for (let record = 0; record < length; record++) {
    const given = columns.status[record] === status || columns.kind[record] === kind;
    if (given && asked[columns.run[record]]) cases[columns.case[record]] = 1;
  }
  const holds = new Uint8Array(length);
  for (let record = 0; record < length; record++) holds[record] = cases[columns.case[record]];
  return holds;
}
