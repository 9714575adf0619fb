/*
 * Answers lines of [pattern, id, facts] with lines of what the page makes of them: whether the pattern matches, null where
 * it is none, whether the search finds the case, and the labels of the id.
 */
import { createInterface } from "node:readline";
import { labelsOf, matches, parsePattern } from "./build/patterns.js";
import { parseQuery } from "./build/query.js";
import { madeData } from "./made_data.js";

for await (const line of createInterface({ input: process.stdin })) {
  const [text, id, facts] = JSON.parse(line);
  const values = new Map(Object.entries(facts));
  const pattern = parsePattern(text);
  const found = parseQuery(text, madeData([{ id, facts }])).every(({ holds }) => holds[0] === 1);
  const matched = pattern && matches(pattern, { id, fact: (key) => values.get(key) });
  process.stdout.write(`${JSON.stringify([matched, found, Object.fromEntries(labelsOf(id))])}\n`);
}
