import type { PageData } from "./page_data.js";

// The cases that are nearest to a call, whose attributes the reader pastes in whatever spelling.

const MOST = 12;
/** Names of the dialects for what the facts call differently, without underscores. */
const SAME: Partial<Record<string, string>> = {
  group: "groups",
  kernelshape: "kernel",
  pads: "padsbegin",
  type: "dtype",
};
const PAIR = /"?(\w+)"?\s*[:=]\s*(\[[^\]]*\]|\([^)]*\)|[\w.+-]+|"[^"]*")/gu;
const TYPES: Partial<Record<string, string>> = { float16: "f16", bfloat16: "bf16", float32: "f32", float64: "f64" };

const plain = (name: string) => name.toLowerCase().replaceAll("_", "");

/** The numbers of the cases that have most of the attributes of a text, the nearest first, and what the text says. */
export function nearestCases(text: string, data: PageData) {
  const facets = [...data.facets.values()].filter(({ ofCases }) => ofCases);
  const known = [...text.matchAll(PAIR)].flatMap(([, name, value]) => {
    const facet = facets.find((each) => plain(each.name) === (SAME[plain(name)] ?? plain(name)));
    const wanted = spelled(value);
    return facet ? [{ facet, number: facet.values.findIndex((each) => spelled(each) === wanted) }] : [];
  });
  const scores = data.ids.map((id, at) => {
    const same = known.filter(({ facet, number }) => number >= 0 && facet.column[at] - facet.base === number).length;
    return { at, same, length: id.length };
  });
  const found = scores.filter(({ same }) => same > 0).sort((a, b) => b.same - a.same || a.length - b.length);
  return { cases: found.slice(0, MOST), attributes: known.length };
}

/** A value without brackets and quotes; a list of equal numbers is one number. */
function spelled(value: string) {
  const parts = value
    .toLowerCase()
    .replace(/[[\]()"\s]/gu, "")
    .split(/[,x]/u);
  const [first] = parts;
  return parts.every((part) => part === first) ? (TYPES[first] ?? first) : parts.join("x");
}
