import { FILTERS, formatFragment, parseFragment } from "./address.js";
import { renderCase } from "./case.js";
import { caseView } from "./case_data.js";
import { button, byId, copyButton, el, note } from "./elements.js";
import { partition } from "./patterns.js";
import { CaseRecord, findRecord, selectRecords } from "./records.js";
import { RecordTable } from "./table.js";
import { formatCount } from "./text.js";

/*
 * The page's behaviour: filters over the table of records, and a panel for the record that is open. The address's fragment
 * is the state.
 */

/** @import { State } from "./address.js" */
/** @import { PageData } from "./records.js" */

/** @type {PageData} */
const data = JSON.parse(byId("data", HTMLScriptElement).textContent);
const records = data.rows.map((_, number) => new CaseRecord(data, number));
const narrow = matchMedia("(max-width: 60rem)");
const panel = byId("detail", HTMLDialogElement);
const recordsSection = byId("records", HTMLElement);
const form = byId("filters", HTMLFormElement);
const query = byId("query", HTMLInputElement);
const clear = byId("clear", HTMLButtonElement);
const theme = byId("theme", HTMLSelectElement);

/** @type {State} */
let state = {};
/** The filters that the table shows, as a fragment. */
let filtered = "";
/** @type {CaseRecord | null} */
let opened = null;
/** @type {ReturnType<typeof renderCase> | null} */
let shownCase = null;

const table = new RecordTable(byId("table", HTMLTableElement), {
  several: data.runs.length > 1,
  linkTo: (record) => formatFragment(stateAt(record)),
  onSort: (column) => refine({ sort: (state.sort || "status") === column ? `-${column}` : column }),
});

// The state.

/**
 * The state with a record open, under the present filters.
 *
 * @param {CaseRecord} record
 */
function stateAt(record) {
  return { ...state, case: record.id, run: record.run.key };
}

/**
 * Change filters in place: typing leaves no trail in the history.
 *
 * @param {State} changes
 */
function refine(changes) {
  state = { ...state, ...changes };
  history.replaceState(null, "", formatFragment(state));
  showRecords();
  showControls();
}

/**
 * Go to a state through the history.
 *
 * @param {State} values
 */
function go(values) {
  location.hash = formatFragment(values);
}

/** Let the page be what the address says. */
function follow() {
  state = parseFragment(location.hash);
  showRecords();
  showControls();
  showPanel();
}

// The filters and the table.

const chips = data.statuses.map(([status, symbol]) => {
  const input = el("input", { type: "checkbox", value: status });
  const number = el("span", { class: "muted" });
  input.addEventListener("change", () => {
    const checked = chips.filter((chip) => chip.input.checked);
    refine({ status: checked.map((chip) => chip.status).join(",") });
  });
  const mark = el("span", { "aria-hidden": "true", class: status }, symbol);
  byId("statuses", HTMLFieldSetElement).append(el("label", { class: "chip" }, input, mark, status, number));
  return { status, input, number };
});

const kinds = data.kinds.filter((kind) => records.some((record) => record.kind === kind));
const topics = [...new Set(records.map((record) => record.topic))].sort();
const keys = data.runs.map(({ key }) => key);
const names = data.runs.map(({ name }) => name);
const lists = [
  makeList("kind", "verdict", kinds),
  makeList("topic", "topic", topics),
  makeList("backend", "backend", keys, names),
];

/**
 * Fill a list with what a filter may be, and let it refine the state.
 *
 * @param {string} id
 * @param {string} filter
 * @param {string[]} values
 * @param {string[]} texts what the reader sees of the values
 */
function makeList(id, filter, values, texts = values) {
  const list = byId(id, HTMLSelectElement);
  const options = values.map((value, index) => el("option", { value }, texts[index]));
  list.append(el("option", { value: "" }, "any"), ...options);
  list.addEventListener("change", () => refine({ [filter]: list.value }));
  return { list, filter };
}

/** Filter and sort anew where the filters are not those of the table. */
function showRecords() {
  const wanted = formatFragment({ ...state, case: "", run: "" });
  if (wanted === filtered) return;
  filtered = wanted;
  const { shown, counts } = selectRecords(records, state);
  const total = formatCount(records.length);
  const found = shown.length === records.length ? total : `${formatCount(shown.length)} of ${total}`;
  byId("found", HTMLOutputElement).value = found;
  byId("none", HTMLElement).hidden = shown.length > 0;
  for (const { status, number } of chips) number.textContent = formatCount(counts.get(status) ?? 0);
  table.show(shown);
}

/** Let the controls say what the state is. */
function showControls() {
  const statuses = (state.status ?? "").split(",");
  for (const { status, input } of chips) input.checked = statuses.includes(status);
  if (query.value !== (state.q ?? "")) query.value = state.q ?? "";
  for (const { list, filter } of lists) list.value = state[filter] ?? "";
  clear.disabled = !FILTERS.some((name) => state[name]);
  table.showOrder(state.sort || "status");
}

// The panel.

/** Open, change or close the panel as the state says. */
function showPanel() {
  const record = findRecord(records, state);
  if (record === opened && (record || !state.case)) return;
  const pressed = panel.contains(document.activeElement) && document.activeElement?.getAttribute("aria-label");
  const before = opened;
  opened = record;
  table.mark(record);
  shownCase?.remove();
  shownCase = null;
  for (const other of document.querySelectorAll("body > :is(main, footer)"))
    other.toggleAttribute("inert", Boolean(state.case));
  if (!state.case) {
    panel.close();
    document.body.classList.remove("opened");
    table.reveal(before)?.focus({ preventScroll: true });
    return;
  }
  if (record) {
    panel.replaceChildren(makeBar(record), makeHead(record.id));
    shownCase = renderCase(panel, caseView(record, data, records));
  } else {
    const head = el("h2", { id: "detail-head", tabindex: -1 }, state.case);
    panel.replaceChildren(makeBar(null), head, note("No record of this report has this id."));
  }
  document.body.classList.add("opened");
  if (!panel.open && narrow.matches) panel.showModal();
  else if (!panel.open) panel.show();
  panel.scrollTop = 0;
  table.reveal(record, before ? "nearest" : "center");
  const again = pressed && panel.querySelector(`.panel-bar [aria-label="${pressed}"]:enabled`);
  const focused = again instanceof HTMLElement ? again : byId("detail-head", HTMLElement);
  focused.focus({ preventScroll: true });
  drawViewers();
}

function closePanel() {
  go({ ...state, case: "", run: "" });
}

function drawViewers() {
  shownCase?.draw();
}

/** @param {string} id */
function makeHead(id) {
  const [path, labels] = partition(id, "[");
  const head = el("h2", { id: "detail-head", tabindex: -1 }, el("span", {}, path));
  if (labels) head.append(el("span", { class: "labels" }, `[${labels}`));
  return head;
}

/**
 * Where the record stands among those shown, its neighbours, its link.
 *
 * @param {CaseRecord | null} record
 */
function makeBar(record) {
  const close = button("Close", closePanel);
  if (!record) return el("div", { class: "panel-bar" }, el("span", { class: "place" }), close);
  const index = table.records.indexOf(record);
  const place = `${formatCount(index + 1)} of ${formatCount(table.records.length)}`;
  return el(
    "div",
    { class: "panel-bar" },
    el("span", { class: "place" }, index < 0 ? "not among the records shown" : place),
    makeNeighbour("←", "Previous record", table.records[index - 1]),
    makeNeighbour("→", "Next record", index < 0 ? undefined : table.records[index + 1]),
    copyButton("Copy link", () => location.href),
    close,
  );
}

/**
 * @param {string} arrow
 * @param {string} name
 * @param {CaseRecord | undefined} record
 */
function makeNeighbour(arrow, name, record) {
  const act = () => record && go(stateAt(record));
  return button(arrow, act, { "aria-label": name, title: name, disabled: !record });
}

// The colours.

/**
 * Follow the reader's choice of colours, or the system's.
 *
 * @param {string} choice
 */
function showTheme(choice) {
  if (choice) document.documentElement.dataset.theme = choice;
  else delete document.documentElement.dataset.theme;
  theme.value = choice;
  drawViewers();
}

/** The choice that was stored; a page from a file may have no storage. */
function storedTheme() {
  try {
    return localStorage.getItem("tconv-theme") ?? "";
  } catch {
    return "";
  }
}

theme.closest("label")?.removeAttribute("hidden");
theme.addEventListener("change", () => {
  try {
    localStorage.setItem("tconv-theme", theme.value);
  } catch {
    // The choice is for this view of the page alone.
  }
  showTheme(theme.value);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawViewers);
showTheme(storedTheme());

// What the reader and the browser do.

query.addEventListener("input", () => refine({ q: query.value }));
form.addEventListener("submit", (event) => event.preventDefault());
clear.addEventListener("click", () => refine(Object.fromEntries(FILTERS.map((name) => [name, ""]))));
panel.addEventListener("cancel", (event) => {
  event.preventDefault();
  closePanel();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && panel.open && !event.defaultPrevented) closePanel();
});
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  recordsSection.scrollIntoView();
  recordsSection.focus();
});
for (const link of document.querySelectorAll('.run a[href^="#"], .matrix a[href^="#"]')) {
  link.addEventListener("click", () => recordsSection.scrollIntoView());
}

let frame = 0;
/** Make the rows in view with the next frame, once however many events ask for it. */
function renderSoon() {
  if (frame !== 0) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    table.render();
  });
}
addEventListener("scroll", renderSoon, { passive: true });
addEventListener("resize", () => {
  table.clear();
  renderSoon();
});
addEventListener("beforeprint", () => {
  table.render(true);
  drawViewers();
});
addEventListener("afterprint", () => {
  renderSoon();
  drawViewers();
});
addEventListener("hashchange", follow);
new ResizeObserver(() => {
  document.documentElement.style.setProperty("--bar", `${form.offsetHeight}px`);
}).observe(form);
byId("backend-label", HTMLLabelElement).hidden = data.runs.length < 2;
recordsSection.hidden = false;
follow();
