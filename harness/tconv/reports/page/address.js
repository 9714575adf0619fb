/*
 * The page's state as the fragment of its address, so that a link to a case or to a filter can be shared.
 */

/**
 * @typedef {Partial<Record<string, string>>} State `q`, the query; `view`, with `down`, `across` and `count` of the matrix;
 *   `sort`; `case` and `run` of the record that is open
 */

const NAMES = ["q", "view", "down", "across", "count", "sort", "case", "run"];

/**
 * Read a fragment; `+` is itself, since ids are full of it. Other names than the state's are facets of the query:
 * `#topic=padding&status=failed,died`.
 *
 * @param {string} fragment
 */
export function parseFragment(fragment) {
  /** @type {State} */
  const state = {};
  const facets = [];
  for (const part of fragment.replace(/^#/u, "").split("&")) {
    const equals = part.indexOf("=");
    if (equals <= 0) continue;
    const [name, value] = [part.slice(0, equals), decoded(part.slice(equals + 1))];
    if (NAMES.includes(name)) state[name] = value;
    else facets.push(`${name}=${value.replaceAll(",", "|")}`);
  }
  const query = [...facets, state.q ?? ""].join(" ").trim();
  return query ? { ...state, q: query } : state;
}

/**
 * Write a fragment; the characters that a fragment may have stay readable.
 *
 * @param {State} state
 */
export function formatFragment(state) {
  const parts = NAMES.flatMap((name) => {
    const value = state[name];
    return value ? [`${name}=${encodeURIComponent(value).replace(/%(?:2F|2C|3D|3A|2B)/gu, decodeURIComponent)}`] : [];
  });
  return `#${parts.join("&")}`;
}

/** @param {string} value */
function decoded(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
