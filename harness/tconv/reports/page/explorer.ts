import type { State } from "./address.js";
import { caseColumns, casesOf, differingFacts, recordColumns } from "./columns.js";
import { download } from "./downloads.js";
import { button, byId, el, enlargement } from "./elements.js";
import { FacetRail, makeChips } from "./facets.js";
import { COUNTED, makeMatrix } from "./matrix.js";
import { nearestCases } from "./nearest.js";
import { type CaseRecord, type PageData, shownFacets } from "./page_data.js";
import { hintOf } from "./query_hint.js";
import { type Selection, select } from "./selection.js";
import { type Column, LongTable } from "./table.js";
import { formatCount } from "./text.js";

// The explorer: the query, the rail of facets, and what they leave as a matrix, as cases by backends or as records.

const VIEWS = ["cases", "records", "matrix"];

interface ExplorerOptions {
  refine: (changes: State) => void; // changes the state in place
  go: (changes: State) => void; // changes the state with a step of the history
  linkTo: (record: number) => string;
}

export class Explorer {
  selection: Selection = { shown: new Uint32Array(), counts: new Map(), terms: [] };
  state: State = {};
  readonly query = byId("query", HTMLInputElement);
  readonly go: ExplorerOptions["go"];
  readonly linkTo: ExplorerOptions["linkTo"];
  readonly table: LongTable;
  readonly rail: FacetRail;
  readonly cases: Column[];
  readonly views: string[];
  readonly tabs: HTMLButtonElement[];
  readonly axes: { name: string; list: HTMLSelectElement }[];

  constructor(
    readonly data: PageData,
    { refine, go, linkTo }: ExplorerOptions,
  ) {
    this.linkTo = linkTo;
    this.go = go;
    this.table = new LongTable(byId("table", HTMLTableElement), (column) => {
      refine({ sort: this.#order() === column ? `-${column}` : column });
    });
    this.rail = new FacetRail(byId("facets", HTMLElement), data, (q) => go({ q }));
    this.cases = caseColumns(data, linkTo);
    this.views = VIEWS.filter((view) => view !== "cases" || data.runs.length > 1);
    this.tabs = this.views.map((view) => button(view, () => go({ view }), { value: view }));
    const smallest = button("smallest first", () => refine({ sort: this.#order() === "size" ? "" : "size" }));
    const files = (["csv", "jsonl"] as const).map((kind) =>
      button(kind.toUpperCase(), () => download(data, this.selection.shown, kind), { title: "download these records" }),
    );
    byId("views", HTMLElement).append(...this.tabs);
    byId("views", HTMLElement).after(smallest, ...files);
    byId("call", HTMLTextAreaElement).addEventListener("input", ({ target }) => {
      if (target instanceof HTMLTextAreaElement) this.#showNearest(target.value);
    });
    const facets = shownFacets(data.facets).map(({ name }) => name);
    this.axes = [
      this.#makeSelect("down", "rows", facets, refine),
      this.#makeSelect("across", "columns", facets, refine),
      this.#makeSelect("count", "count", COUNTED, refine),
    ];
    this.query.addEventListener("input", () => refine({ q: this.query.value }));
  }

  /** The view that the state asks for; with several runs, cases by backends say most. */
  get view() {
    return this.views.find((view) => view === this.state.view) ?? this.views[0];
  }

  show(state: State) {
    this.state = state;
    const query = state.q ?? "";
    this.selection = select(this.data, query, this.#order());
    if (this.query.value !== query) this.query.value = query;
    const chips = makeChips(query, this.data, (q) => this.go({ q }));
    byId("chips", HTMLElement).replaceChildren(...chips);
    this.rail.show(this.selection, query);
    this.tabs.forEach((tab, number) => {
      tab.setAttribute("aria-pressed", String(this.views[number] === this.view));
    });
    this.#showFound();
    this.layOut();
  }

  /** Show what the query leaves, in the view and for the width of now. */
  layOut() {
    const matrix = this.view === "matrix";
    byId("table", HTMLTableElement).hidden = matrix;
    byId("matrix", HTMLElement).hidden = !matrix;
    byId("axes", HTMLElement).hidden = !matrix;
    if (matrix) this.#showMatrix();
    else this.#showTable();
  }

  #showFound() {
    const { shown } = this.selection;
    const cases = casesOf(this.data, shown).length;
    const records = shown.length === cases ? "" : ` (${formatCount(shown.length)} records)`;
    byId("found", HTMLOutputElement).value = `${formatCount(cases)} ${cases === 1 ? "case" : "cases"}${records}`;
    const none = byId("none", HTMLElement);
    none.hidden = shown.length > 0;
    if (!none.hidden) none.textContent = `No record is like that. ${hintOf(this.state.q ?? "", this.data)}`.trim();
  }

  /** List the cases that are nearest to a call. */
  #showNearest(text: string) {
    const { cases, attributes } = nearestCases(text, this.data);
    const items = cases.map(({ at, same }) => {
      const record = this.data.worstOf(at);
      const link = el("a", { href: this.linkTo(record.number) }, el("code", {}, record.id));
      const symbol = el("span", { class: record.status }, `${record.symbol} ${record.status} `);
      return el("li", {}, symbol, link, ` ${same} of ${attributes} attributes`);
    });
    byId("nearest", HTMLUListElement).replaceChildren(...items);
  }

  #showTable() {
    const { shown } = this.selection;
    const { table } = this.table;
    const byCase = this.view === "cases";
    table.classList.toggle("by-case", byCase);
    table.style.setProperty("--runs", String(this.data.runs.length));
    table.setAttribute("aria-label", byCase ? "Cases by backends" : "Records");
    if (byCase) {
      this.table.show(casesOf(this.data, shown), this.cases, this.#order());
      return;
    }
    const width = (table.parentElement?.clientWidth ?? 0) / enlargement();
    const facts = differingFacts(this.data, this.selection, width);
    this.table.show(shown, recordColumns(this.data, facts, this.linkTo, width), this.#order());
  }

  #showMatrix() {
    const { down, across, count } = this.#axes();
    const facets = this.data.facets;
    const [rows, columns] = [facets.get(down), facets.get(across)];
    if (!(rows && columns)) return;
    const query = this.state.q ?? "";
    const made = makeMatrix(this.data, this.selection.shown, {
      down: rows,
      across: columns,
      count,
      query,
      go: (q) => this.go({ q }),
      open: (q) => this.go({ q, view: this.views[0] }),
    });
    byId("matrix", HTMLElement).replaceChildren(made);
    for (const { name, list } of this.axes) list.value = { down, across, count }[name] ?? "";
  }

  /** What the matrix shows where the state does not say: what is worst, by topic and backend. */
  #axes() {
    const several = this.data.runs.length > 1;
    const failed = (this.selection.counts.get("status")?.[0] ?? 0) > 0;
    const {
      down = "topic",
      across = several ? "backend" : "dtype",
      count = failed ? "failed" : "deviating",
    } = this.state;
    return { down, across, count };
  }

  #order() {
    return this.state.sort || "status";
  }

  #makeSelect(name: string, label: string, values: string[], refine: (changes: State) => void) {
    const list = el("select", {}, ...values.map((value) => el("option", { value }, value)));
    list.addEventListener("change", () => refine({ [name]: list.value }));
    byId("axes", HTMLElement).append(el("label", {}, `${label} `, list));
    return { name, list };
  }

  /** The place of a record in the list, and its neighbours there: records, or cases, each by its own record. */
  neighbours(record: number) {
    const { items } = this.table;
    const byCase = this.view === "cases";
    const list = this.view === "matrix" ? this.selection.shown : items;
    const index = list.indexOf(byCase ? this.data.columns.case[record] : record);
    const at = (place: number) => {
      if (index < 0 || place < 0 || place >= list.length) return null;
      return byCase ? this.data.worstOf(list[place]) : this.data.record(list[place]);
    };
    return { index, length: list.length, previous: at(index - 1), next: at(index + 1) };
  }

  /** Mark the record that is open. */
  mark(record: CaseRecord | null) {
    this.table.mark(this.#itemOf(record));
  }

  /** Scroll a record into view, and return its link. */
  reveal(record: CaseRecord | null, place: "nearest" | "center") {
    return this.view === "matrix" ? null : this.table.reveal(this.#itemOf(record), place);
  }

  /** What of the list a record is in: its case where the list is of cases. */
  #itemOf(record: CaseRecord | null) {
    if (!record) return -1;
    return this.view === "cases" ? record.caseNumber : record.number;
  }
}
