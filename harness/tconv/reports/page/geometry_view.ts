import { legendOf, svgOf } from "./drawing_elements.js";
import { el, enlargement } from "./elements.js";
import { type Frame, type Geometry, productsAt, sameSpacing } from "./geometry.js";
import type { Lanes } from "./lane_rows.js";
import { laneDrawing, laneScale } from "./lanes.js";
import { type Panel, placesAt, planeDrawing } from "./planes.js";

// The geometry of a case as a drawing to scale, with one element chosen, whose products are lit. Pointing, or the arrow
// keys, choose another one.

/** An output that is drawn: a geometry with the input of what is expected. */
export interface DrawnOutput {
  name: string;
  geometry: Geometry;
  role: "expected" | "given";
  known: boolean; // whether its place is known; else it is drawn where the expected one lies
}

interface GeometryOptions {
  expected: DrawnOutput;
  others: DrawnOutput[];
  words: (spatial: number[]) => string; // what is said of an element, by its spatial index in what is expected
  onSelect?: (spatial: number[]) => void;
}

export class GeometryView {
  /** The width that is drawn for, in pixels. */
  room = 0;
  readonly rank: number;
  index: number[];
  readonly canvas = el("div", {
    class: "drawing",
    tabindex: 0,
    role: "application",
    "aria-label": "the geometry to scale; the arrow keys choose an output element, whose products are lit",
  });
  readonly words = el("output", { class: "products", "aria-live": "polite" });
  readonly legend = el("div", { class: "legend" });
  readonly element: HTMLElement;
  readonly observer = new ResizeObserver(() => {
    if (this.canvas.clientWidth !== this.room) requestAnimationFrame(() => this.draw());
  });

  constructor(readonly options: GeometryOptions) {
    const { geometry } = options.expected;
    this.rank = geometry.output.length;
    this.index = geometry.output.map((size, axis) => reachedNear(geometry, axis, Math.floor((size - 1) / 2)));
    this.element = el("div", { class: "geometry-view" }, this.canvas, this.words, this.legend);
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    this.observer.observe(this.element);
  }

  /** The places of the chosen element, axis by axis. */
  get places() {
    return this.index.map((at, axis) => at + this.options.expected.geometry.pads_begin[axis]);
  }

  /** Choose an element by its spatial index in what is expected; it may lie outside, in a frame of another. */
  choose(index: number[], tell = true) {
    if (String(index) === String(this.index)) return;
    this.index = index;
    this.draw();
    if (tell) this.options.onSelect?.(index);
  }

  press(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps: Partial<Record<string, [number, number]>> = {
      ArrowLeft: [-1, -1],
      ArrowRight: [-1, 1],
      ArrowUp: [-2, -1],
      ArrowDown: [-2, 1],
      PageUp: [-3, -1],
      PageDown: [-3, 1],
    };
    const step = steps[event.key];
    const axis = step ? this.rank + step[0] : -1;
    if (!step || axis < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const [low, high] = this.bounds(axis);
    this.choose(this.index.map((at, other) => (other === axis ? Math.min(Math.max(at + step[1], low), high) : at)));
  }

  /** The first and the last index that may be chosen on an axis. */
  bounds(axis: number) {
    const frames = this.framesOn(axis);
    const begin = this.options.expected.geometry.pads_begin[axis];
    const low = Math.min(...frames.map((frame) => frame.begin)) - begin;
    return [low, Math.max(...frames.map((frame) => frame.begin + frame.size)) - begin - 1];
  }

  /** The frames that lie in the expected geometry's places. */
  framesOn(axis: number): Frame[] {
    const { expected, others } = this.options;
    return [expected, ...others.filter(({ geometry }) => sameSpacing(geometry, expected.geometry))].map((output) =>
      frameOf(output, axis),
    );
  }

  /** Draw all anew. */
  draw() {
    this.room = this.canvas.clientWidth;
    const room = this.room / enlargement();
    if (room === 0) return;
    const { expected, others, words } = this.options;
    const parts: Node[] = [];
    if (this.rank > 1) parts.push(this.plane(expected.geometry, Math.min(room, 1600)));
    const lanes = this.index.map((_, axis) =>
      this.lane(
        { geometry: expected.geometry, axis, frames: this.framesOn(axis), place: this.places[axis], room },
        true,
      ),
    );
    parts.push(el("div", { class: "lane-drawings" }, ...lanes));
    for (const other of others.filter(({ geometry }) => !sameSpacing(geometry, expected.geometry))) {
      const { geometry } = other;
      const spacing = `strides ${geometry.strides.join(", ")} and dilations ${geometry.dilations.join(", ")}`;
      parts.push(el("h4", {}, `${other.name}: computed with ${spacing}`));
      for (let axis = 0; axis < this.rank; axis++) {
        const place = Math.min(Math.max(this.index[axis], 0), geometry.output[axis] - 1) + geometry.pads_begin[axis];
        parts.push(this.lane({ geometry, axis, frames: [frameOf(other, axis)], place, room }, false));
      }
    }
    this.canvas.replaceChildren(...parts);
    this.legend.replaceChildren(...legendOf(this.canvas, expected.name, others));
    this.words.textContent = words(this.index);
  }

  /** The lanes of an axis; `choosing` says whether pointing at them chooses. */
  lane(lanes: Lanes, choosing: boolean) {
    const { axis, place } = lanes;
    const drawing = laneDrawing(lanes);
    const name = this.rank > 1 ? `axis ${axis}` : "the axis";
    const svg = svgOf(drawing, `${name} to scale`, `the chosen place is ${place}`);
    if (choosing) {
      const scale = laneScale(lanes);
      const begin = this.options.expected.geometry.pads_begin[axis];
      const [low, high] = this.bounds(axis);
      svg.addEventListener("pointermove", ({ offsetX }) => {
        const at = Math.min(Math.max(scale.at(offsetX / enlargement()) - begin, low), high);
        this.choose(this.index.map((other, number) => (number === axis ? at : other)));
      });
    }
    const head = this.rank > 1 ? [el("h4", {}, `Axis ${axis}`)] : [];
    return el("div", { class: "lane-drawing" }, ...head, el("div", { class: "scroller", tabindex: 0 }, svg));
  }

  /** The last two axes as a plane. */
  plane(geometry: Geometry, room: number) {
    const axes: [number, number] = [this.rank - 2, this.rank - 1];
    const [down, across] = axes.map((axis) => this.framesOn(axis));
    const frames = down.map((frame, number): [Frame, Frame] => [frame, across[number]]);
    const panel = planeDrawing({ geometry, axes, frames, places: [this.places[axes[0]], this.places[axes[1]]], room });
    const svg = svgOf(panel, panel.title, "");
    svg.addEventListener("pointermove", (event) => this.point(event, panel, axes));
    const slice =
      this.rank > 2
        ? [
            el(
              "p",
              { class: "muted" },
              `The plane of the last two axes, at ${this.index
                .slice(0, -2)
                .map((at, axis) => `index ${at} of axis ${axis}`)
                .join(", ")}; pointing at a lane below chooses another.`,
            ),
          ]
        : [];
    const caption = el("figcaption", {}, panel.title);
    const scroller = el("div", { class: "scroller", tabindex: 0 }, svg);
    return el("div", { class: "plane-drawing" }, ...slice, el("figure", {}, caption, scroller));
  }

  point({ offsetX, offsetY }: PointerEvent, panel: Panel, axes: [number, number]) {
    const places = placesAt(panel, [offsetX / enlargement(), offsetY / enlargement()]);
    const index = [...this.index];
    axes.forEach((axis, side) => {
      const [low, high] = this.bounds(axis);
      index[axis] = Math.min(Math.max(places[side] - this.options.expected.geometry.pads_begin[axis], low), high);
    });
    this.choose(index);
  }
}

/** The index nearest to one on an axis whose element has products; itself if none has. */
function reachedNear(geometry: Geometry, axis: number, index: number) {
  const near = Array.from({ length: geometry.output[axis] }, (_, at) => at);
  near.sort((a, b) => Math.abs(a - index) - Math.abs(b - index));
  return near.find((at) => productsAt(geometry, axis, at + geometry.pads_begin[axis]).length > 0) ?? index;
}

const frameOf = ({ name, geometry, known, role }: DrawnOutput, axis: number): Frame => ({
  name,
  role,
  added: geometry.added?.[axis] ?? 0,
  begin: geometry.pads_begin[axis],
  size: geometry.output[axis],
  known,
});
