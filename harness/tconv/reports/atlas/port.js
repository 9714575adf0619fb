import { svgOf } from "../page/drawing_elements.js";
import { el } from "../page/elements.js";
import { offsetWords } from "../page/geometry.js";
import { GeometryView } from "../page/geometry_view.js";
import { laneDrawing } from "../page/lanes.js";
import { formatShape } from "../page/text.js";
import { exampleOf, objections, resolveAttributes, rewriteFor } from "./resolver.js";

/*
 * The atlas's page: a form that ports a call from one text to another, and a drawing for each question.
 */

/** @import { Geometry } from "../page/geometry.js" */
/** @import { Attributes, AutoPad, Resolved, Text } from "./resolver.js" */

/**
 * @typedef {object} AtlasData
 * @property {Text[]} texts
 * @property {Record<string, {answers: string[], words: Record<string, string>}>} questions
 */

/** @type {[keyof Attributes, string, string][]} */
const FIELDS = [
  ["spatial", "input sizes", "5, 4"],
  ["kernel", "kernel sizes", "3, 4"],
  ["strides", "strides", "2"],
  ["dilations", "dilations", "1"],
  ["pads_begin", "pads_begin", "0"],
  ["pads_end", "pads_end", "0"],
  ["output_padding", "output_padding", "0"],
  ["output_shape", "output_shape", ""],
];
/** Values of attributes that need not be written. @type {Record<string, number>} */
const NEUTRAL = { strides: 1, dilations: 1, pads_begin: 0, pads_end: 0, output_padding: 0 };
const AUTO_PADS = ["explicit", "valid", "same_upper", "same_lower"];
/** The most elements of a size that is drawn. */
const MOST = 100_000;

/**
 * The integers of a field for every axis; a single one stands for all. Null where the text is no such list.
 *
 * @param {string} text
 * @param {number} rank 0 where the text itself says how many there are
 */
export function parseSizes(text, rank) {
  const parts = text.split(/[\s,x]+/u).filter(Boolean);
  const sizes = parts.map(Number);
  if (sizes.length === 0 || !sizes.every((size) => Number.isInteger(size) && Math.abs(size) <= MOST)) return null;
  if (rank > 0 && sizes.length === 1) return new Array(rank).fill(sizes[0]);
  return rank > 0 && sizes.length !== rank ? null : sizes;
}

/**
 * The attributes of the form's texts, or what is wrong with them.
 *
 * @param {Record<string, string>} texts
 * @returns {Attributes | string}
 */
export function parseAttributes(texts) {
  const spatial = parseSizes(texts.spatial, 0);
  if (!spatial || spatial.some((size) => size < 1) || spatial.length > 3)
    return "input sizes must be 1 to 3 integers above 0";
  /** @type {Record<string, unknown>} */
  const attributes = { spatial, auto_pad: texts.auto_pad };
  for (const [name] of FIELDS.slice(1)) {
    if (name === "output_shape" && texts.output_shape.trim() === "") {
      attributes.output_shape = null;
      continue;
    }
    const sizes = parseSizes(texts[name], spatial.length);
    const least = ["kernel", "strides", "dilations"].includes(name) ? 1 : 0;
    if (!sizes || sizes.some((size) => size < least)) {
      return `${name} must be one integer, or ${spatial.length}, of at least ${least} (got ${texts[name] || "nothing"})`;
    }
    attributes[name] = sizes;
  }
  return /** @type {Attributes} */ (/** @type {unknown} */ (attributes));
}

/**
 * What changes from a text to another, in sentences.
 *
 * @param {Attributes} written
 * @param {Text} from
 * @param {Text} to
 */
export function portWords(written, from, to) {
  const [source, target] = [from, to].map((text) => ({
    said: objections(written, text),
    resolved: resolveAttributes(written, text.rules),
  }));
  const words = [];
  for (const [text, { said, resolved }] of /** @type {[Text, typeof source][]} */ ([
    [from, source],
    [to, target],
  ])) {
    if (said.length > 0) words.push(`${text.name} cannot say this: ${said.join("; ")}.`);
    else if ("refused" in resolved) words.push(`${text.name} has no output: ${resolved.refused}.`);
    else
      words.push(
        `${text.name} gives the sizes ${formatShape(resolved.geometry.output)}, pads_begin ${formatShape(resolved.geometry.pads_begin)}.`,
      );
  }
  const before = source.said.length === 0 && "geometry" in source.resolved ? source.resolved.geometry : null;
  const after = target.said.length === 0 && "geometry" in target.resolved ? target.resolved.geometry : null;
  if (before && after) {
    const differs = offsetWords(before, after);
    words.push(
      differs.length > 0
        ? `So with the same attributes the output ${differs.join("; it ")}.`
        : "So nothing changes: the same attributes give the same output.",
    );
  }
  return { words, before, after, write: before ? rewriteFor(before, to) : null };
}

/**
 * The command that ports the same call, and proves what it says by resolving both sides.
 *
 * @param {Attributes} written
 * @param {Text} from
 * @param {Text} to
 */
export function portCommand(written, from, to) {
  const words = FIELDS.flatMap(([name]) => {
    const sizes = /** @type {number[] | null} */ (written[name]);
    const neutral = NEUTRAL[name] ?? Number.NaN;
    return sizes?.some((size) => size !== neutral) ? [`--${name.replace("_", "-")} ${sizes.join(",")}`] : [];
  });
  const mode = written.auto_pad === "explicit" ? [] : [`--auto-pad ${written.auto_pad}`];
  return ["tconv port", `--from ${from.name}`, `--to ${to.name}`, ...words, ...mode].join(" ");
}

/**
 * The form, and what follows from it.
 *
 * @param {HTMLElement} place
 * @param {AtlasData} data
 */
export function portForm(place, { texts }) {
  const inputs = FIELDS.map(([name, label, value]) => {
    const input = el("input", {
      name,
      value,
      autocomplete: "off",
      spellcheck: "false",
      placeholder: name === "output_shape" ? "none" : null,
    });
    return el("label", {}, label, input);
  });
  const choice = (/** @type {string} */ name, /** @type {string[]} */ values, /** @type {string} */ chosen) =>
    el(
      "label",
      {},
      name,
      el("select", { name }, ...values.map((value) => el("option", { value, selected: value === chosen }, value))),
    );
  const names = texts.map(({ name }) => name);
  const form = el(
    "form",
    { class: "port", "aria-label": "port a call" },
    choice("from", names, names[0]),
    choice("to", names, names[names.length - 1]),
    choice("auto_pad", AUTO_PADS, "same_upper"),
    ...inputs,
  );
  const outcome = el("div", { class: "ported", "aria-live": "polite" });
  /** @type {GeometryView | null} */
  let drawing = null;
  const show = () => {
    drawing?.remove();
    drawing = null;
    const fields = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    const written = parseAttributes(fields);
    if (typeof written === "string") {
      outcome.replaceChildren(el("p", { class: "failed" }, written));
      return;
    }
    const [from, to] = [fields.from, fields.to].map((name) => texts.find((text) => text.name === name) ?? texts[0]);
    const { words, before, after, write } = portWords(written, from, to);
    const parts = [...sentences(words), ...writeParts(write, to), ...commandParts(portCommand(written, from, to))];
    if (before) {
      const others = after && JSON.stringify(after) !== JSON.stringify(before) ? [drawn(to.name, after, "given")] : [];
      drawing = new GeometryView({
        owed: drawn(from.name, before, "owed"),
        others,
        words: (index) => `the element ${formatShape(index)} of ${from.name}`,
      });
      parts.push(el("h3", {}, "Geometry to scale"), drawing.element);
    }
    outcome.replaceChildren(...parts);
    drawing?.draw();
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  place.append(form, outcome);
  show();
}

/**
 * @param {ReturnType<typeof rewriteFor> | null} write
 * @param {Text} to
 */
function writeParts(write, to) {
  if (!write) return [];
  if ("impossible" in write) return [el("p", {}, `In ${to.name} no attributes give this output: ${write.impossible}.`)];
  const lines = write.attributes.map(([name, value]) => `${name} = ${value}`).join("\n");
  return [
    el("p", {}, `Write in ${to.name}, so that the output stays as it was:`),
    el("pre", { class: "write" }, lines),
  ];
}

/** @param {string[]} words */
const sentences = (words) => words.map((sentence) => el("p", {}, sentence));

/** @param {string} command */
const commandParts = (command) => [
  el("p", {}, "On the command line, where both sides are resolved and compared as proof:"),
  el("pre", {}, command),
];

/** @param {string} name @param {Geometry} geometry @param {"owed" | "given"} role */
const drawn = (name, geometry, role) => ({ name, geometry, role, known: true });

/**
 * A drawing of the smallest call for which the answers to a question differ.
 *
 * @param {HTMLElement} place
 * @param {string} question
 * @param {AtlasData} data
 */
export function questionDrawing(place, question, { texts, questions }) {
  const { answers, words } = questions[question];
  const example = texts.map(({ rules }) => exampleOf(question, answers, rules)).find(Boolean);
  if (!example) return;
  const { written, frames } = example;
  const known = frames.flatMap(({ answer, resolved }) =>
    "geometry" in resolved ? [{ name: words[answer], geometry: resolved.geometry }] : [],
  );
  const size = written.output_shape ? `, output_shape ${written.output_shape[0]}` : "";
  const added = written.output_padding[0] > 0 ? `, output_padding ${written.output_padding[0]}` : "";
  const caption = `${written.auto_pad}, input 3, kernel ${written.kernel[0]}, stride ${written.strides[0]}${size}${added}`;
  const lanes = known.map(({ name, geometry }, number) => ({
    name,
    begin: geometry.pads_begin[0],
    size: geometry.output[0],
    known: true,
    role: /** @type {"owed" | "given"} */ (number === 0 ? "owed" : "given"),
  }));
  const room = Math.max(place.clientWidth, 300);
  const drawing = laneDrawing({ geometry: known[0].geometry, axis: 0, frames: lanes, place: Number.NaN, room });
  place.append(
    el(
      "figure",
      { class: "question-drawing" },
      el("figcaption", {}, caption),
      el("div", { class: "drawing" }, svgOf(drawing, `${question}: ${caption}`, "")),
    ),
  );
}
