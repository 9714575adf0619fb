/*
 * Answers lines of [pattern, id, facts] with lines of what the page makes of them: whether the pattern matches, null where
 * it is none, whether the search finds the case, and the labels of the id.
 */
import { createInterface } from "node:readline";
import { labelsOf, matches, parsePattern } from "../../harness/tconv/reports/page/patterns.js";
import { parseQuery } from "../../harness/tconv/reports/page/search.js";

for await (const line of createInterface({ input: process.stdin })) {
  const [text, id, facts] = JSON.parse(line);
  const values = new Map(Object.entries(facts));
  const record = { id, text: id.toLowerCase(), fact: (key) => values.get(key) };
  const pattern = parsePattern(text);
  const answer = [pattern && matches(pattern, record), parseQuery(text)(record), Object.fromEntries(labelsOf(id))];
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
