/*
 * Answers lines of [attributes, rules] with lines of what the atlas's page makes of them: pads_begin and output, or null.
 */
import { createInterface } from "node:readline";
import { resolveAttributes } from "../../harness/tconv/reports/atlas/resolver.js";

for await (const line of createInterface({ input: process.stdin })) {
  const [written, rules] = JSON.parse(line);
  const resolved = resolveAttributes(written, rules);
  const answer = "geometry" in resolved ? [resolved.geometry.pads_begin, resolved.geometry.output] : null;
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
