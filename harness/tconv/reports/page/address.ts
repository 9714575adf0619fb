// The page's state as the fragment of its address, so that a link to a case or to a filter can be shared.

/** `q`, the query; `view`, with `down`, `across`, `count` of the matrix; `sort`; `case` and `run`: the open record. */
export type State = Partial<Record<string, string>>;

const NAMES = ["q", "view", "down", "across", "count", "sort", "case", "run"];

/**
 * Read a fragment; `+` is itself, since ids are full of it. Other names than the state's are facets of the query:
 * `#topic=padding&status=failed,crashed`.
 */
export function parseFragment(fragment: string) {
  const state: State = {};
  const facets: string[] = [];
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

/** Write a fragment; the characters that a fragment may have stay readable. */
export function formatFragment(state: State) {
  const parts = NAMES.flatMap((name) => {
    const value = state[name];
    return value ? [`${name}=${encodeURIComponent(value).replace(/%(?:2F|2C|3D|3A|2B)/gu, decodeURIComponent)}`] : [];
  });
  return `#${parts.join("&")}`;
}

function decoded(value: string) {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
