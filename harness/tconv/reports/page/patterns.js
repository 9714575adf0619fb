/*
 * Patterns over cases. The grammar is that of the command line, tconv/cases/patterns.py; tests/patterns.json is the table that
 * both are tested against.
 */

/**
 * @typedef {object} Pattern
 * @property {RegExp} path what the path must match
 * @property {Map<string, string[]>} conditions for each fact, the texts that it may have
 */

/**
 * @typedef {object} Case
 * @property {string} id
 * @property {(key: string) => string | undefined} fact the case's fact of that name
 */

const SHAPE = /^([^[\]]+)(?:\[([^[\]]*)\])?$/u;
const GLOBS = new Map([
  ["**", "[^\\n]*"],
  ["*", "[^/]*"],
  ["?", "[^/]"],
]);

/**
 * Split a text at the first separator; without one, all of it comes before.
 *
 * @param {string} text
 * @param {string} separator
 * @returns {[string, string]}
 */
export function partition(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

/**
 * The labels in a case's id, by key.
 *
 * @param {string} id
 * @returns {Map<string, string>}
 */
export function labelsOf(id) {
  const labels = partition(id, "[")[1].replace(/\]+$/u, "").split(",");
  return new Map(labels.filter((label) => label.includes("=")).map((label) => partition(label, "=")));
}

/**
 * @param {string} text
 * @returns {Pattern | null} null where the text is no pattern
 */
export function parsePattern(text) {
  const shape = SHAPE.exec(text);
  if (!shape) return null;
  const conditions = (shape[2] ?? "").split(",").map((condition) => condition.trim());
  const given = conditions.filter((condition) => condition !== "");
  if (!given.every((condition) => condition.includes("="))) return null;
  const allowed = new Map(given.map(parseCondition));
  return allowed.size === given.length ? { path: expression(shape[1]), conditions: allowed } : null;
}

/**
 * @param {Pattern} pattern
 * @param {Case} target
 */
export function matches(pattern, target) {
  if (!pattern.path.test(partition(target.id, "[")[0])) return false;
  return [...pattern.conditions].every(([key, allowed]) => allowed.some((value) => value === target.fact(key)));
}

/** @param {string} glob */
function expression(glob) {
  const parts = glob.replace(/\/+$/u, "").split(/(\*\*|\*|\?)/u);
  const expressions = parts.map((part) => GLOBS.get(part) ?? part.replace(/[\\^$.|+(){}/]/gu, "\\$&"));
  return new RegExp(`^${expressions.join("")}(?:/[^\\n]*)?$`, "u");
}

/**
 * @param {string} condition
 * @returns {[string, string[]]}
 */
function parseCondition(condition) {
  const [key, values] = partition(condition, "=");
  return [key.trim(), values.split("|").map((value) => value.trim())];
}
