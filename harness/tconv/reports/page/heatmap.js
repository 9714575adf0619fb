import {
  cellSize,
  countMarks,
  indexOf,
  layoutOf,
  marksAlong,
  moveCursor,
  nextMark,
  planeStart,
  rangeOf,
  strideOf,
} from "./arrays.js";
import { contextOf, drawMark, hatching, isDark, OUTLINED, SWATCH, scaleOf, swatchOf } from "./canvas.js";
import { colourOf, css, differences, inkOn, VALUES } from "./colours.js";
import { button, el } from "./elements.js";
import { formatCount, formatFloat32, formatShape, formatWithin } from "./text.js";

/*
 * Heatmaps of arrays of one shape, side by side: a plane of each at a time, chosen by the leading axes.
 */

/** @import { Grid } from "./arrays.js" */

/**
 * @typedef {object} Pane
 * @property {string} title
 * @property {Grid} grid
 * @property {boolean} [diverging] whether it is a difference, coloured from its zero to both sides
 */
/**
 * @typedef {object} Options
 * @property {string[]} names of the leading axes; spatial ones come after
 * @property {Pane[]} panes
 * @property {Uint8Array} [wrong] a mark for each element that is wrong
 * @property {Grid} [allowed] the tolerance of each element
 * @property {[number, number]} [range] of the colours, where other viewers share it
 */
/** @typedef {Pane & {canvas: HTMLCanvasElement, cursor: HTMLElement, scroller: HTMLElement, figure: HTMLElement}} DrawnPane */

/** The least width of a cell with its number. */
const LABELLED = 30;
/** @type {[number, string][]} */
const NOT_FINITE = [
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "∞"],
  [Number.NEGATIVE_INFINITY, "-∞"],
];

/** Panes of one shape with a choice of planes, a cursor that all of them share, its readout and a legend. */
export class Viewer {
  /** @type {[number, number]} */
  cell = [0, 0];
  width = 0;

  /** @param {Options} options */
  constructor({ names, panes, wrong, allowed, range }) {
    const { shape } = panes[0].grid;
    this.layout = layoutOf(shape, names.length);
    this.wrong = wrong ?? null;
    this.allowed = allowed;
    this.range = range ?? rangeOf(panes.filter((pane) => !pane.diverging).map((pane) => pane.grid));
    const [low, high] = rangeOf(panes.filter((pane) => pane.diverging).map((pane) => pane.grid));
    this.reach = Math.max(Math.abs(low), Math.abs(high));
    this.cursor = Math.max(wrong?.indexOf(1) ?? 0, 0);
    this.panes = panes.map((pane) => this.makePane(pane));
    const start = indexOf(shape, this.cursor).slice(0, this.layout.leading);
    this.selects = start.map((at, axis) => this.makeSelect(axis, at));
    this.inPlane = el("span", { class: "muted" });
    this.readout = el("output", { class: "readout", "aria-live": "polite" });
    this.legend = el("div", { class: "legend" });
    const labels = this.selects.map((select, axis) =>
      el("label", {}, names[axis] ?? `axis ${axis - names.length}`, select),
    );
    const slices = el("div", { class: "slices" }, ...labels);
    if (wrong?.includes(1)) {
      const next = button("Next wrong element", () => this.goToWrong(1));
      slices.append(next, this.inPlane);
    }
    const figures = el("div", { class: this.layout.strip ? "panes strips" : "panes" });
    figures.append(...this.panes.map(({ figure }) => figure));
    this.element = el("div", { class: "viewer" }, slices, figures, this.readout, this.legend);
    this.observer = new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width !== this.width) requestAnimationFrame(() => this.draw());
      this.width = contentRect.width;
    });
    this.observer.observe(figures);
    this.read();
  }

  /** Let go of what outlives the elements. */
  remove() {
    this.observer.disconnect();
  }

  /**
   * A title, and a canvas with a cursor that the pointer or the arrow keys move.
   *
   * @param {Pane} pane
   * @returns {DrawnPane}
   */
  makePane(pane) {
    const canvas = el("canvas", { "aria-hidden": "true" });
    const cursor = el("div", { class: "cursor" });
    const label = `${pane.title}; the arrow keys walk, n goes to the next wrong element`;
    const scroller = el(
      "div",
      { class: "scroller", tabindex: 0, role: "application", "aria-label": label },
      canvas,
      cursor,
    );
    const figure = el("figure", { class: "pane" }, el("figcaption", {}, pane.title), scroller);
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerdown", (event) => this.point(event));
    scroller.addEventListener("keydown", (event) => this.press(event));
    scroller.addEventListener("scroll", () => {
      for (const other of this.panes) {
        if (other.scroller.scrollLeft !== scroller.scrollLeft) other.scroller.scrollLeft = scroller.scrollLeft;
      }
    });
    return { ...pane, canvas, cursor, scroller, figure };
  }

  /**
   * The choice of an index of a leading axis; each says how many wrong elements it has.
   *
   * @param {number} axis
   * @param {number} at
   */
  makeSelect(axis, at) {
    const options = marksAlong(this.wrong, this.layout.shape, axis).map((wrong, index) =>
      el("option", { value: index }, wrong > 0 ? `${index}, ${formatCount(wrong)} wrong` : `${index}`),
    );
    const select = el("select", { "data-axis": axis, disabled: options.length < 2 }, ...options);
    select.value = String(at);
    select.addEventListener("change", () => this.showChosen());
    return select;
  }

  get start() {
    return planeStart(this.layout, this.cursor);
  }

  /** Show the plane that is chosen, the cursor where it was within the plane. */
  showChosen() {
    const strides = this.selects.map((select, axis) => Number(select.value) * strideOf(this.layout.shape, axis));
    this.cursor = strides.reduce((sum, stride) => sum + stride, 0) + this.cursor - this.start;
    this.draw();
    this.read();
  }

  /**
   * Put the cursor on an element, in whatever plane it is.
   *
   * @param {number} element
   */
  goTo(element) {
    const before = this.start;
    this.cursor = element;
    if (this.start !== before) {
      const index = indexOf(this.layout.shape, element);
      this.selects.forEach((select, axis) => {
        select.value = String(index[axis]);
      });
      this.draw();
    }
    this.placeCursor();
    this.read();
  }

  /** @param {1 | -1} direction */
  goToWrong(direction) {
    if (this.wrong) this.goTo(nextMark(this.wrong, this.cursor, direction));
  }

  /** @param {PointerEvent} event */
  point(event) {
    const { rows, columns } = this.layout;
    const column = Math.floor(event.offsetX / this.cell[0]);
    const row = Math.floor(event.offsetY / this.cell[1]);
    if (column >= 0 && row >= 0 && column < columns && row < rows) this.goTo(this.start + row * columns + column);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") this.goToWrong(1);
    if (event.key === "p") this.goToWrong(-1);
    const element = moveCursor(this.layout, this.cursor, event.key);
    if (element === null) return;
    event.preventDefault();
    this.goTo(element);
  }

  /** Say what is under the cursor. */
  read() {
    const element = this.cursor;
    const facts = [["index", formatShape(indexOf(this.layout.shape, element))]];
    if (this.wrong) {
      facts.push(["element", this.wrong[element] ? "✗ wrong" : "✓ as owed"]);
      facts.push(["allowed", this.allowed ? formatFloat32(this.allowed.values[element]) : "0"]);
    }
    for (const { title, grid } of this.panes)
      facts.push([title.split(/[ ,]/u)[0], formatFloat32(grid.values[element])]);
    this.readout.replaceChildren(
      ...facts.map(([name, value]) => el("span", { title: value }, el("b", {}, `${name} `), value)),
    );
  }

  /** Draw the plane in all panes. */
  draw() {
    const width = this.panes[0].scroller.clientWidth;
    if (width === 0) return;
    this.cell = cellSize(this.layout, width - 4);
    for (const pane of this.panes) this.drawPane(pane);
    if (this.wrong) {
      const here = countMarks(this.wrong.subarray(this.start, this.start + this.layout.size));
      this.inPlane.textContent = `${formatCount(here)} of ${formatCount(countMarks(this.wrong))} wrong elements are in this slice`;
    }
    this.drawLegend();
    this.placeCursor();
  }

  /**
   * @param {number} value finite
   * @param {boolean} [diverging]
   */
  colour(value, diverging) {
    return diverging
      ? colourOf(differences(isDark()), value, [-this.reach, this.reach])
      : colourOf(VALUES, value, this.range);
  }

  /** @param {DrawnPane} pane */
  drawPane({ grid: { values }, diverging, canvas }) {
    const [width, height] = this.cell;
    const { rows, columns, size } = this.layout;
    const context = contextOf(canvas, width * columns, height * rows);
    const hatchings = new Map(NOT_FINITE.map(([value]) => [value, hatching(context, value)]));
    context.font = "11px ui-monospace, Menlo, Consolas, monospace";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let k = 0; k < size; k++) {
      const value = values[this.start + k];
      const [x, y] = [(k % columns) * width, Math.floor(k / columns) * height];
      const colour = Number.isFinite(value) ? this.colour(value, diverging) : null;
      context.fillStyle = colour ? css(colour) : (hatchings.get(value) ?? "");
      context.fillRect(x, y, width, height);
      if (diverging && this.wrong?.[this.start + k]) drawMark(context, [x, y], this.cell, colour);
      if (colour && width >= LABELLED) {
        context.fillStyle = inkOn(colour);
        context.fillText(formatWithin(value, Math.floor((width - 6) / 6.7)), x + width / 2, y + height / 2);
      }
    }
  }

  /** Put the cursor's frame around its element in every pane, in view. */
  placeCursor() {
    const [width, height] = this.cell;
    if (width === 0) return;
    const within = this.cursor - this.start;
    const [x, y] = [(within % this.layout.columns) * width, Math.floor(within / this.layout.columns) * height];
    for (const { cursor, scroller } of this.panes) {
      Object.assign(cursor.style, {
        width: `${width}px`,
        height: `${height}px`,
        transform: `translate(${x}px, ${y}px)`,
      });
      const right = x + width + 4 - scroller.clientWidth;
      if (x < scroller.scrollLeft) scroller.scrollLeft = x;
      else if (right > scroller.scrollLeft) scroller.scrollLeft = right;
    }
  }

  /** Say what the colours mean. */
  drawLegend() {
    const [low, high] = this.range.map(formatFloat32);
    const entries = [scaleOf("values", VALUES, low, high)];
    if (this.wrong) {
      const scale = differences(isDark());
      const reach = formatFloat32(Math.fround(this.reach));
      entries.push(scaleOf("difference", scale, `-${reach}`, reach));
      if (this.wrong.includes(1)) {
        const small = Math.min(...this.cell) < OUTLINED;
        const swatch = swatchOf((context) => {
          context.fillStyle = css(scale[128]);
          context.fillRect(0, 0, SWATCH, SWATCH);
          drawMark(context, [0, 0], small ? this.cell : [SWATCH, SWATCH], scale[128]);
        });
        entries.push(el("span", {}, swatch, small ? "filled: wrong" : "outlined: wrong"));
      }
    }
    for (const [value, name] of NOT_FINITE) {
      if (!this.panes.some(({ grid }) => grid.values.some((other) => Object.is(other, value)))) continue;
      const swatch = swatchOf((context) => {
        context.fillStyle = hatching(context, value);
        context.fillRect(0, 0, SWATCH, SWATCH);
      });
      entries.push(el("span", {}, swatch, name));
    }
    this.legend.replaceChildren(...entries);
  }
}
