import { formatFragment, parseFragment, type State } from "./address.js";
import { type Block, openBlock } from "./blocks.js";
import { CasePanel } from "./case_panel.js";
import { byId } from "./elements.js";
import { Explorer } from "./explorer.js";
import { type CaseRecord, pageData, type Shared } from "./page_data.js";
import { chosenValues } from "./query.js";

// The page's behaviour: the explorer, and a panel for the record that is open. The address's fragment is the state.

const block: Block<Shared> = await openBlock(byId("data", HTMLScriptElement).textContent);
const data = pageData(block);
const recordsSection = byId("records", HTMLElement);
const form = byId("filters", HTMLFormElement);

let state: State = {};
/** The filters that the explorer shows, as a fragment. */
let filtered = "";

recordsSection.hidden = false;
const explorer = new Explorer(data, { refine, go, linkTo: (number) => formatFragment(stateAt(data.record(number))) });
const panel = new CasePanel(data, {
  explorer,
  goTo: (record) => go(stateAt(record)),
  close: () => go({ case: "", run: "" }),
});

// The state.

/** The state with a record open, under the present filters. */
function stateAt(record: CaseRecord) {
  return { ...state, case: record.id, run: record.run.key };
}

/** Change filters in place: typing leaves no trail in the history. */
function refine(changes: State) {
  state = { ...state, ...changes };
  history.replaceState(null, "", formatFragment(state));
  showRecords();
}

/** Go to a state through the history. */
function go(changes: State) {
  location.hash = formatFragment({ ...state, ...changes });
}

/** Let the page be what the address says. */
function follow() {
  state = parseFragment(location.hash);
  showRecords();
  panel.show(state);
}

/** Filter and sort anew where the filters are not those of the explorer. */
function showRecords() {
  const wanted = formatFragment({ ...state, case: "", run: "" });
  if (wanted === filtered) return;
  filtered = wanted;
  explorer.show(state);
  const [causes, backends] = ["cause", "backend"].map((facet) => chosenValues(state.q ?? "", facet));
  for (const line of document.querySelectorAll(".cause")) {
    line.classList.toggle("chosen", causes.includes(line.getAttribute("data-cause") ?? ""));
    const of = Array.from(line.querySelectorAll("[data-backend]"), (item) => item.getAttribute("data-backend") ?? "");
    line.toggleAttribute("hidden", backends.length > 0 && !backends.some((backend) => of.includes(backend)));
  }
}

// What the reader and the browser do.

function step(direction: 1 | -1) {
  if (panel.opened) panel.step(direction);
  else explorer.table.step(direction);
}

const keys: Partial<Record<string, () => void>> = {
  "/": () => {
    recordsSection.scrollIntoView();
    explorer.query.focus({ preventScroll: true });
  },
  j: () => step(1),
  k: () => step(-1),
};
addEventListener("keydown", (event) => {
  const { key, target, defaultPrevented, ctrlKey, metaKey, altKey } = event;
  if (defaultPrevented || ctrlKey || metaKey || altKey) return;
  if (key === "Escape" && panel.dialog.open) panel.close();
  if (!keys[key] || (target instanceof Element && target.closest("input, select, textarea"))) return;
  event.preventDefault();
  keys[key]();
});
form.addEventListener("submit", (event) => event.preventDefault());
byId("clear", HTMLButtonElement).addEventListener("click", () => go({ q: "" }));
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  recordsSection.scrollIntoView();
  recordsSection.focus();
});
for (const link of document.querySelectorAll('main > :not(#records) a[href^="#"]')) {
  // A case opens over the page, and is closed where it was opened; a filter is followed to its records.
  if (!parseFragment(link.getAttribute("href") ?? "").case)
    link.addEventListener("click", () => recordsSection.scrollIntoView());
}

addEventListener("scroll", () => explorer.table.render(), { passive: true });
addEventListener("resize", () => explorer.layOut());
addEventListener("beforeprint", () => {
  explorer.table.render(true);
  panel.draw();
});
addEventListener("afterprint", () => {
  explorer.table.render();
  panel.draw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => panel.draw());
addEventListener("hashchange", follow);
new ResizeObserver(() => {
  document.documentElement.style.setProperty("--bar", `${form.offsetHeight}px`);
}).observe(form);
follow();
performance.mark("tconv-rows");
