import { el } from "./elements.js";

// A table of very many rows. It has elements only for the rows near the view, and their number tells assistive software
// where they are.

export interface Column {
  name: string; // the sort that its head asks for
  label: string;
  width: string; // as in grid-template-columns
  style?: string; // a class
  title?: string; // of its head
  cell: (item: number) => { content: (Node | string)[]; style?: string; title?: string };
}

/** The most rows on paper; page.css says so where there are more. */
const PRINTED = 100;
/** Rows beyond the view that are made, so that scrolling shows no gap. */
const MARGIN = 6;
/** Rows that are made also where the overview fills the view: the keyboard reaches them next. */
const FIRST = 12;

export class LongTable {
  items: Uint32Array = new Uint32Array();
  columns: Column[] = [];
  current = -1;

  readonly body: HTMLTableSectionElement;

  constructor(
    readonly table: HTMLTableElement,
    readonly onSort: (column: string) => void,
  ) {
    this.body = table.tBodies[0];
    this.body.addEventListener("click", (event) => this.#click(event));
    this.body.addEventListener("keydown", (event) => this.#press(event));
  }

  /** Show records or cases, sorted by the column `order`, with a minus before it where that is descending. */
  show(items: Uint32Array, columns: Column[], order: string) {
    this.items = items;
    this.columns = columns;
    this.table.setAttribute("aria-rowcount", String(items.length + 1));
    this.table.style.setProperty("--columns", columns.map(({ width }) => width).join(" "));
    this.table.rows[0].replaceChildren(...columns.map((column) => this.#makeHead(column, order)));
    this.clear();
    this.render();
  }

  /** Mark the row of the item that is open; below 0 for none. */
  mark(item: number) {
    this.current = item;
    this.body.querySelector("[aria-current]")?.removeAttribute("aria-current");
    this.#rowAt(this.items.indexOf(item))?.setAttribute("aria-current", "true");
  }

  /** Remove the rows, so that they are made anew. */
  clear() {
    this.body.replaceChildren();
  }

  /** Make the rows in view, or as many as go on paper, and keep the row with the focus, left behind in its place. */
  render(everything = false) {
    const height = this.#rowHeight();
    const [first, last] = everything ? [0, PRINTED] : this.#inView(height);
    this.body.style.height = `${height * this.items.length}px`;
    // A place of each row's own would be a style of its own, which the browser finds ever more slowly.
    this.body.style.paddingTop = `${first * height}px`;
    this.table.classList.toggle("cut", everything && this.items.length > PRINTED);
    for (const row of [...this.body.rows]) {
      const index = Number(row.dataset.index);
      const apart = index < first || index >= last;
      if (apart && !row.contains(document.activeElement)) row.remove();
      else if (apart || row.classList.contains("left-behind")) leaveBehind(row, apart ? index * height : null);
    }
    this.#fill(first, Math.min(last, this.items.length));
  }

  /** The first row in view or near it, and the one after the last, by the height of a row. */
  #inView(height: number) {
    const { top } = this.body.getBoundingClientRect();
    const first = Math.max(0, Math.floor(-top / height) - MARGIN);
    return [first, Math.max(FIRST, Math.ceil((innerHeight - top) / height) + MARGIN)];
  }

  /** Make the rows from `first` to before `last` that are not there. */
  #fill(first: number, last: number) {
    let next = this.body.rows.item(0);
    for (let index = first; index < last; index++) {
      while (next && Number(next.dataset.index) < index) next = this.body.rows.item(next.sectionRowIndex + 1);
      if (Number(next?.dataset.index) !== index) this.body.insertBefore(this.#makeRow(index), next);
    }
  }

  /** Scroll an item's row into view, make it and return its link; null where the filters leave it out. */
  reveal(item: number, place: "nearest" | "center" = "nearest"): HTMLAnchorElement | null {
    return this.revealRow(this.items.indexOf(item), place);
  }

  revealRow(index: number, place: "nearest" | "center" = "nearest") {
    if (index < 0 || index >= this.items.length) return null;
    const height = this.#rowHeight();
    const top = this.body.getBoundingClientRect().top + index * height;
    const above = this.table.rows[0].getBoundingClientRect().bottom;
    if (place === "center") scrollBy(0, top - innerHeight / 2);
    else if (top < above) scrollBy(0, top - above);
    else if (top + height > innerHeight) scrollBy(0, top + height - innerHeight);
    this.render();
    return this.#rowAt(index)?.querySelector("a") ?? null;
  }

  /** Go a number of rows on from the row with the focus; to the first where none has it. */
  step(step: number) {
    const row = document.activeElement?.closest("tr");
    const index = row && this.body.contains(row) ? Number(row.dataset.index) + step : 0;
    this.revealRow(Math.min(Math.max(index, 0), this.items.length - 1))?.focus({ preventScroll: true });
  }

  #rowHeight() {
    return Number.parseFloat(getComputedStyle(this.table).getPropertyValue("--row"));
  }

  #makeHead({ name, label, style, title }: Column, order: string) {
    const sorter = el("button", { type: "button", title: title ?? null }, label);
    sorter.addEventListener("click", () => this.onSort(name));
    const sorted = { [name]: "ascending", [`-${name}`]: "descending" }[order] ?? null;
    return el("th", { role: "columnheader", scope: "col", class: style ?? name, "aria-sort": sorted }, sorter);
  }

  #rowAt(index: number) {
    return this.body.querySelector(`[data-index="${index}"]`);
  }

  #makeRow(index: number) {
    const item = this.items[index];
    const current = item === this.current ? "true" : null;
    const row = el("tr", { role: "row", "aria-rowindex": index + 2, "data-index": index, "aria-current": current });
    for (const column of this.columns) {
      const { content, style = "", title = null } = column.cell(item);
      row.append(el("td", { role: "cell", class: `${column.style ?? column.name} ${style}`, title }, ...content));
    }
    return row;
  }

  /** A click anywhere in a row follows its link, unless it selects text. */
  #click({ target }: MouseEvent) {
    if (!(target instanceof Element) || target.closest("a") || String(getSelection()) !== "") return;
    target.closest("tr")?.querySelector("a")?.click();
  }

  /** The arrow keys go from row to row. */
  #press(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.step(step);
  }
}

/** Take a row out of the flow to a place, or with null put it back. */
function leaveBehind(row: HTMLTableRowElement, top: number | null) {
  row.classList.toggle("left-behind", top !== null);
  row.style.top = top === null ? "" : `${top}px`;
}
