/*
 * The page's state as the fragment of its address, so that a link to a case or to a filter can be shared.
 */

/** @typedef {Partial<Record<string, string>>} State filters, and `case` and `run` of the record that is open */

export const FILTERS = ["q", "status", "verdict", "topic", "backend", "sort"];

/**
 * Read a fragment; `+` is itself, since ids are full of it.
 *
 * @param {string} fragment
 */
export function parseFragment(fragment) {
  /** @type {State} */
  const state = {};
  for (const part of fragment.replace(/^#/u, "").split("&")) {
    const equals = part.indexOf("=");
    if (equals > 0) state[part.slice(0, equals)] = decoded(part.slice(equals + 1));
  }
  return state;
}

/**
 * Write a fragment; the characters that a fragment may have stay readable.
 *
 * @param {State} state
 */
export function formatFragment(state) {
  const parts = [...FILTERS, "case", "run"].flatMap((name) => {
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
