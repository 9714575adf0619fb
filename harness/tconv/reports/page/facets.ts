import { button, el } from "./elements.js";
import { type Facet, type PageData, shownFacets } from "./page_data.js";
import { canBeAsked, chosenValues, toggled, wordsOf } from "./query.js";
import { ranksOf, type Selection } from "./selection.js";
import { formatCount } from "./text.js";

// The rail of facets with their counts, and the words of the query as chips that can be taken away.

/** The values of a facet that are shown before the reader asks for all. */
const FEW = 7;
/** Facets that are open from the beginning. */
const OPEN = new Set(["status", "backend", "cause", "verdict", "topic", "dtype", "rank"]);

interface FacetPart {
  facet: Facet;
  details: HTMLDetailsElement;
  list: HTMLUListElement;
  about: HTMLSpanElement;
  ranks: Uint32Array | null;
}

export class FacetRail {
  query = "";
  /** The facets whose values are all shown. */
  readonly whole = new Set<string>();
  selection: Selection | null = null;
  readonly symbols: Map<string, string>;
  readonly parts: FacetPart[];
  readonly search = el("input", { type: "search", placeholder: "find a value", "aria-label": "find a value" });

  constructor(
    rail: HTMLElement,
    data: PageData,
    readonly go: (query: string) => void,
  ) {
    this.symbols = new Map(data.statuses.map(([name, symbol]) => [name, symbol]));
    this.parts = shownFacets(data.facets).map((facet) => this.#makePart(facet));
    this.search.addEventListener("input", () => {
      for (const part of this.parts) this.#fill(part);
    });
    rail.append(this.search, ...this.parts.map(({ details }) => details));
  }

  show(selection: Selection, query: string) {
    this.selection = selection;
    this.query = query;
    for (const part of this.parts) this.#fill(part);
  }

  #makePart(facet: Facet): FacetPart {
    const about = el("span", { class: "muted" });
    const list = el("ul", {});
    const details = el("details", { class: "facet" }, el("summary", {}, facet.name, " ", about), list);
    details.open = OPEN.has(facet.name);
    const part = { facet, details, list, about, ranks: facet.ofCases ? ranksOf(facet.values) : null };
    details.addEventListener("toggle", () => this.#fill(part));
    return part;
  }

  #fill(part: FacetPart) {
    const { facet, details, list, about, ranks } = part;
    const counts = this.selection?.counts.get(facet.name);
    if (!counts) return;
    const chosen = chosenValues(this.query, facet.name);
    const wanted = this.search.value.toLowerCase();
    const present = facet.values
      .map((_, value) => value)
      .filter((v) => counts[v] > 0 || chosen.includes(facet.values[v]))
      .filter((v) => wanted === "" || `${facet.name}=${facet.labels[v]}`.toLowerCase().includes(wanted));
    if (wanted !== "") details.open = true;
    // One value alone tells nothing, unless the reader asked for it.
    details.hidden = present.length < (wanted === "" ? 2 : 1) && chosen.length === 0;
    about.textContent = chosen.length > 0 ? `${chosen.length} chosen` : formatCount(present.length);
    if (!details.open || details.hidden) return;
    const few = present.length > FEW + 1 && !this.whole.has(facet.name);
    if (few) present.sort((a, b) => counts[b] - counts[a]);
    const values = few ? present.slice(0, FEW) : present;
    if (ranks) values.sort((a, b) => ranks[a] - ranks[b]);
    const most = Math.max(1, ...values.map((value) => counts[value]));
    const items = values.map((value) => {
      return this.#makeValue(facet, value, {
        count: counts[value],
        most,
        pressed: chosen.includes(facet.values[value]),
      });
    });
    if (few) items.push(el("li", { class: "more" }, this.#makeMore(part, present.length - FEW)));
    list.replaceChildren(...items);
  }

  #makeMore(part: FacetPart, more: number) {
    return button(`${formatCount(more)} more`, () => {
      this.whole.add(part.facet.name);
      this.#fill(part);
    });
  }

  /** A value of a facet; its bar is as long as `count` is of `most`. */
  #makeValue(
    { name, values, labels }: Facet,
    value: number,
    { count, most, pressed }: { count: number; most: number; pressed: boolean },
  ) {
    const text = values[value];
    const made = button("", () => this.go(toggled(this.query, name, text)), {
      "aria-pressed": String(pressed),
      title: labels[value],
      disabled: !canBeAsked(text),
    });
    const bar = el("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * count) / most}%`;
    const symbol = name === "status" ? this.symbols.get(text) : undefined;
    const mark = symbol ? [el("span", { "aria-hidden": "true", class: text }, `${symbol} `)] : [];
    made.append(bar, el("span", { class: "value" }, ...mark, labels[value] || "(empty)"));
    made.append(el("span", { class: "n" }, formatCount(count)));
    return el("li", {}, made);
  }
}

/** The words of a query, each with a button that takes it away. */
export function makeChips(query: string, data: PageData, go: (query: string) => void) {
  const words = wordsOf(query);
  return words.map((word, place) => {
    const [facet, value] = word.split("=");
    const meaning = data.facets.get(facet)?.labels[data.facets.get(facet)?.values.indexOf(value) ?? -1];
    const said = facet === "cause" && meaning ? `cause ${value}: ${meaning}` : word;
    const remove = button("×", () => go(words.toSpliced(place, 1).join(" ")), { "aria-label": `Remove ${word}` });
    return el("li", { title: said }, el("span", {}, said), remove);
  });
}
