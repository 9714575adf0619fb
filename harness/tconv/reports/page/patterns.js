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
const ANYTHING = "[^\\n]*";

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

/**
 * Return a glob as a regular expression that takes no long time, however many stars there are.
 *
 * What follows a star is taken where it occurs first and not tried again, but after the last `**` and the last `*`: what
 * follows these must reach the end, or a slash.
 *
 * @param {string} glob
 */
function expression(glob) {
  let groups = 0;
  /** @param {string} text */
  const once = (text) => {
    // There is no (?>...) here; what a lookahead has found is not tried again either.
    groups += 1;
    return `(?=(?<g${groups}>${text}))\\k<g${groups}>`;
  };
  /**
   * @param {string} part a part of the glob without `**`
   * @param {boolean} isLast
   */
  const within = (part, isLast) => {
    const [start, ...following] = part.split("*").map((text) => text.split("?").map(escaped).join("[^/]"));
    const end = isLast && following.length > 0 ? `[^/]*${following.pop()}` : "";
    return start + following.map((text) => once(`[^/]*?${text}`)).join("") + end;
  };
  const parts = glob.replace(/\/+$/u, "").split("**");
  const last = parts.length - 1;
  const expressions = parts.map((part, number) => {
    const text = within(part, number === last);
    if (number === 0) return text;
    return number === last ? ANYTHING + text : once(`${ANYTHING}?${text}`);
  });
  return new RegExp(`^${expressions.join("")}(?:/${ANYTHING})?$`, "u");
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[\\^$.|+(){}/]/gu, "\\$&");
}

/**
 * @param {string} condition
 * @returns {[string, string[]]}
 */
function parseCondition(condition) {
  const [key, values] = partition(condition, "=");
  return [key.trim(), values.split("|").map((value) => value.trim())];
}
