import type { State } from "./address.js";
import { renderCase } from "./case.js";
import { caseView } from "./case_data.js";
import { button, byId, copyButton, el, foldable, note } from "./elements.js";
import type { Explorer } from "./explorer.js";
import { openCase } from "./opened_case.js";
import type { CaseRecord, PageData } from "./page_data.js";
import { partition } from "./patterns.js";
import { formatCount } from "./text.js";

// The dialog around the view of a case: its bar, its opening and closing, the focus.

type PanelOptions = { explorer: Explorer; goTo: (record: CaseRecord) => void; close: () => void };

const narrow = matchMedia("(max-width: 60rem)");

export class CasePanel {
  opened: CaseRecord | null = null;
  shown: ReturnType<typeof renderCase> | null = null;
  /** What was clicked to open it, if that is not in the explorer, and how far the page was scrolled. */
  opener: { element: HTMLElement; top: number } | null = null;
  readonly title = document.title;

  readonly dialog = byId("detail", HTMLDialogElement);
  readonly explorer: Explorer;
  readonly goTo: PanelOptions["goTo"];
  readonly close: PanelOptions["close"];

  constructor(
    readonly data: PageData,
    { explorer, goTo, close }: PanelOptions,
  ) {
    this.explorer = explorer;
    this.goTo = goTo;
    this.close = close;
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      close();
    });
  }

  /** Open, change or close the dialog as the state says. */
  async show(state: State) {
    const record = state.case ? this.data.find(state.case, state.run ?? "") : null;
    if (record?.number === this.opened?.number && (record || !state.case)) return;
    const before = this.opened;
    const { activeElement } = document;
    if (!before && activeElement instanceof HTMLElement && activeElement.closest("main > :not(#records)"))
      this.opener = { element: activeElement, top: scrollY };
    this.opened = record;
    this.explorer.mark(record);
    const view = record ? caseView(await openCase(this.data, record), this.data) : null;
    // While the blocks were opened, the reader may have gone on.
    if (record !== this.opened) return;
    this.shown = null;
    // The dialog covers all but the bar at the top; what is under it is for no key and no screen reader.
    for (const covered of document.querySelectorAll("body > :is(main, footer)"))
      covered.toggleAttribute("inert", Boolean(state.case));
    if (!state.case) return this.#leave(before);
    const content = el("div", {});
    this.#open(state.case, content, before);
    if (view) this.shown = renderCase(content, view);
    else content.append(note("No record of this report has this id."));
  }

  draw() {
    this.shown?.draw();
  }

  /** Go on to the neighbour of the open record. */
  step(direction: 1 | -1) {
    const { previous, next } = this.explorer.neighbours(this.opened?.number ?? -1);
    const record = direction > 0 ? next : previous;
    if (record) this.goTo(record);
  }

  /** Fill the dialog and open it; `before` was open. */
  #open(id: string, content: Node, before: CaseRecord | null) {
    const { dialog, explorer, opened } = this;
    const pressed = dialog.contains(document.activeElement) && document.activeElement?.getAttribute("aria-label");
    dialog.replaceChildren(this.#makeBar(), makeHead(id), content);
    document.body.classList.add("opened");
    if (opened) document.title = `${opened.run.title}: ${opened.kind}, ${id}`;
    if (!dialog.open && narrow.matches) dialog.showModal();
    else if (!dialog.open) dialog.show();
    dialog.scrollTop = 0;
    if (!this.opener) explorer.reveal(opened, before ? "nearest" : "center");
    const again = pressed && dialog.querySelector(`.panel-bar [aria-label="${pressed}"]:enabled`);
    const focused = again instanceof HTMLElement ? again : byId("detail-head", HTMLElement);
    focused.focus({ preventScroll: true });
  }

  #leave(before: CaseRecord | null) {
    this.dialog.close();
    document.body.classList.remove("opened");
    document.title = this.title;
    const { opener } = this;
    this.opener = null;
    if (!opener) return this.explorer.reveal(before, "nearest")?.focus({ preventScroll: true });
    scrollTo({ top: opener.top });
    opener.element.focus({ preventScroll: true });
  }

  /** Where the record stands among those shown, its neighbours, its link. */
  #makeBar() {
    const close = button("Close", this.close);
    if (!this.opened) return el("div", { class: "panel-bar" }, el("span", { class: "place" }), close);
    const { index, length, previous, next } = this.explorer.neighbours(this.opened.number);
    const place = index < 0 ? "not among those shown" : `${formatCount(index + 1)} of ${formatCount(length)}`;
    return el(
      "div",
      { class: "panel-bar" },
      el("span", { class: "place" }, place),
      this.#makeNeighbour("←", "Previous record", previous),
      this.#makeNeighbour("→", "Next record", next),
      copyButton("Copy link", () => location.href),
      close,
    );
  }

  #makeNeighbour(arrow: string, name: string, record: CaseRecord | null) {
    const act = () => record && this.goTo(record);
    return button(arrow, act, { "aria-label": name, title: name, disabled: !record });
  }
}

function makeHead(id: string) {
  const [path, labels] = partition(id, "[");
  const head = el("h2", { id: "detail-head", tabindex: -1 }, el("span", {}, path));
  if (labels) head.append(el("span", { class: "labels" }, ...foldable(`[${labels}`)));
  return head;
}
