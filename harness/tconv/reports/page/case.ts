import { type Grid, indexOf } from "./arrays.js";
import type { CaseView } from "./case_data.js";
import {
  answersSection,
  callSection,
  commandsSection,
  graphSection,
  neighboursSection,
  part,
  waiverSection,
  whySection,
} from "./case_sections.js";
import { el, note } from "./elements.js";
import { type Fields, overlaid, type Tiled } from "./fields.js";
import { type Geometry, offsetWords, productsOf, sameSpacing, shiftOf } from "./geometry.js";
import { type DrawnOutput, GeometryView } from "./geometry_view.js";
import { givenOutput, movedBy, shapesDiffer } from "./given_output.js";
import { farBeyond } from "./shades.js";
import { productWords, sumWords } from "./sums.js";
import { formatShape } from "./text.js";
import { TileView } from "./tiles.js";

// The view of one case: why, every backend's answer, the geometry to scale, the values, the neighbours, the commands.

const VALUE_NAMES = ["batch", "channel"];
const ALL_FIELDS: Tiled[] = ["expected", "actual", "error"];
const OPERAND_NAMES: ["x" | "w" | "b", string[]][] = [
  ["x", VALUE_NAMES],
  ["w", ["in", "out"]],
  ["b", []],
];

/** A case that is shown: it is drawn again where size or colours change. */
class ShownCase {
  drawing: GeometryView | null = null;
  tiles: TileView | null = null;
  others: TileView[] = [];
  /** The item and the channel that the drawing speaks of. */
  channel = [0, 0];
  readonly values: CaseView["values"];
  readonly given: DrawnOutput | null;

  constructor(readonly view: CaseView) {
    this.values = view.values;
    this.given = givenOutput(view);
  }

  /** Whether the values are the output of a graph, whose elements are not those of the operator. */
  get inGraph() {
    return Boolean(this.values && this.view.call?.graph.length);
  }

  draw() {
    for (const picture of [this.drawing, this.tiles, ...this.others]) picture?.draw();
  }

  /** The drawing, with a sentence that says how what came lies to what is expected. */
  geometrySection() {
    const { geometry, noAnswer } = this.view;
    if (!geometry)
      return part(
        "Geometry to scale",
        note("No output is expected, or the corpus does not have this case: there is no geometry to draw."),
      );
    const { given } = this;
    this.drawing = new GeometryView({
      expected: { name: "expected", role: "expected", geometry, known: true },
      others: given ? [given] : [],
      words: (spatial) => this.elementWords(spatial),
      onSelect: (spatial) => this.inGraph || this.tiles?.show([...this.channel, ...spatial]),
    });
    const words = noAnswer ? [note(noAnswer)] : this.placeWords();
    if (this.inGraph)
      words.push(note("This is the operator alone. The values below are the output of the whole graph."));
    return part("Geometry to scale", ...words, this.drawing.element);
  }

  placeWords() {
    const { geometry, placement } = this.view;
    if (!(geometry && placement)) return [];
    if (!this.given && String(placement.output) === String(geometry.output)) return [];
    if (!this.given)
      return [
        note(
          `The output of the backend has the spatial sizes ${formatShape(placement.output)}, and has no place in this drawing.`,
        ),
      ];
    const words = offsetWords(geometry, this.given.geometry);
    if (!this.given.known)
      return [
        note(
          "The values do not tell where the output of the backend lies. It is drawn where the expected output begins.",
        ),
      ];
    if (!sameSpacing(geometry, this.given.geometry)) words.push("is computed with other strides or dilations");
    return words.length > 0 ? [el("p", { class: "answer" }, `The output of the backend ${words.join("; it ")}.`)] : [];
  }

  /** What is said of an output element, by its spatial index in what is expected. */
  elementWords(spatial: number[]) {
    const { geometry } = this.view;
    if (!geometry) return "";
    const index = [...this.channel, ...spatial];
    const lines = [productWords(geometry, index)];
    const sum = sumWords(geometry, index, this.values?.operands ?? {});
    if (sum) lines.push(sum);
    const outside = spatial.some((at, axis) => at < 0 || at >= geometry.output[axis]);
    if (outside) lines.push("The expected output has no such element.");
    const { given } = this;
    if (given?.known && sameSpacing(geometry, given.geometry)) {
      const own = spatial.map((at, axis) => at - shiftOf(geometry, given.geometry)[axis]);
      const there = own.every((at, axis) => at >= 0 && at < given.geometry.output[axis]);
      lines.push(
        there
          ? `In the output of the backend it is element ${formatShape([...this.channel, ...own])}.`
          : "The output of the backend has no such element.",
      );
    }
    return lines.join("\n");
  }

  /** The values: what is expected and what came, and the operands. */
  valuesSection() {
    if (!this.values) return [];
    const { arrays, operands, notes } = this.values;
    const children: Node[] = notes.map(note);
    const far = farBeyond(arrays);
    if (far) children.push(note(far));
    if (arrays.expected || arrays.actual) children.push(this.outputs());
    const views = OPERAND_NAMES.flatMap(([name, names]) => this.alone(name, operands[name], names));
    if (views.length > 0) {
      const opened = el("details", { class: "operands" }, el("summary", {}, "Operands"), ...views);
      opened.addEventListener("toggle", () => this.draw());
      children.push(opened);
    }
    return [part("Values, in NCX", ...children)];
  }

  /** An array by itself, with the names of its leading axes. */
  alone(name: string, grid: Grid | undefined, names: string[]) {
    if (!grid || grid.shape.includes(0)) return [];
    const label = `${name} ${formatShape(grid.shape)}${name === "w" ? " in IOX" : ""}`;
    const fields = overlaid({ expected: grid }, []);
    const titles = { expected: label };
    const view = new TileView({ fields, shown: ["expected"], titles, names, label, judged: false });
    this.others.push(view);
    return [view.element];
  }

  /** Expected, actual and error, laid over each other. */
  outputs() {
    const place = el("div", {});
    const { expected, actual } = this.values?.arrays ?? {};
    if ([expected, actual].some((grid) => grid?.shape.includes(0)))
      return note("An array without elements is not drawn.");
    if (expected && actual && expected.shape.length !== actual.shape.length)
      return note(`The shape must be ${formatShape(expected.shape)} (got ${formatShape(actual.shape)}).`);
    const shift = shapesDiffer(this.view) ? movedBy(this.view) : [];
    this.showOutputs(place, shift);
    if (shift.length === 0) return place;
    return el(
      "div",
      {},
      note(`The first element of actual is drawn over the expected ${formatShape(shift.slice(2))}.`),
      place,
    );
  }

  showOutputs(place: HTMLElement, shift: number[]) {
    const arrays = this.values?.arrays ?? {};
    const fields = overlaid(arrays, shift);
    const both = arrays.expected && arrays.actual;
    const shown: Tiled[] = both ? ALL_FIELDS : [arrays.expected ? "expected" : "actual"];
    this.tiles = new TileView({
      fields,
      shown,
      titles: {},
      names: VALUE_NAMES,
      label: "the values",
      judged: Boolean(both),
      onSelect: ([item, channel, ...spatial]) => this.select([item, channel], spatial),
    });
    place.replaceChildren(this.tiles.element);
    this.tiles.draw();
    this.showReached(fields);
    const first = this.tiles.index;
    this.select(first.slice(0, 2), first.slice(2));
  }

  /** Let the cursor begin at a wrong element that taps reach, if there is one. */
  showReached({ wrong, shape, origin }: Fields) {
    const { geometry } = this.view;
    const isReached = (mark: number, element: number) =>
      mark === 1 &&
      productsOf(
        geometry as Geometry,
        indexOf(shape, element)
          .map((at, axis) => at + origin[axis])
          .slice(2),
      ).length > 0;
    const first = geometry && shape.length === geometry.output.length + 2 ? wrong.findIndex(isReached) : -1;
    if (first >= 0) this.tiles?.goTo(first, false);
  }

  /** Let the drawing speak of an element of the values. */
  select(channel: number[], spatial: number[]) {
    if (this.inGraph) return;
    this.channel = channel;
    if (spatial.length === this.view.geometry?.output.length) this.drawing?.choose(spatial, false);
  }
}

/** A part that is drawn when the reader opens it. */
function folded(content: HTMLElement, draw: () => void) {
  const details = el("details", {}, el("summary", {}, "What was expected, drawn to scale"), content);
  details.addEventListener("toggle", draw);
  return details;
}

/** Show a case. */
export function renderCase(container: HTMLElement, view: CaseView): ShownCase {
  const shown = new ShownCase(view);
  const drawing = shown.geometrySection();
  const pictures = [view.noAnswer ? folded(drawing, () => shown.draw()) : drawing, ...shown.valuesSection()];
  const call = view.noAnswer ? [] : callSection(view);
  const words = [answersSection(view), ...call, ...neighboursSection(view), commandsSection(view)];
  const why = [whySection(view), ...waiverSection(view), ...graphSection(view)];
  // If nothing came, the message and the call come first.
  const parts = view.noAnswer
    ? [
        [...why, ...callSection(view)],
        [...words, ...pictures],
      ]
    : [[...why, ...pictures], words];
  const columns = parts.map((each) => el("div", {}, ...each));
  container.append(el("div", { class: "case-view" }, el("div", { class: "case-columns" }, ...columns)));
  shown.draw();
  return shown;
}
