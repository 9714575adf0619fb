import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAttributes, parseSizes, portCommand, portWords } from "../../harness/tconv/reports/atlas/port.js";
import { exampleOf, objections, resolveAttributes, rewriteFor } from "../../harness/tconv/reports/atlas/resolver.js";

const RULES = {
  same: "input-times-stride",
  sized_explicit: "recomputed",
  sized_valid: "recomputed",
  odd_upper: "end",
  odd_lower: "begin",
  odd_sized_upper: "end",
  odd_sized_lower: "begin",
  odd_sized: "begin",
  negative_same: "floor",
  negative_sized: "floor",
};
const WORDS = {
  strides: "strides",
  dilations: "dilations",
  pads_begin: "pads",
  pads_end: "pads",
  output_padding: "output_padding",
};
const text = (more) => ({
  name: "a",
  rules: RULES,
  words: { ...WORDS, output_shape: "output_shape" },
  modes: { same_upper: "SAME_UPPER" },
  limitsOutputPadding: false,
  padsAlone: false,
  ...more,
});
const FORM = {
  spatial: "5, 4",
  kernel: "3",
  strides: "2",
  dilations: "1",
  pads_begin: "0",
  pads_end: "0",
  output_padding: "0",
  output_shape: "",
  auto_pad: "same_upper",
};

test("one integer stands for every axis, and what is no list of integers is told", () => {
  assert.deepEqual(parseSizes("2", 3), [2, 2, 2]);
  assert.deepEqual(parseSizes("5x4", 0), [5, 4]);
  for (const bad of ["", "a", "1.5", "1, 2"]) assert.equal(parseSizes(bad, 3), null, bad);
  assert.equal(typeof parseAttributes({ ...FORM, strides: "0" }), "string");
  assert.match(parseAttributes({ ...FORM, kernel: "x" }), /^kernel must be one integer, or 2/u);
});

test("what is written for the other text gives the same output there", () => {
  const written = parseAttributes({ ...FORM, output_shape: "10, 7", pads_begin: "3" });
  const other = text({ name: "b", rules: { ...RULES, odd_sized_upper: "begin" } });
  const { words, before, after, write } = portWords(written, text({}), other);
  assert.notDeepEqual(before, after);
  assert.match(words.at(-1), /^So with the same attributes the output begins 1 later/u);
  const pads = write.attributes.find(([name]) => name === "pads")[1];
  assert.equal(pads, "[0, 1, 1, 1]");
  const explicit = { ...written, auto_pad: "explicit", output_shape: null, pads_begin: [0, 1], pads_end: [1, 1] };
  assert.deepEqual(resolveAttributes(explicit, other.rules).geometry, before);
  assert.match(portWords(written, text({}), text({ name: "b" })).words.at(-1), /nothing changes/u);
});

test("the command that ports the same call has what is not at its neutral value", () => {
  const written = parseAttributes({ ...FORM, output_shape: "10, 7", pads_begin: "0, 1" });
  assert.equal(
    portCommand(written, text({}), text({ name: "b" })),
    "tconv port --from a --to b --spatial 5,4 --kernel 3,3 --strides 2,2 --pads-begin 0,1 --output-shape 10,7 --auto-pad same_upper",
  );
  const plain = parseAttributes({ ...FORM, strides: "1", auto_pad: "explicit" });
  assert.equal(portCommand(plain, text({}), text({})), "tconv port --from a --to a --spatial 5,4 --kernel 3,3");
});

test("what a text cannot say, or cannot give, is told", () => {
  const written = parseAttributes({ ...FORM, output_shape: "10", pads_begin: "1", output_padding: "2" });
  const narrow = text({ words: WORDS, modes: {}, limitsOutputPadding: true, padsAlone: true });
  assert.equal(objections(written, narrow).length, 4);
  const outside = { spatial: [3], kernel: [1], strides: [1], dilations: [1], pads_begin: [-1], output: [4], groups: 1 };
  assert.match(rewriteFor(outside, text({})).impossible, /no pad is negative/u);
  const longer = { ...outside, pads_begin: [0], output: [9] };
  assert.match(
    rewriteFor(longer, text({ limitsOutputPadding: true })).impossible,
    /output_padding would not be below/u,
  );
  assert.ok(
    "refused" in
      resolveAttributes(parseAttributes({ ...FORM, output_shape: "99" }), { ...RULES, negative_sized: "refuse" }),
  );
});

test("each question has a call that tells its answers apart", () => {
  const answers = {
    negative_same: ["floor", "truncate", "append", "shrink"],
    odd_upper: ["begin", "end"],
    sized_valid: ["recomputed", "kept"],
  };
  for (const [question, list] of Object.entries(answers)) {
    const { frames } = exampleOf(question, list, RULES);
    assert.ok(new Set(frames.map(({ resolved }) => JSON.stringify(resolved))).size > 1, question);
  }
  assert.equal(exampleOf("odd_upper", ["begin", "end"], { ...RULES, same: "no-padding" }), null);
});
