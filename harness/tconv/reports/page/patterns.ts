// Patterns over cases. The grammar is that of the command line, tconv/cases/patterns.py; tests/patterns.json is the
// table that both are tested against.

export interface Pattern {
  path: RegExp; // what the path must match
  conditions: Map<string, string[]>; // for each fact, the texts that it may have
}

export interface Case {
  id: string;
  fact: (key: string) => string | undefined; // the case's fact of that name
}

const SHAPE = /^([^[\]]+)(?:\[([^[\]]*)\])?$/u;
const ANYTHING = "[^\\n]*";

/** Split a text at the first separator; without one, all of it comes before. */
export function partition(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** The labels in a case's id, by key. */
export function labelsOf(id: string): Map<string, string> {
  const labels = partition(id, "[")[1].replace(/\]+$/u, "").split(",");
  return new Map(labels.filter((label) => label.includes("=")).map((label) => partition(label, "=")));
}

/** Read a pattern; null where the text is none. */
export function parsePattern(text: string): Pattern | null {
  const shape = SHAPE.exec(text);
  if (!shape) return null;
  const conditions = (shape[2] ?? "").split(",").map((condition) => condition.trim());
  const given = conditions.filter((condition) => condition !== "");
  if (!given.every((condition) => condition.includes("="))) return null;
  const allowed = new Map(given.map(parseCondition));
  return allowed.size === given.length ? { path: expression(shape[1]), conditions: allowed } : null;
}

export function matches(pattern: Pattern, target: Case) {
  if (!pattern.path.test(partition(target.id, "[")[0])) return false;
  return [...pattern.conditions].every(([key, allowed]) => allowed.some((value) => value === target.fact(key)));
}

/**
 * Return a glob as a regular expression that takes no long time, however many stars there are.
 *
 * What follows a star is taken where it occurs first and not tried again, but after the last `**` and the last `*`:
 * what follows these must reach the end, or a slash.
 */
function expression(glob: string) {
  let groups = 0;
  const once = (text: string) => {
    // There is no (?>...) here; what a lookahead has found is not tried again either.
    groups += 1;
    return `(?=(?<g${groups}>${text}))\\k<g${groups}>`;
  };
  /** The expression of a part of the glob without `**`. */
  const within = (part: string, isLast: boolean) => {
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

function escaped(text: string) {
  return text.replace(/[\\^$.|+(){}/]/gu, "\\$&");
}

function parseCondition(condition: string): [string, string[]] {
  const [key, values] = partition(condition, "=");
  return [key.trim(), values.split("|").map((value) => value.trim())];
}
