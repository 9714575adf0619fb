import { countMarks, elementAt, indexOf, marksAlong, moveCursor, nextMark, planeStart } from "./arrays.js";
import { isDark } from "./canvas.js";
import { channelTiles, isStrip, largeCell, smallCell } from "./channel_tiles.js";
import { button, el } from "./elements.js";
import { type Fields, firstToShow, marksIn, type Tiled, type Tiling, tileStarts, tilingOf } from "./fields.js";
import { type Shade, shadesOf } from "./shades.js";
import { formatCount } from "./text.js";
import { elementFacts, tileLegend } from "./tile_legend.js";
import { valueTable } from "./value_table.js";

// Arrays as small multiples: for each channel a tile of each field, side by side, or all as text. All tiles share a
// cursor.

export interface TileOptions {
  fields: Fields;
  shown: Tiled[];
  titles: Partial<Record<Tiled, string>>;
  names: string[]; // of the leading axes; spatial ones come after
  label: string;
  judged: boolean; // whether elements may be wrong
  onSelect?: (index: number[]) => void; // takes the index in `expected`
}

type Tile = { canvas: HTMLCanvasElement; tile: number; cell: number };

/** More channels than these scroll in a window of their own. */
const MANY = 16;

export class TileView {
  tiles: Tile[] = [];
  cell = 0;
  /** The tile that is drawn large. */
  focus = 0;
  /** The width that is drawn for, in pixels. */
  room = 0;
  cursor: number;
  readonly fields: Fields;
  readonly tiling: Tiling;
  readonly selects: HTMLSelectElement[];
  readonly place = el("span", { class: "muted" });
  readonly readout = el("output", { class: "tile-readout", "aria-live": "polite" });
  readonly legend = el("div", { class: "legend" });
  readonly body: HTMLElement;
  readonly text = el("div", { class: "value-table", hidden: true });
  readonly asText = el("input", { type: "checkbox" });
  readonly element: HTMLElement;
  readonly observer = new ResizeObserver(() => {
    if (this.element.clientWidth !== this.room) requestAnimationFrame(() => this.draw());
  });

  constructor(readonly options: TileOptions) {
    this.fields = options.fields;
    this.tiling = tilingOf(this.fields.shape);
    this.cursor = firstToShow(this.fields);
    this.selects = this.tiling.chosen.map((axis) => this.makeChoice(axis));
    const marking = options.judged ? ", n and p go to the next and the previous wrong one" : "";
    this.body = el("div", {
      class: "tiles",
      tabindex: 0,
      role: "application",
      "aria-label": `${options.label}; the arrow keys walk over elements${marking}`,
    });
    this.element = el("div", { class: "tile-view" }, this.makeBar(), this.body, this.text, this.readout, this.legend);
    this.body.addEventListener("keydown", (event) => this.press(event));
    this.body.addEventListener("pointermove", (event) => this.point(event));
    this.body.addEventListener("pointerdown", (event) => this.point(event));
    this.observer.observe(this.element);
    this.read();
  }

  /** The choice of slice, of the way to look, and the way to the next wrong element. */
  makeBar() {
    const { names, judged } = this.options;
    const labels = this.tiling.chosen.map((axis, number) =>
      el("label", {}, names[axis] ?? `axis ${axis - names.length}`, this.selects[number]),
    );
    const bar = el("div", { class: "slices" }, ...labels.filter((_, number) => !this.selects[number].disabled));
    if (judged && this.fields.wrong.includes(1))
      bar.append(
        button("Next wrong element", () => this.goToWrong(1)),
        this.place,
      );
    this.asText.addEventListener("change", () => this.draw());
    bar.append(el("label", { class: "as-text" }, this.asText, "as text"));
    return bar;
  }

  makeChoice(axis: number) {
    const { shape, wrong } = this.fields;
    const counts = marksAlong(wrong, shape, axis);
    const options = counts.map((count, at) =>
      el("option", { value: at }, count > 0 ? `${at}, ${formatCount(count)} wrong` : String(at)),
    );
    const select = el("select", { "data-axis": axis, disabled: options.length < 2 }, ...options);
    select.value = String(indexOf(shape, this.cursor)[axis]);
    select.addEventListener("change", () => {
      const index = indexOf(shape, this.cursor);
      index[axis] = Number(select.value);
      this.goTo(elementAt(shape, index));
      this.draw();
    });
    return select;
  }

  get chosen() {
    return this.selects.map((select) => Number(select.value));
  }

  /** The cursor's index in `expected`. */
  get index() {
    return indexOf(this.fields.shape, this.cursor).map((at, axis) => at + this.fields.origin[axis]);
  }

  /** Put the cursor on an element, in whatever slice it is, and tell others. */
  goTo(element: number, tell = true) {
    const before = String(this.chosen);
    this.cursor = element;
    const index = indexOf(this.fields.shape, element);
    this.tiling.chosen.forEach((axis, number) => {
      this.selects[number].value = String(index[axis]);
    });
    if (String(this.chosen) !== before || this.tileOf(element) !== this.focus) this.draw();
    this.placeCursor();
    this.read();
    if (tell) this.options.onSelect?.(this.index);
  }

  /** Put the cursor on an index of `expected`, if the arrays have it. */
  show(index: number[]) {
    const { origin, shape } = this.fields;
    const at = index.map((value, axis) => value - origin[axis]);
    if (at.length !== shape.length || at.some((value, axis) => value < 0 || value >= shape[axis])) return;
    this.goTo(elementAt(shape, at), false);
  }

  goToWrong(direction: 1 | -1) {
    this.goTo(nextMark(this.fields.wrong, this.cursor, direction));
  }

  point({ target, type, offsetX, offsetY }: PointerEvent) {
    const tile = this.tiles.find(({ canvas }) => canvas === target);
    // To pass over another channel does not choose it: it would be drawn large under way.
    if (!tile || (type === "pointermove" && tile.tile !== this.focus)) return;
    const { rows, columns } = this.tiling;
    const [row, column] = [Math.floor(offsetY / tile.cell), Math.floor(offsetX / tile.cell)];
    if (row >= 0 && column >= 0 && row < rows && column < columns)
      this.goTo(this.starts[tile.tile] + row * columns + column);
  }

  press(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n" || event.key === "p") {
      this.goToWrong(event.key === "n" ? 1 : -1);
      event.stopPropagation();
      return;
    }
    const element = moveCursor(this.tiling, this.cursor, event.key);
    if (element === null) return;
    event.preventDefault();
    event.stopPropagation();
    this.goTo(element);
  }

  get starts() {
    return tileStarts(this.fields.shape, this.tiling, this.chosen);
  }

  /** Draw all that is chosen. */
  draw() {
    const room = this.element.clientWidth;
    this.room = room;
    if (room === 0) return;
    const shades = shadesOf(this.fields, isDark());
    this.cell = largeCell(this.tiling, this.options.shown.length, room);
    const { checked } = this.asText;
    this.text.hidden = !checked;
    this.body.hidden = checked;
    this.legend.hidden = checked;
    if (checked) this.text.replaceChildren(valueTable(this.fields, this.starts, this.tiling));
    else this.drawTiles(shades);
    const inSlice = this.starts.reduce((sum, start) => sum + marksIn(this.fields.wrong, start, this.tiling), 0);
    const all = countMarks(this.fields.wrong);
    this.place.textContent =
      inSlice === all
        ? `${formatCount(all)} wrong`
        : `${formatCount(inSlice)} of ${formatCount(all)} wrong elements are in this slice`;
    this.legend.replaceChildren(...tileLegend(this.options, shades, this.cell));
    this.placeCursor();
  }

  /** Draw the channel of the cursor large, and where there are others, all of them small. */
  drawTiles(shades: Record<Tiled, Shade>) {
    this.tiles = [];
    const { starts } = this;
    this.focus = this.tileOf(this.cursor);
    const make: (tile: number, cell: number) => HTMLElement = (tile, cell) => {
      const stacked = cell === this.cell && isStrip(this.tiling);
      const made = channelTiles(this.options, this.tiling, { tile, start: starts[tile], cell, stacked, shades });
      this.tiles.push(...made.canvases.map((canvas) => ({ canvas, tile, cell })));
      return made.element;
    };
    const large = make(this.focus, this.cell);
    large.classList.add("large");
    const small = smallCell(this.tiling, this.cell);
    const others = starts.length > 1 ? starts.map((_, tile) => make(tile, small)) : [];
    const all = el("div", { class: "multiples" }, ...others);
    all.classList.toggle("many", others.length > MANY);
    this.body.replaceChildren(large, ...(others.length > 0 ? [all] : []));
  }

  tileOf(element: number) {
    return Math.max(this.starts.indexOf(planeStart(this.tiling, element)), 0);
  }

  /** Put the cursor's frame around its element in each tile of the channel. */
  placeCursor() {
    const tile = this.tileOf(this.cursor);
    const within = this.cursor - this.starts[tile];
    const { columns } = this.tiling;
    for (const old of this.body.querySelectorAll(".tile-cursor")) old.remove();
    for (const { canvas, tile: number, cell } of this.tiles) {
      if (number !== tile) continue;
      const frame = el("div", { class: "tile-cursor" });
      Object.assign(frame.style, {
        width: `${cell}px`,
        height: `${cell}px`,
        left: `${canvas.offsetLeft + (within % columns) * cell}px`,
        top: `${canvas.offsetTop + Math.floor(within / columns) * cell}px`,
      });
      canvas.after(frame);
    }
  }

  /** Say what is under the cursor. */
  read() {
    const facts = elementFacts(this.options, this.cursor);
    this.readout.replaceChildren(...facts.map(([name, value]) => el("span", {}, el("b", {}, `${name} `), value)));
  }
}
