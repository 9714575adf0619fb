"use strict";

/**
 * Heatmaps of arrays of one shape, side by side: a plane of each at a time, chosen by the leading axes.
 *
 * @typedef {{shape: number[], values: Float32Array}} Grid
 * @typedef {{title: string, grid: Grid, diverging?: boolean}} Pane
 */
const Heatmap = (() => {
  const LARGEST_CELL = 44;
  const LARGEST_PLANE = 440;
  const STRIP = 30;
  const LARGEST_CANVAS = 16384;
  const LABELLED = 30;
  const OUTLINED = 6;

  // ---------------------------------------------------------------- arrays

  /** Bytes from base64. */
  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

  /** Bits, most significant first, as a byte each. */
  function bits(text, length) {
    const packed = bytes(text ?? "");
    return Uint8Array.from({ length }, (_, i) => (packed[i >> 3] >> (7 - (i & 7))) & 1);
  }

  /** A grid from its shape and its base64. */
  const grid = ([shape, text]) => ({ shape, values: new Float32Array(bytes(text).buffer) });

  /** The least and the largest finite number of several grids. */
  function rangeOf(grids) {
    let [low, high] = [Infinity, -Infinity];
    for (const { values } of grids) {
      for (const value of values) {
        if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
      }
    }
    return low <= high ? [low, high] : [0, 0];
  }

  /** A double in as few characters as it takes. */
  const written = (number) => (number && Math.abs(number) < 1e-4 ? number.toExponential() : String(number));

  /** The shortest decimal that means this float32. */
  function decimal(value) {
    if (!Number.isFinite(value)) return String(value);
    for (let digits = 1; digits < 9; digits++) {
      const short = Number(value.toPrecision(digits));
      if (Math.fround(short) === value) return written(short);
    }
    return written(Number(value.toPrecision(9)));
  }

  /** A number in so few characters that it fits a cell; an empty text where none does. */
  function brief(value, room) {
    const exact = Number.isNaN(value) ? "NaN" : Number.isFinite(value) ? decimal(value) : value > 0 ? "∞" : "-∞";
    if (exact.length <= room) return exact;
    const rounded = String(Number(value.toPrecision(2)));
    return rounded.length <= room ? rounded : "";
  }

  // ---------------------------------------------------------------- colours

  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  const dark = () => {
    const theme = document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light");
    return theme === "dark" && !paper.matches;
  };

  /** A table of 256 colours from a few. */
  function palette(stops) {
    return Array.from({ length: 256 }, (_, i) => {
      const place = (i / 255) * (stops.length - 1);
      const low = Math.min(Math.floor(place), stops.length - 2);
      return stops[low].map((channel, k) => Math.round(channel + (stops[low + 1][k] - channel) * (place - low)));
    });
  }

  const PALETTES = {
    values: palette([[68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140], [40, 174, 128],
      [94, 201, 98], [173, 220, 48], [253, 231, 37]]),
    light: palette([[33, 82, 150], [112, 158, 209], [240, 240, 237], [226, 142, 100], [160, 52, 28]]),
    dark: palette([[132, 184, 242], [58, 104, 160], [40, 44, 48], [166, 86, 54], [242, 156, 116]]),
  };
  const css = ([r, g, b]) => `rgb(${r},${g},${b})`;
  /** Black or white, whichever is read on the colour. */
  const ink = ([r, g, b]) => (0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000" : "#fff");

  /** The hatching of what is not finite: crossed for NaN, rising and falling for the infinities. */
  function hatching(context, value) {
    const tile = el("canvas", { width: 6, height: 6 });
    const draw = tile.getContext("2d");
    draw.fillStyle = dark() ? "#4a4f55" : "#d5d5d0";
    draw.fillRect(0, 0, 6, 6);
    draw.strokeStyle = dark() ? "#fff" : "#000";
    if (value !== -Infinity) draw.stroke(new Path2D("M-1 7L7 -1M-1 1L1 -1M5 7L7 5"));
    if (value !== Infinity) draw.stroke(new Path2D("M-1 -1L7 7M5 -1L7 1M-1 5L1 7"));
    return context.createPattern(tile, "repeat");
  }

  /** A canvas of a size in CSS pixels, sharp on the screen at hand, and its context. */
  function sized(canvas, width, height) {
    const ratio = Math.min(devicePixelRatio || 1, LARGEST_CANVAS / Math.max(width, height, 1));
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  // ---------------------------------------------------------------- the viewer

  /** Panes of one shape with their slices, a cursor that all of them share, its readout and a legend. */
  class Viewer {
    /**
     * @param {{names: string[], panes: Pane[], wrong?: Uint8Array, allowed?: Grid, range?: [number, number]}} options
     *   names of the leading axes, spatial ones come after; range of the colours where other viewers share it
     */
    constructor({ names, panes, wrong, allowed, range }) {
      this.shape = panes[0].grid.shape;
      this.names = this.shape.map((_, axis) => names[axis] ?? `axis ${axis - names.length}`);
      const spatial = Math.max(this.shape.length - names.length, 0);
      this.strip = spatial < 2;
      this.leading = this.shape.length - Math.min(spatial, 2);
      this.columns = spatial ? this.shape.at(-1) : 1;
      this.rows = spatial > 1 ? this.shape.at(-2) : 1;
      this.size = this.rows * this.columns;
      Object.assign(this, { wrong, allowed });
      this.values = panes.filter((pane) => !pane.diverging);
      this.range = range ?? rangeOf(this.values.map((pane) => pane.grid));
      const largest = rangeOf(panes.filter((pane) => pane.diverging).map((pane) => pane.grid));
      this.reach = Math.max(Math.abs(largest[0]), Math.abs(largest[1]));
      this.cursor = wrong ? Math.max(wrong.indexOf(1), 0) : 0;
      this.panes = panes.map((pane) => this.makePane(pane));
      this.build();
    }

    /** Put the parts together. */
    build() {
      if (this.shape.includes(0)) {
        this.element = el("p", { class: "told" }, `${this.panes[0].title}: no elements.`);
        return;
      }
      this.selects = this.index(this.cursor).slice(0, this.leading).map((at, axis) => this.makeSelect(axis, at));
      this.inSlice = el("span", { class: "muted" });
      const slices = el("div", { class: "slices" }, ...this.selects.map(({ label }) => label));
      if (this.wrong?.includes(1)) slices.append(button("Next wrong element", () => this.toWrong(1)), this.inSlice);
      this.readout = el("output", { class: "readout", "aria-live": "polite" });
      this.legend = el("div", { class: "legend" });
      const figures = el("div", { class: this.strip ? "panes strips" : "panes" }, ...this.panes.map(({ figure }) => figure));
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
      this.observer?.disconnect();
    }

    /** One pane: a title, and a canvas that is walked with the pointer or the arrow keys. */
    makePane({ title, grid: { values }, diverging }) {
      const canvas = el("canvas", { "aria-hidden": "true" });
      const cursor = el("div", { class: "cursor" });
      const scroller = el("div", {
        class: "scroller", tabindex: 0, role: "application", "aria-label": `${title}; the arrow keys walk, n goes to the next wrong element`,
      }, canvas, cursor);
      const pane = { title, values, diverging, canvas, cursor, scroller };
      pane.figure = el("figure", { class: "pane" }, el("figcaption", {}, title), scroller);
      canvas.addEventListener("pointermove", (event) => this.point(event));
      canvas.addEventListener("pointerdown", (event) => this.point(event));
      scroller.addEventListener("keydown", (event) => this.key(event));
      scroller.addEventListener("scroll", () => {
        for (const other of this.panes) {
          if (other.scroller.scrollLeft !== scroller.scrollLeft) other.scroller.scrollLeft = scroller.scrollLeft;
        }
      });
      return pane;
    }

    /** The choice of a leading axis; each entry tells how many wrong elements it has. */
    makeSelect(axis, at) {
      const wrong = new Array(this.shape[axis]).fill(0);
      const stride = this.stride(axis);
      this.wrong?.forEach((mark, flat) => mark && wrong[Math.floor(flat / stride) % this.shape[axis]]++);
      const select = el("select", { "data-axis": axis, disabled: this.shape[axis] < 2 },
        ...wrong.map((n, i) => el("option", { value: i }, n ? `${i}, ${count(n)} wrong` : `${i}`)));
      select.value = at;
      select.addEventListener("change", () => this.toSlice());
      return { select, label: el("label", {}, this.names[axis], select) };
    }

    /** How many elements one step along an axis passes. */
    stride(axis) {
      return this.shape.slice(axis + 1).reduce((product, size) => product * size, 1);
    }

    /** The index of an element by its number. */
    index(flat) {
      return this.shape.map((size, axis) => Math.floor(flat / this.stride(axis)) % size);
    }

    /** The number of the first element of the slice with the cursor. */
    get base() {
      return Math.floor(this.cursor / this.size) * this.size;
    }

    /** Show the slice that is chosen, the cursor where it was within the slice. */
    toSlice() {
      const first = this.selects.reduce((flat, { select }, axis) => flat + Number(select.value) * this.stride(axis), 0);
      this.cursor = first + (this.cursor % this.size);
      this.draw();
      this.read();
    }

    /** Put the cursor on an element, in whatever slice it is. */
    to(flat) {
      const before = this.base;
      this.cursor = flat;
      if (this.base !== before) {
        this.index(flat).slice(0, this.leading).forEach((at, axis) => (this.selects[axis].select.value = at));
        this.draw();
      }
      this.place();
      this.read();
    }

    /** Go to the next or the previous wrong element, around the ends. */
    toWrong(step) {
      const total = this.wrong?.length ?? 0;
      for (let k = 1; k <= total; k++) {
        const flat = (this.cursor + step * k + total * 2) % total;
        if (this.wrong[flat]) return this.to(flat);
      }
    }

    /** Follow the pointer. */
    point(event) {
      const column = Math.floor(event.offsetX / this.cell[0]);
      const row = Math.floor(event.offsetY / this.cell[1]);
      if (column >= 0 && row >= 0 && column < this.columns && row < this.rows) this.to(this.base + row * this.columns + column);
    }

    /** Walk with the keys. */
    key(event) {
      const [row, column] = [Math.floor((this.cursor % this.size) / this.columns), this.cursor % this.columns];
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -column],
        End: [0, this.columns - 1 - column] }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "n" || event.key === "p") this.toWrong(event.key === "n" ? 1 : -1);
      if (!step) return;
      event.preventDefault();
      const to = [Math.min(Math.max(row + step[0], 0), this.rows - 1), Math.min(Math.max(column + step[1], 0), this.columns - 1)];
      this.to(this.base + to[0] * this.columns + to[1]);
    }

    /** Say what is under the cursor. */
    read() {
      const flat = this.cursor;
      const said = [["index", `[${this.index(flat).join(", ")}]`]];
      if (this.wrong) {
        said.push(["element", this.wrong[flat] ? "✗ wrong" : "✓ as owed"]);
        said.push(["allowed", this.allowed ? decimal(this.allowed.values[flat]) : "0"]);
      }
      for (const { title, values } of this.panes) said.push([title.split(/[ ,]/)[0], decimal(values[flat])]);
      this.readout.replaceChildren(...said.map(([name, value]) => el("span", { title: value }, el("b", {}, `${name} `), value)));
    }

    /** Draw the slice in all panes. */
    draw() {
      if (!this.selects || !this.panes[0].scroller.clientWidth) return;
      const least = this.columns > LARGEST_CANVAS / 4 ? 1 : 3;
      const room = this.panes[0].scroller.clientWidth - 4;
      const tallest = this.strip ? LARGEST_CELL : Math.floor(LARGEST_PLANE / this.rows);
      const width = Math.max(least, Math.min(Math.floor(room / this.columns), LARGEST_CELL, tallest));
      this.cell = [width, this.strip ? STRIP : width];
      for (const pane of this.panes) this.drawPane(pane);
      if (this.wrong) {
        const here = this.wrong.subarray(this.base, this.base + this.size).reduce((sum, mark) => sum + mark, 0);
        const all = this.wrong.reduce((sum, mark) => sum + mark, 0);
        this.inSlice.textContent = `${count(here)} of ${count(all)} wrong elements are in this slice`;
      }
      this.drawLegend();
      this.place();
    }

    /** The colour of a finite value. */
    colour(value, diverging) {
      if (diverging) {
        return PALETTES[dark() ? "dark" : "light"][Math.round(127.5 + (this.reach ? value / this.reach : 0) * 127.5)];
      }
      const [low, high] = this.range;
      return PALETTES.values[Math.round((high > low ? (value - low) / (high - low) : 0.5) * 255)];
    }

    /** Draw one pane's slice. */
    drawPane({ values, diverging, canvas }) {
      const [width, height] = this.cell;
      const context = sized(canvas, width * this.columns, height * this.rows);
      const patterns = new Map([NaN, Infinity, -Infinity].map((value) => [value, hatching(context, value)]));
      context.font = "11px ui-monospace, Menlo, Consolas, monospace";
      context.textAlign = "center";
      context.textBaseline = "middle";
      for (let k = 0; k < this.size; k++) {
        const value = values[this.base + k];
        const [x, y] = [(k % this.columns) * width, Math.floor(k / this.columns) * height];
        const colour = Number.isFinite(value) ? this.colour(value, diverging) : null;
        context.fillStyle = colour ? css(colour) : patterns.get(value);
        context.fillRect(x, y, width, height);
        if (diverging && this.wrong[this.base + k]) this.mark(context, x, y, colour);
        if (colour && width >= LABELLED) {
          context.fillStyle = ink(colour);
          context.fillText(brief(value, Math.floor((width - 6) / 6.7)), x + width / 2, y + height / 2);
        }
      }
    }

    /** Mark a wrong element: an outline, and a corner where there is room; all of the cell where there is none. */
    mark(context, x, y, colour) {
      const [width, height] = this.cell;
      const loud = dark() ? "#fff" : "#000";
      if (Math.min(width, height) < OUTLINED) {
        context.fillStyle = loud;
        context.fillRect(x, y, width, height);
        return;
      }
      context.fillStyle = context.strokeStyle = colour ? ink(colour) : loud;
      context.lineWidth = 1;
      context.strokeRect(x + 1, y + 1, width - 2, height - 2);
      const corner = Math.min(width, height) / 3.5;
      context.fill(new Path2D(`M${x + 1} ${y + 1}h${corner}l${-corner} ${corner}z`));
    }

    /** Put the cursor's frame around its element in every pane, in view. */
    place() {
      if (!this.cell) return;
      const [width, height] = this.cell;
      const within = this.cursor - this.base;
      const [x, y] = [(within % this.columns) * width, Math.floor(within / this.columns) * height];
      for (const { cursor, scroller } of this.panes) {
        Object.assign(cursor.style, { width: `${width}px`, height: `${height}px`, transform: `translate(${x}px, ${y}px)` });
        if (x < scroller.scrollLeft) scroller.scrollLeft = x;
        else if (x + width + 4 > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = x + width + 4 - scroller.clientWidth;
      }
    }

    /** Say what the colours mean. */
    drawLegend() {
      const said = [this.bar("values", PALETTES.values, ...this.range.map(decimal))];
      if (this.wrong) {
        const neutral = PALETTES[dark() ? "dark" : "light"];
        const small = Math.min(...this.cell) < OUTLINED;
        const reach = decimal(Math.fround(this.reach));
        said.push(this.bar("difference", neutral, `-${reach}`, reach));
        if (this.wrong.includes(1)) said.push(el("span", {}, this.swatch((context) => {
          const { cell } = this;
          context.fillStyle = css(neutral[128]);
          context.fillRect(0, 0, 16, 16);
          if (!small) this.cell = [16, 16];
          this.mark(context, 0, 0, neutral[128]);
          this.cell = cell;
        }), small ? "filled: wrong" : "outlined: wrong"));
      }
      for (const [value, name] of [[NaN, "NaN"], [Infinity, "∞"], [-Infinity, "-∞"]]) {
        const there = this.panes.some(({ values }) => values.some((other) => Object.is(other, value)));
        if (there) said.push(el("span", {}, this.swatch((context) => {
          context.fillStyle = hatching(context, value);
          context.fillRect(0, 0, 16, 16);
        }), name));
      }
      this.legend.replaceChildren(...said);
    }

    /** A small square of the legend. */
    swatch(draw) {
      const canvas = el("canvas", { "aria-hidden": "true" });
      draw(sized(canvas, 16, 16));
      return canvas;
    }

    /** A scale of colours between its ends. */
    bar(name, colours, low, high) {
      const canvas = el("canvas", { "aria-hidden": "true" });
      const context = sized(canvas, 128, 10);
      colours.forEach((colour, i) => {
        context.fillStyle = css(colour);
        context.fillRect(i / 2, 0, 1, 10);
      });
      return el("span", {}, `${name} ${low}`, canvas, high);
    }
  }

  return { Viewer, grid, bits, rangeOf };
})();
