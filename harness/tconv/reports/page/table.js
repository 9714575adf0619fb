import { el } from "./elements.js";
import { partition } from "./patterns.js";

/*
 * The table of records. It has elements only for the rows near the view, and their number tells assistive software where
 * they are.
 */

/** @import { CaseRecord } from "./records.js" */

/** The most rows on paper; page.css says so where there are more. */
const PRINTED = 1000;
/** Rows beyond the view that are made, so that scrolling shows no gap. */
const MARGIN = 6;
/** Rows that are made also where the overview fills the view: the keyboard reaches them next. */
const FIRST = 12;

/** @type {[string, string][]} */
const COLUMNS = [
  ["status", "status"],
  ["kind", "verdict"],
  ["case", "case"],
  ["phrase", "detail"],
  ["backend", "backend"],
  ["seconds", "seconds"],
];

export class RecordTable {
  /** @type {readonly CaseRecord[]} */
  records = [];
  /** @type {CaseRecord | null} */
  current = null;

  /**
   * @param {HTMLTableElement} table
   * @param {object} options
   * @param {boolean} options.several whether there are several runs
   * @param {(record: CaseRecord) => string} options.linkTo
   * @param {(column: string) => void} options.onSort
   */
  constructor(table, { several, linkTo, onSort }) {
    this.table = table;
    this.linkTo = linkTo;
    this.body = table.tBodies[0];
    this.columns = COLUMNS.filter(([key]) => several || key !== "backend");
    this.heads = this.columns.map(([key, label]) => {
      const sorter = el("button", { type: "button" }, label);
      sorter.addEventListener("click", () => onSort(key));
      return el("th", { role: "columnheader", scope: "col", class: key }, sorter);
    });
    table.rows[0].append(...this.heads);
    table.classList.toggle("several", several);
    this.body.addEventListener("click", (event) => this.#click(event));
    this.body.addEventListener("keydown", (event) => this.#press(event));
  }

  /** @param {readonly CaseRecord[]} records */
  show(records) {
    this.records = records;
    this.table.setAttribute("aria-rowcount", String(records.length + 1));
    this.clear();
    this.render();
  }

  /**
   * Say by which column the records are sorted, with a minus before it where that is descending.
   *
   * @param {string} order
   */
  showOrder(order) {
    for (const head of this.heads) {
      head.removeAttribute("aria-sort");
      if (order === head.className) head.setAttribute("aria-sort", "ascending");
      if (order === `-${head.className}`) head.setAttribute("aria-sort", "descending");
    }
  }

  /**
   * Mark the row of the record that is open.
   *
   * @param {CaseRecord | null} record
   */
  mark(record) {
    this.current = record;
    this.body.querySelector("[aria-current]")?.removeAttribute("aria-current");
    if (record) this.#rowAt(this.records.indexOf(record))?.setAttribute("aria-current", "true");
  }

  /** Remove the rows, so that they are made anew. */
  clear() {
    this.body.replaceChildren();
  }

  /**
   * Make the rows in view, a few more, and the row with the focus; every row has its place by its number.
   *
   * @param {boolean} [everything] whether to make as many as go on paper
   */
  render(everything = false) {
    const height = this.#rowHeight();
    this.body.style.height = `${height * this.records.length}px`;
    const top = this.body.getBoundingClientRect().top;
    const first = everything ? 0 : Math.max(0, Math.floor(-top / height) - MARGIN);
    const last = everything ? PRINTED : Math.max(FIRST, Math.ceil((innerHeight - top) / height) + MARGIN);
    this.table.classList.toggle("cut", everything && this.records.length > PRINTED);
    for (const row of [...this.body.rows]) {
      const index = Number(row.dataset.index);
      if ((index < first || index >= last) && !row.contains(document.activeElement)) row.remove();
    }
    let next = this.body.rows.item(0);
    for (let index = first; index < Math.min(last, this.records.length); index++) {
      while (next && Number(next.dataset.index) < index) next = this.body.rows.item(next.sectionRowIndex + 1);
      if (Number(next?.dataset.index) === index) continue;
      const row = this.#makeRow(index);
      row.style.transform = `translateY(${index * height}px)`;
      this.body.insertBefore(row, next);
    }
  }

  /**
   * Scroll a record's row into view, and make it.
   *
   * @param {CaseRecord | null} record
   * @param {"nearest" | "center"} [place]
   * @returns {HTMLAnchorElement | null} its link; null where the filters leave it out
   */
  reveal(record, place = "nearest") {
    const index = record ? this.records.indexOf(record) : -1;
    if (index < 0) return null;
    const height = this.#rowHeight();
    const top = this.body.getBoundingClientRect().top + index * height;
    const above = this.heads[0].getBoundingClientRect().bottom;
    if (place === "center") scrollBy(0, top - innerHeight / 2);
    else if (top < above) scrollBy(0, top - above);
    else if (top + height > innerHeight) scrollBy(0, top + height - innerHeight);
    this.render();
    return this.#rowAt(index)?.querySelector("a") ?? null;
  }

  #rowHeight() {
    return Number.parseFloat(getComputedStyle(this.table).getPropertyValue("--row"));
  }

  /** @param {number} index */
  #rowAt(index) {
    return this.body.querySelector(`[data-index="${index}"]`);
  }

  /** @param {number} index */
  #makeRow(index) {
    const record = this.records[index];
    const [path, labels] = partition(record.id, "[");
    const link = el("a", { href: this.linkTo(record), title: record.id }, el("span", { class: "path" }, path));
    if (labels) link.append(el("span", { class: "labels" }, `[${labels}`));
    /** @type {Map<string, (Node | string)[]>} */
    const cells = new Map([
      ["status", [el("span", { "aria-hidden": "true" }, record.symbol), ` ${record.status}`]],
      ["kind", [record.kind]],
      ["case", [link]],
      ["phrase", [record.phrase]],
      ["backend", record.run.name.split(", ").map((line) => el("span", { class: "path" }, line))],
      ["seconds", [record.seconds?.toFixed(4) ?? ""]],
    ]);
    const current = record === this.current ? "true" : null;
    const row = el("tr", { role: "row", "aria-rowindex": index + 2, "data-index": index, "aria-current": current });
    for (const [key] of this.columns) {
      const style = key === "status" ? `status ${record.status}` : key;
      const title = key === "phrase" && record.phrase;
      row.append(el("td", { role: "cell", class: style, title }, ...(cells.get(key) ?? [])));
    }
    return row;
  }

  /**
   * A click anywhere in a row follows its link, unless it selects text.
   *
   * @param {MouseEvent} event
   */
  #click({ target }) {
    if (!(target instanceof Element) || target.closest("a") || String(getSelection()) !== "") return;
    target.closest("tr")?.querySelector("a")?.click();
  }

  /**
   * The arrow keys go from row to row.
   *
   * @param {KeyboardEvent} event
   */
  #press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target instanceof Element ? event.target.closest("tr") : null;
    if (!(step && row)) return;
    event.preventDefault();
    const index = Math.min(Math.max(Number(row.dataset.index) + step, 0), this.records.length - 1);
    this.reveal(this.records[index])?.focus({ preventScroll: true });
  }
}
