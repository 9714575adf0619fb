import type { PageData } from "./page_data.js";
import { parsePattern } from "./patterns.js";
import { wordsOf } from "./query.js";

// What is wrong with a query that finds nothing, where a word of it can find nothing anywhere.

const MOST_VALUES = 12;
const ALIKE = 3;

/** The first word that no record can hold, and why; empty where each word alone may find something. */
export function hintOf(query: string, data: PageData) {
  for (const word of wordsOf(query)) {
    const hint = hintOfWord(word.replace(/^-/u, ""), data);
    if (hint) return hint;
  }
  return "";
}

function hintOfWord(word: string, data: PageData) {
  const [, backend = "", answer] = /^([^\s:=[\]]+):(\S*)$/u.exec(word) ?? [];
  const run = data.runs.find((each) => each.backend === backend || each.key.startsWith(`${backend}-`));
  if (run) {
    const answers = [...data.statuses.map(([name]) => name), ...data.kinds];
    return answers.includes(answer) ? "" : `${backend}: takes a status or a verdict: ${answers.join(", ")}.`;
  }
  const hasPath = word.includes("[") || !word.includes("=");
  const pattern = parsePattern(hasPath ? word : `**[${word}]`);
  if (!pattern) return word.includes("[") ? `A pattern is PATH or PATH[key=value,...]; this is none: ${word}` : "";
  for (const [name, allowed] of pattern.conditions) {
    const hint = hintOfCondition(name, allowed, data);
    if (hint) return hint;
  }
  return "";
}

function hintOfCondition(name: string, allowed: readonly string[], { facets }: PageData) {
  const facet = facets.get(name);
  if (!facet) {
    const alike = [...facets.keys()].filter((other) => other.startsWith(name.slice(0, ALIKE)));
    return `No case has the fact ${name}${alike.length > 0 ? `; there is ${alike.join(", ")}` : ""}.`;
  }
  if (allowed.some((value) => facet.values.includes(value))) return "";
  const some = facet.values.slice(0, MOST_VALUES).join(", ");
  const more = facet.values.length > MOST_VALUES ? ", and others" : "";
  return `No record has ${name}=${allowed.join("|")}; ${name} is ${some}${more}.`;
}
